"""config.json and callables to models on fakes: dtypes, devices, ties, inputs, steps."""

import json
import pathlib

import pytest
import torch

import massless
from massless import models

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "configs"

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "torch_dtype": "bfloat16",
}
GPT2 = {
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "vocab_size": 96,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
BERT = {
    "architectures": ["BertForMaskedLM"],
    "model_type": "bert",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 96,
    "max_position_embeddings": 64,
}


@pytest.fixture
def written(tmp_path):
    def write(config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        return str(tmp_path)

    return write


def test_dtype_of_the_config_and_buffers_in_float32(written):
    model, _ = models.build(written(LLAMA), device="cuda")
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
    assert {p.device for p in model.parameters()} == {torch.device("cuda", 0)}
    assert all(massless.is_fake(p) for p in model.parameters())
    buffers = dict(model.named_buffers())
    assert buffers["model.rotary_emb.inv_freq"].dtype == torch.float32
    assert buffers["model.rotary_emb.inv_freq"].device.type == "cuda"


def test_asked_dtype_and_device(written):
    model, _ = models.build(written(LLAMA), dtype=torch.float16, device="cpu")
    assert {(p.dtype, p.device.type) for p in model.parameters()} == {(torch.float16, "cpu")}
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(("tied", "count"), [(True, 1), (False, 2)])
def test_ties_are_kept(written, tied, count):
    model, _ = models.build(written(LLAMA | {"tie_word_embeddings": tied}))
    assert (model.lm_head.weight is model.model.embed_tokens.weight) is tied
    wide = [p for p in model.parameters() if tuple(p.shape) == (96, 32)]
    assert len(wide) == count


def test_same_shapes_as_the_real_model(written):
    from transformers import LlamaConfig, LlamaForCausalLM

    real = LlamaForCausalLM._from_config(LlamaConfig(**LLAMA), dtype=torch.bfloat16)
    fake, _ = models.build(written(LLAMA))
    assert [(n, p.shape, p.dtype) for n, p in fake.named_parameters()] == [
        (n, p.shape, p.dtype) for n, p in real.named_parameters()
    ]
    assert [(n, b.shape, b.dtype) for n, b in fake.named_buffers()] == [
        (n, b.shape, b.dtype) for n, b in real.named_buffers()
    ]


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("llama-3-8b", 8.03),
        ("llama-3-70b", 70.55),
        ("llama-3.1-405b", 405.85),
        ("gpt2", 0.124),
        ("bert-large", 0.335),
    ],
)
def test_published_parameter_counts(name, billions):
    model, _ = models.build(str(CONFIGS / f"{name}.json"))
    count = sum(p.numel() for p in model.parameters())
    assert count / 1e9 == pytest.approx(billions, rel=0.005)


def test_building_leaves_the_generator_and_defaults(written):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    models.build(written(LLAMA))
    assert torch.equal(torch.get_rng_state(), before)
    assert not massless.is_fake(torch.ones(1))
    assert torch.ones(1).device.type == "cpu"
    layer = torch.nn.Linear(2, 2)
    assert float(layer.weight.detach().abs().sum()) > 0  # initialisation is itself again


@pytest.mark.parametrize(
    ("config", "inputs"),
    [
        (LLAMA, {"input_ids": "int64 [2, 16]", "labels": "int64 [2, 16]", "use_cache": "False"}),
        (GPT2, {"input_ids": "int64 [2, 16]", "labels": "int64 [2, 16]", "use_cache": "False"}),
        (BERT, {"input_ids": "int64 [2, 16]", "labels": "int64 [2, 16]"}),
    ],
)
def test_inputs_of_a_training_step(written, config, inputs):
    job = models.job(written(config), batch=2, seq=16, device="cpu")
    assert job.inputs == inputs
    assert job.optimizer.state  # the steady state: made before the step
    assert all(p.grad is None for p in job.model.parameters())


@pytest.mark.parametrize(("start", "given"), [(None, True), (0, False)])
def test_inputs_of_a_decoder_that_reads_an_encoder(written, start, given):
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_model": 32}
    config |= {"d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 96}
    job = models.job(written(config | {"decoder_start_token_id": start}), batch=2, seq=16)
    assert ("decoder_input_ids" in job.inputs) is given
    with massless.fake_mode(device="cuda"):
        assert massless.is_fake(job.step(*job.args))


def test_images_have_no_sequence(written):
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"]}
    config |= {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    job = models.job(written(config | {"image_size": 32, "patch_size": 16}), batch=2)
    assert job.inputs == {"pixel_values": "float32 [2, 3, 32, 32]", "labels": "int64 [2]"}
    assert job.seq is None


def test_forward_has_no_labels_and_evaluates(written):
    job = models.job(written(LLAMA), task="forward", seq=8)
    assert job.inputs == {"input_ids": "int64 [1, 8]"}
    assert not job.model.training and job.optimizer is None


@pytest.mark.parametrize("config", [LLAMA, GPT2, BERT])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("task", ["forward", "train"])
def test_step_runs_on_fakes(written, config, device, task):
    job = models.job(written(config), task=task, batch=2, seq=16, device=device)
    with massless.fake_mode(device=device):
        result = job.step(*job.args)
    if task == "train":
        assert massless.is_fake(result) and result.device.type == device
    else:
        assert tuple(result.logits.shape) == (2, 16, 96)


@pytest.mark.parametrize(
    "optimizer",
    ["adamw", "adamw_loop", "adamw_foreach", "adamw_fused"]
    + ["adam", "sgd", "sgd_momentum", "sgd_fused"],
)
def test_optimizers(optimizer):
    job = models.job("user_models:mlp", optimizer=optimizer)
    held = sum(
        t.numel() for state in job.optimizer.state.values() for t in state.values()
        if isinstance(t, torch.Tensor) and t.dim()
    )  # fmt: skip
    times = {"adam": 2, "adamw": 2, "sgd": 0}[optimizer.split("_")[0]]
    times = 1 if optimizer == "sgd_momentum" else times
    assert held == times * job.parameter_count
    with massless.fake_mode(device="cuda"):
        job.step(*job.args)


def test_default_sequence_is_bounded_by_the_positions(written):
    assert models.job(written(LLAMA), task="forward").seq == 64
    assert models.job(str(CONFIGS / "llama-3.1-405b.json"), task="forward").seq == 4096


def test_architecture_without_a_name(written):
    config = {k: v for k, v in LLAMA.items() if k != "architectures"}
    assert type(models.build(written(config))[0]).__name__ == "LlamaForCausalLM"
    config = {k: v for k, v in BERT.items() if k != "architectures"}
    assert type(models.build(written(config))[0]).__name__ == "BertForMaskedLM"


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("mlp", {"0": "float32 [3, 64]"}),
        ("Pictures", {"0": "float32 [3, 3, 8, 8]"}),
        ("Embedded", {"0": "int64 [3, 4096]"}),
    ],
)
def test_inputs_of_a_callable(name, inputs):
    assert models.job(f"user_models:{name}", batch=3).inputs == inputs


def test_dtype_of_a_callable():
    job = models.job("user_models:mlp", dtype="bf16", seq=5)
    assert job.inputs == {"0": "bfloat16 [1, 5, 64]"}
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("cpu", ("cpu", None)),
        ("cuda", ("cuda", None)),
        ("cuda:1", ("cuda:1", None)),
        ("cuda:sm_90", ("cuda", 90)),
    ],
)
def test_devices(text, answer):
    assert models.parse_device(text) == answer
