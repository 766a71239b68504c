# The project's commands. Each installs what it needs (tools/setup.sh); `make demo` and `make test`
# are the two of the README.
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
RUN := HF_HUB_OFFLINE=1 $(BIN)
CONFIGS := examples/configs

.PHONY: demo test bench lint format asan tsan fuzz build setup clean

setup:
	@PYTHON=$(PYTHON) tools/setup.sh

# One build directory for the package, the C++ tests and clang-tidy.
build: setup
	@tools/package.sh

demo: build
	$(RUN)/massless plan $(CONFIGS)/llama-3-8b.json --task forward --batch 1 --seq 4096 --budget 80GiB
	$(RUN)/massless plan $(CONFIGS)/llama-3-8b.json --task train --batch 1 --seq 4096 --dtype bf16 \
	  --optimizer adamw --budget 80GiB || test $$? -eq 1

test: build
	cd build/package && $(BIN)/ctest --output-on-failure -j2
	$(RUN)/python -m pytest

bench: build
	$(RUN)/python bench/run.py

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check python tests tools bench
	$(BIN)/python tools/check_tree.py
	git ls-files '*.cc' '*.h' | xargs clang-format-14 --dry-run --Werror
	tools/tidy.sh

format:
	$(BIN)/ruff format python tests tools bench
	git ls-files '*.cc' '*.h' | xargs clang-format-14 -i

asan: setup
	tools/sanitize.sh address,undefined

tsan: setup
	tools/sanitize.sh thread

fuzz:
	tools/fuzz.sh

clean:
	rm -rf build $(VENV)
