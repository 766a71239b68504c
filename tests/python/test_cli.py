"""The command line: answers, exit status, every wrong input as one block that names the field."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from click.testing import CliRunner
from plan_stub import StubPlan
from rich.console import Console
from test_models import GPT2, LLAMA

import massless
from massless import models
from massless.cli import _plan, _progress, main

HERE = pathlib.Path(__file__).resolve().parent
CONFIGS = HERE.parents[1] / "examples" / "configs"


def run(*args):
    """The result of the command, its tables 120 columns wide."""
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, [str(a) for a in args])


@pytest.fixture
def folder(tmp_path):
    """A folder whose config.json is written by `folder(config or text or bytes)`."""

    def write(content):
        path = tmp_path / "model"
        path.mkdir(exist_ok=True)
        if isinstance(content, dict):
            content = json.dumps(content)
        raw = content if isinstance(content, bytes) else content.encode()
        (path / "config.json").write_bytes(raw)
        return path

    return write


@pytest.fixture
def stubbed(monkeypatch):
    """`massless.plan` gives the stub; what it was called with."""
    calls = []

    def plan(step, args, **options):
        calls.append((step, args, options))
        return StubPlan()

    monkeypatch.setattr(massless, "plan", plan)
    return calls


def refused(result, *words):
    """Exit status 2, one block on stderr that has all the words, nothing on stdout."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("massless: error: ")
    assert "Traceback" not in result.stderr and "\n\n" not in result.stderr.strip()
    for word in words:
        assert word in result.stderr, result.stderr


# --- wrong configs -------------------------------------------------------------------------------


def without(field):
    return {k: v for k, v in LLAMA.items() if k != field}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (without("model_type"), ["model_type", "missing"]),
        (without("hidden_size"), ["hidden_size", "missing"]),
        (without("num_hidden_layers"), ["num_hidden_layers", "missing"]),
        (without("num_attention_heads"), ["num_attention_heads", "missing"]),
        (without("vocab_size"), ["vocab_size", "missing"]),
        (without("max_position_embeddings"), ["max_position_embeddings", "missing"]),
        (LLAMA | {"model_type": "lama"}, ["model_type", "'lama'", "llama"]),
        (LLAMA | {"model_type": 3}, ["model_type", "integer"]),
        (LLAMA | {"model_type": None}, ["model_type", "null"]),
        (LLAMA | {"num_attention_heads": -4}, ["num_attention_heads", "-4"]),
        (LLAMA | {"num_attention_heads": 0}, ["num_attention_heads", "0"]),
        (LLAMA | {"num_key_value_heads": 0}, ["num_key_value_heads", "0"]),
        (LLAMA | {"num_key_value_heads": 3}, ["num_key_value_heads", "divide"]),
        (LLAMA | {"hidden_size": 30}, ["num_attention_heads", "30", "multiple"]),
        (LLAMA | {"hidden_size": -32}, ["hidden_size", "-32"]),
        (LLAMA | {"hidden_size": "32"}, ["hidden_size", "string", "integer"]),
        (LLAMA | {"hidden_size": 32.5}, ["hidden_size", "32.5", "integer"]),
        (LLAMA | {"hidden_size": None}, ["hidden_size", "null"]),
        (LLAMA | {"hidden_size": [32]}, ["hidden_size"]),
        (LLAMA | {"vocab_size": True}, ["vocab_size", "bool"]),
        (LLAMA | {"vocab_size": 10**11}, ["vocab_size", "limit"]),
        (LLAMA | {"vocab_size": 10**300}, ["vocab_size", "limit"]),
        (LLAMA | {"num_hidden_layers": 10**12}, ["num_hidden_layers", "limit is 10000"]),
        (LLAMA | {"num_hidden_layers": 0}, ["num_hidden_layers", "0"]),
        (LLAMA | {"intermediate_size": -1}, ["intermediate_size", "-1"]),
        (LLAMA | {"max_position_embeddings": 0}, ["max_position_embeddings", "0"]),
        (LLAMA | {"head_dim": 0}, ["head_dim", "0"]),
        (LLAMA | {"rms_norm_eps": float("nan")}, ["rms_norm_eps", "nan"]),
        (LLAMA | {"rope_theta": float("inf")}, ["rope_theta", "inf"]),
        (LLAMA | {"rms_norm_eps": "small"}, ["rms_norm_eps", "string"]),
        (LLAMA | {"attention_dropout": 1.5}, ["attention_dropout", "1.5"]),
        (LLAMA | {"rope_theta": "x"}, ["rope_theta", "string"]),
        (LLAMA | {"rope_theta": -1.0}, ["rope_theta", "-1.0"]),
        (LLAMA | {"rope_scaling": "x"}, ["rope_scaling", "object"]),
        (LLAMA | {"rope_scaling": {"rope_type": "x"}}, ["rope_scaling.rope_type"]),
        (LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": "x"}}, ["rope_scaling.factor"]),
        (LLAMA | {"hidden_act": "silo"}, ["hidden_act", "silu"]),
        (LLAMA | {"use_cache": "yes"}, ["use_cache", "bool"]),
        (LLAMA | {"torch_dtype": "int3"}, ["torch_dtype", "int3"]),
        (LLAMA | {"dtype": 4}, ["dtype", "integer"]),
        (LLAMA | {"architectures": "x"}, ["architectures", "list"]),
        (LLAMA | {"architectures": ["NoSuchModel"]}, ["architectures", "NoSuchModel"]),
        (LLAMA | {"architectures": ["os"]}, ["architectures", "os"]),
        (LLAMA | {"architectures": ["BertForMaskedLM"]}, ["architectures", "llama"]),
        (LLAMA | {"auto_map": {"AutoModel": "code.Model"}}, ["auto_map", "never run"]),
        (LLAMA | {"trust_remote_code": True}, ["trust_remote_code", "never run"]),
        (LLAMA | {"quantization_config": {"bits": 4}}, ["quantization_config"]),
        (GPT2 | {"n_head": 5}, ["n_head", "divide"]),
        (GPT2 | {"n_layer": "two"}, ["n_layer", "string"]),
        (GPT2 | {"n_inner": -1}, ["n_inner", "-1"]),
        ({k: v for k, v in GPT2.items() if k != "n_embd"}, ["n_embd", "missing"]),
    ],
)
def test_wrong_config(folder, config, words):
    refused(run("plan", folder(config)), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["not JSON", "too early"]),
        (json.dumps(LLAMA)[:-20], ["not JSON", "truncated"]),
        (json.dumps(LLAMA)[:-1], ["not JSON", "truncated"]),
        ("{'model_type': 'llama'}", ["not JSON", "line 1"]),
        ("[1, 2]", ["a list", "not an object"]),
        ("null", ["null", "not an object"]),
        (b"\xff\xfe\x00", ["UTF-8"]),
        ("[" * 100_000, ["nested"]),
        ('{"a": ' * 100 + "1" + "}" * 100, ["nested"]),
        ('{"model_type": "llama", "vocab_size": 1' + "0" * 5000 + "}", ["JSON", "digits"]),
        ('{"a": "' + "x" * 10_100_000 + '"}', ["larger than 10 MB"]),
    ],
)
def test_wrong_json(folder, content, words):
    refused(run("plan", folder(content)), "MODEL", *words)


def test_no_file_or_no_config(tmp_path):
    refused(run("plan", tmp_path / "none.json"), "MODEL", "none.json")
    refused(run("plan", tmp_path), "MODEL", "has no config.json")
    refused(run("plan", "x" * 5000), "MODEL")
    refused(run("plan", "a\0b"), "MODEL")
    refused(run("plan", "/dev/null"), "MODEL", "not a file")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("user_models:nothing", ["no callable nothing"]),
        ("user_models:NUMBER", ["no callable NUMBER"]),
        ("user_models:no_module", ["int", "nn.Module"]),
        ("user_models:unknown_inputs", ["example_inputs"]),
        ("user_models:without_parameters", ["no parameter"]),
        ("no.such.module:f", ["no module no"]),
        ("user_models:", ["MODEL"]),
        ("a b:c", ["MODEL"]),
    ],
)
def test_wrong_callable(name, words):
    refused(run("plan", name), "MODEL", *words)


def test_error_of_the_users_code_is_one_block():
    refused(run("plan", "user_models:raises"), "RuntimeError", "line one line two", "--debug")
    result = run("plan", "user_models:raises", "--debug")
    assert result.exit_code == 2 and "Traceback" in result.stderr


# --- wrong options -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--batch", "0"], ["--batch", "0"]),
        (["--batch", "-3"], ["--batch", "-3"]),
        (["--batch", "two"], ["--batch", "two"]),
        (["--batch", str(10**30)], ["--batch"]),
        (["--seq", "0"], ["--seq", "0"]),
        (["--seq", "65"], ["--seq", "65", "64", "max_position_embeddings"]),
        (["--dtype", "int3"], ["--dtype", "int3", "bf16"]),
        (["--dtype", "int8"], ["--dtype", "int8"]),
        (["--optimizer", "adamx"], ["--optimizer", "adamx", "adamw"]),
        (["--device", "tpu"], ["--device", "tpu", "cuda"]),
        (["--device", "cuda:sm_999"], ["--device", "sm_999"]),
        (["--device", "cpu:1"], ["--device"]),
        (["--task", "sing"], ["--task", "sing"]),
        (["--budget", "abc"], ["--budget", "abc"]),
        (["--budget", "-80GiB"], ["--budget"]),
        (["--budget", "0"], ["--budget"]),
        (["--budget", ""], ["--budget"]),
        (["--top", "-1"], ["--top"]),
        (["--json", "/nowhere/x.json"], ["--json", "/nowhere/x.json"]),
        (["--json", "/"], ["--json"]),
        (["--report", "/nowhere/x.html"], ["--report", "/nowhere/x.html"]),
        (["--nonsense"], ["--nonsense"]),
    ],
)
def test_wrong_option(folder, options, words):
    refused(run("plan", folder(LLAMA), *options), *words)


def test_no_model():
    refused(run("plan"), "MODEL")
    refused(run("dance"), "dance")


def test_report_has_a_known_form(folder, tmp_path):
    refused(run("plan", folder(LLAMA), "--report", tmp_path / "x.txt"), "--report", ".html")


def test_nothing_is_written_for_a_wrong_input(folder, tmp_path, stubbed):
    out = tmp_path / "out"
    out.mkdir()
    kept = out / "kept.json"
    kept.write_text("old")
    wrong = folder(LLAMA | {"hidden_size": -1})
    refused(run("plan", wrong, "--json", kept, "--report", out / "x.html"), "hidden_size")
    assert [p.name for p in out.iterdir()] == ["kept.json"] and kept.read_text() == "old"


def test_both_outputs_in_one_file(folder, tmp_path):
    target = tmp_path / "x.html"
    refused(run("plan", folder(LLAMA), "--json", target, "--report", target), "--report")
    assert not target.exists()


# --- answers -------------------------------------------------------------------------------------


@pytest.fixture
def jobs(monkeypatch):
    """The model is a small one of ours, whatever is asked."""
    real = models.job
    monkeypatch.setattr(models, "job", lambda _model, **o: real("user_models:mlp", **o))


def test_table(stubbed, jobs):
    result = run("plan", "any")
    assert result.exit_code == 0, result.output
    for text in (
        "18,696",
        "float32 [1, 64]",
        "8.00 KiB",
        "15.0 KiB",
        "of model.layers.1.mlp",
        "model.py:12 in forward",
        "model.layers.*.mlp.weight",
        "12.0 MFLOP forward",
        "24.0 MFLOP backward",
        "502.0 MiB",
    ):
        assert text in result.stdout, result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 120
    assert result.stderr == ""


def test_budget_decides_the_exit_status(stubbed, jobs):
    result = run("plan", "any", "--budget", "16KiB")
    assert result.exit_code == 0 and "fits: 15.0 KiB in 16.0 KiB" in result.stdout
    assert "caching allocator would hold" in result.stdout.splitlines()[-1]
    result = run("plan", "any", "--budget", "10KiB")
    assert result.exit_code == 1
    assert "does not fit: 15.0 KiB over 10.0 KiB by 5.00 KiB" in result.stdout


def test_json(stubbed, jobs, tmp_path):
    result = run("plan", "any", "--json", "-", "--budget", "10KiB")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    named = {"parameters", "peak", "kinds", "flops", "fits", "seconds"}
    assert named | {"budget", "reserved", "point", "mode"} <= set(printed)
    assert printed["mode"] == "substitution" and printed["peak"]["bytes"] == 15 * 1024
    assert printed["budget"]["fits"] is False and printed["budget"]["by"] == -5 * 1024
    assert printed["point"]["batch"] == 1 and printed["point"]["optimizer"] == "adamw"
    target = tmp_path / "plan.json"
    assert run("plan", "any", "--json", target).exit_code == 0
    assert json.loads(target.read_text())["kinds"] == printed["kinds"]
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


def test_reports(stubbed, jobs, tmp_path):
    for name, start in (("a.html", b"<!DOCTYPE"), ("a.png", b"\x89PNG")):
        assert run("plan", "any", "--report", tmp_path / name).exit_code == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    run("plan", "any", "--report", tmp_path / "a.html", "--budget", "10KiB")
    assert "does not fit" in (tmp_path / "a.html").read_text()


def test_outputs_stay_away_when_the_plan_fails(monkeypatch, jobs, tmp_path):
    def plan(*_args, **_options):
        raise massless.UnsupportedOperatorError("[unsupported_operator] aten::x: no rule")

    monkeypatch.setattr(massless, "plan", plan)
    refused(run("plan", "any", "--json", tmp_path / "x.json"), "aten::x")
    assert list(tmp_path.iterdir()) == []


def test_options_reach_the_step(stubbed, jobs):
    run("plan", "any", "--batch", "3", "--device", "cuda:sm_90", "--dtype", "bf16")
    (_step, args, options), = stubbed  # fmt: skip
    assert options["device"] == "cuda" and callable(options["_progress"])
    assert str(args[-1]["0"].shape[0]) == "batch" and args[-1]["0"].shape[1] == 64


@pytest.mark.parametrize("task", ["forward", "train"])
def test_real_plan_is_a_formula(folder, task):
    config = folder(LLAMA)
    asked = ("--task", task, "--batch", 3, "--seq", 24, "--device", "cpu", "--budget", "1MiB")
    printed = json.loads(run("plan", config, *asked, "--json", "-").stdout)
    assert printed["mode"] == "substitution", printed
    assert printed["symbols"] == {"batch": 3, "seq": 24}

    def peak(batch, seq):
        job = models.job(str(config), task=task, batch=batch, seq=seq, device="cpu")
        return massless.plan(job.step, job.args, device="cpu").peak

    assert printed["peak"]["bytes"] == peak(3, 24)
    assert "batch*seq" in printed["peak"]["formula"]
    assert "seq**2" in printed["formulas"]["forward_flops"]
    batch, seq = printed["fits"]["batch"], printed["fits"]["seq"]
    assert peak(batch, 24) <= 2**20 < peak(batch + 1, 24)
    assert seq == LLAMA["max_position_embeddings"] or peak(3, seq) <= 2**20 < peak(3, seq + 1)


def test_a_batch_of_one_has_formulas_in_seq(folder):
    """transformers takes another way for a batch of 1 in training: the formulas are that way's."""
    asked = ("--task", "train", "--seq", 24, "--device", "cpu", "--json", "-")
    printed = json.loads(run("plan", folder(LLAMA), *asked).stdout)
    assert printed["mode"] == "substitution" and "batch != 1" in printed["why"]
    assert printed["symbols"] == {"seq": 24} and "*seq" in printed["peak"]["formula"]
    job = models.job(str(folder(LLAMA)), task="train", seq=24, device="cpu")
    assert printed["peak"]["bytes"] == massless.plan(job.step, job.args, device="cpu").peak


def test_formulas_are_shown(folder, tmp_path):
    page = tmp_path / "a.html"
    result = run("plan", folder(LLAMA), "--batch", 3, "--seq", 24, "--device", "cpu", "--budget",
                 "1GiB", "--report", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    for text in (result.stdout, page.read_text()):
        assert "batch*seq" in text and "largest batch with seq 24: " in text


def test_a_way_of_its_own_is_run():
    """The formulas are of the other way of the model: the asked point has a run of its own."""
    asked = ("plan", "user_models:SmallBatches", "--task", "forward", "--device", "cpu")
    printed = json.loads(run(*asked, "--batch", "4", "--json", "-").stdout)
    assert printed["mode"] == "concrete" and "batch" in printed["why"]
    assert printed["peak"]["bytes"] == 4 * (16 * 16 + 16 + 16 * 64 + 64) + 4 * (16 + 16) * 4
    printed = json.loads(run(*asked, "--batch", "40", "--json", "-").stdout)
    assert printed["mode"] == "substitution"
    assert printed["peak"]["bytes"] == 4 * (16 * 16 + 16 + 16 * 64 + 64) + 40 * (16 + 64) * 4


def test_real_plan_of_a_callable(tmp_path):
    result = run("plan", "user_models:mlp", "--batch", "64", "--device", "cpu", "--json", "-")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert plan["parameters"]["count"] == 64 * 256 + 256 + 256 * 8 + 8
    assert plan["kinds"]["parameters"] == plan["parameters"]["count"] * 4
    assert plan["kinds"]["gradients"] == plan["kinds"]["parameters"]
    assert plan["kinds"]["optimizer_state"] >= 2 * plan["kinds"]["parameters"]


@pytest.mark.parametrize("config", [LLAMA, GPT2])
@pytest.mark.parametrize("task", ["forward", "train"])
def test_real_plan_of_a_config(folder, config, task):
    result = run("plan", folder(config), "--task", task, "--seq", "16", "--budget", "1GiB")
    assert result.exit_code == 0, result.output
    assert "fits: " in result.stdout


# --- the other commands --------------------------------------------------------------------------


def test_ops():
    result = run("ops", "^aten::add")
    assert result.exit_code == 0
    assert "aten::add.Tensor" in result.stdout and "aten::mul" not in result.stdout
    assert "rule" in result.stdout
    assert run("ops", "no such operator").exit_code == 1
    refused(run("ops", "("), "REGEX")


def test_doctor():
    result = run("doctor")
    assert "torch" in result.stdout and "2.13.0" in result.stdout
    for what in ("dispatch key Fake", "fake cuda", "training step on fake cuda", "C++ compiler"):
        assert what in result.stdout
    assert result.exit_code == 0, result.stdout


def test_version_and_help():
    assert run("--help").exit_code == 0
    for command in ("plan", "ops", "doctor"):
        assert command in run("--help").stdout
        assert run(command, "--help").exit_code == 0


def subprocess_run(*args, **options):
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(HERE)])}
    return subprocess.run(
        [sys.executable, "-m", "massless", *map(str, args)],
        capture_output=True, text=True, env=env, timeout=300, **options,
    )  # fmt: skip


def test_as_a_process(folder):
    result = subprocess_run("plan", folder(LLAMA | {"hidden_size": "x"}))
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("massless: error: hidden_size: ")
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.fixture(params=["-m massless", "massless", "program"])
def beside_another_torch(request, tmp_path):
    """Runs the command, or a program that imports massless, where torch says that it is 2.12.0."""
    (tmp_path / "torch-2.12.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.0\n"
    (tmp_path / "torch-2.12.0.dist-info" / "METADATA").write_text(metadata)
    script = tmp_path / ("massless" if request.param == "massless" else "mine.py")
    script.write_text("from massless.cli import main\nmain()\n")
    start = request.param.split() if request.param.startswith("-m") else [str(script)]

    def call(*args):
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        return subprocess.run(
            [sys.executable, *start, *args], capture_output=True, text=True, env=env, timeout=60
        )

    call.is_command = request.param != "program"
    return call


@pytest.mark.parametrize("args", [(), ("doctor",), ("plan", "massless"), ("--debug",)])
def test_another_torch(beside_another_torch, args):
    result = beside_another_torch(*args)
    text = "massless needs torch 2.13.0, found 2.12.0. What to do: pip install torch==2.13.0"
    assert result.stdout == "" and text in result.stderr
    if beside_another_torch.is_command and "--debug" not in args:
        assert result.returncode == 2
        assert result.stderr == f"massless: error: {text}\n"
    else:
        assert "Traceback" in result.stderr and f"ImportError: {text}" in result.stderr


def test_callable_beside_the_working_directory(tmp_path):
    (tmp_path / "mine_xyz.py").write_text(
        "import torch\ndef f():\n    return torch.nn.Linear(4, 4)\n"
    )
    result = subprocess_run("plan", "mine_xyz:f", "--device", "cpu", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Linear of mine_xyz:f" in result.stdout


# --- progress ------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_short_run_says_nothing_and_a_long_one_now_and_then(tmp_path):
    clock = Clock()
    with (tmp_path / "said").open("w+") as out:
        with _progress.Meanwhile(Console(file=out), clock) as say:
            say.phase("planning")
            for seconds in range(30):
                clock.now = float(seconds)
                say.count(seconds * 64)
        out.seek(0)
        lines = out.read().splitlines()
    assert lines == [f"massless: planning, {n * 64:,} tensors ..." for n in (2, 12, 22)]


def test_a_terminal_has_a_bar(tmp_path):
    with (tmp_path / "said").open("w+") as out:
        console = Console(file=out, force_terminal=True, width=100)
        with _progress.Meanwhile(console) as say:
            say.phase("planning")
            say.count(12_345)
            say._bar.refresh()
        out.seek(0)
        assert "12,345 tensors" in out.read()


def test_no_answer_says_both_numbers():
    answer = _plan._answer(StubPlan(), 10 * 1024)
    assert answer["reserved_fits"] is False and not answer["fits"]
