"""What the benchmarks share: a figure and whether it is met, least times, the models."""

import massless  # noqa: F401, I001 - before torch, as a user would who wants fake accelerators

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "examples" / "configs"


class Figure(NamedTuple):
    """What was measured, against what, and whether the limit is met."""

    what: str
    measured: str
    rival: str
    limit: str
    met: bool


def best_us(call: Callable[[], object], repeats: int, rounds: int = 7) -> float:
    """Least mean over some rounds, in microseconds of this process: the machine is shared."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            call()
        best = min(best, (time.process_time() - start) / repeats)
    return best * 1e6


def least_seconds(call: Callable[[], object], rounds: int = 7) -> float:
    """Of the second and later calls."""
    call()
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def small_llama() -> torch.nn.Module:
    """32 layers at hidden 32: eager, about what Python itself costs."""
    config = LlamaConfig(
        vocab_size=128,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=32,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM._from_config(config, attn_implementation="sdpa").eval()


def llama_8b() -> torch.nn.Module:
    config = AutoConfig.from_pretrained(CONFIGS / "llama-3-8b.json")
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
