"""Parameter counts are exact, files are read by their headers, bad fields are named."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from unhang.architectures import Part, find_model, from_config, known_models, read_model
from unhang.architectures.known import need_model
from unhang.architectures.tables import table
from unhang.errors import UsageError

SMALL: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 96,
    "intermediate_size": 200,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": 517,
}


@pytest.mark.parametrize("name", known_models())
def test_a_known_model_has_as_many_parameters_as_its_weights(name: str) -> None:
    model = find_model(name)
    assert model is not None
    assert model.parameters == table("models")[name]["parameters"]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("meta-llama/Meta-Llama-3-8B-Instruct", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
        ("Qwen/Qwen2.5-1.5B", 1_543_714_304),
        ("qwen2.5-7b-instruct", 7_615_616_512),
        ("mistralai/Mixtral-8x7B-v0.1", 46_702_792_704),
    ],
)
def test_names_as_people_write_them(name: str, parameters: int) -> None:
    model = find_model(name)
    assert model is not None
    assert model.parameters == parameters


def test_an_unknown_name_says_what_is_close() -> None:
    with pytest.raises(UsageError, match="llama-3-8b"):
        need_model("llama-3-8bb")


@pytest.mark.parametrize("kind", sorted(table("families")))
def test_every_family_gives_a_model(kind: str) -> None:
    more = {
        "num_local_experts": 4,
        "num_experts": 4,
        "n_routed_experts": 4,
        "moe_intermediate_size": 40,
        "n_shared_experts": 1,
        "shared_expert_intermediate_size": 80,
        "kv_lora_rank": 20,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 8,
        "v_head_dim": 16,
        "n_embd": 96,
        "n_layer": 3,
        "n_head": 6,
        "n_positions": 64,
        "ffn_dim": 200,
        "max_position_embeddings": 64,
    }
    model = from_config({**SMALL, **more, "model_type": kind})
    assert model.layers == 3
    assert model.numel(Part.EMBEDDING) >= 517 * 96
    assert model.parameters == sum(n * t.numel for n, t in model.tensors())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hidden_size": -5}, "hidden_size is '-5'"),
        ({"hidden_size": "4k"}, "hidden_size is '4k'"),
        ({"num_hidden_layers": 10**30}, "num_hidden_layers is"),
        ({"num_attention_heads": True}, "num_attention_heads is 'True'"),
        ({"vocab_size": None}, "vocab_size is missing"),
        ({"num_key_value_heads": 4}, "not a multiple of num_key_value_heads"),
        ({"model_type": "lama"}, "close: llama"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000"),
    ],
)
def test_a_field_that_cannot_be_is_named(change: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=r"config\.json") as error:
        from_config({**SMALL, **change})
    assert told in str(error.value)


LATENT = {"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
    "num_hidden_layers": 27, "num_attention_heads": 16, "n_routed_experts": 64,
    "n_shared_experts": 2, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 102400}  # fmt: skip
SPARSE = {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "num_experts": 128, "moe_intermediate_size": 768, "vocab_size": 151936}  # fmt: skip
FOUR_NORMS = {"model_type": "glm4", "hidden_size": 4096, "intermediate_size": 13696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "vocab_size": 151552}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "parameters"),
    [(LATENT, 15_706_484_224), (SPARSE, 30_532_122_624), (FOUR_NORMS, 9_400_279_040)],
    ids=["DeepSeek-V2-Lite", "Qwen3-30B-A3B", "GLM-4-9B"],
)
def test_a_public_configuration(config: dict[str, Any], parameters: int) -> None:
    """As transformers' own classes count them."""
    assert from_config(config).parameters == parameters


def test_layers_that_are_no_numbers_are_no_layers() -> None:
    assert from_config({**SPARSE, "mlp_only_layers": [[1]]}).parameters == 30_532_122_624


def _safetensors(path: Path, tensors: Mapping[str, tuple[int, ...]]) -> None:
    header = {name: {"dtype": "BF16", "shape": list(s)} for name, s in tensors.items()}
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)


TENSORS = {
    "model.embed_tokens.weight": (517, 96),
    "model.layers.0.self_attn.q_proj.weight": (96, 96),
    "model.layers.1.self_attn.q_proj.weight": (96, 96),
    "lm_head.weight": (517, 96),
}


def test_weights_are_read_by_their_header(tmp_path: Path) -> None:
    _safetensors(tmp_path / "model.safetensors", TENSORS)
    model = read_model(tmp_path)
    assert model.parameters == 2 * 517 * 96 + 2 * 96 * 96
    assert [(u.name, u.count) for u in model.units] == [("root", 1), ("layer", 2)]


def test_shards_are_read_by_their_index(tmp_path: Path) -> None:
    names = list(TENSORS)
    _safetensors(tmp_path / "a.safetensors", {n: TENSORS[n] for n in names[:2]})
    _safetensors(tmp_path / "b.safetensors", {n: TENSORS[n] for n in names[2:]})
    index = {
        "weight_map": {n: ("a" if i < 2 else "b") + ".safetensors" for i, n in enumerate(names)}
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert read_model(tmp_path).parameters == 2 * 517 * 96 + 2 * 96 * 96


def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "../../etc/passwd"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UsageError, match="no such file beside it"):
        read_model(tmp_path)


def _gguf(path: Path, tensors: Mapping[str, tuple[int, ...]]) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    keys = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    keys += text("llama.block_count") + struct.pack("<II", 4, 2)
    keys += text("tokenizer.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    body = b"".join(
        text(name) + struct.pack(f"<I{len(s)}QIQ", len(s), *reversed(s), 0, 0)
        for name, s in tensors.items()
    )
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), 3) + keys + body)


def test_gguf(tmp_path: Path) -> None:
    _gguf(tmp_path / "m.gguf", {"token_embd.weight": (517, 96), "blk.0.attn_q.weight": (96, 96)})
    model = read_model(tmp_path / "m.gguf")
    assert model.parameters == 517 * 96 + 96 * 96
    assert model.units[1].tensors[0].shape == (96, 96)


@pytest.mark.parametrize("name", ["m.gguf", "m.safetensors", "config.json"])
@pytest.mark.parametrize("data", [b"", b"GGUF", b"\xff" * 64, b"[1]", b"{", b"\0" * 4096])
def test_what_is_no_model_is_refused_in_one_sentence(
    tmp_path: Path, name: str, data: bytes
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as error:
        read_model(tmp_path / name)
    assert "\n" not in str(error.value)


def test_any_cut_of_a_gguf_file_is_refused_or_read(tmp_path: Path) -> None:
    whole = tmp_path / "whole.gguf"
    _gguf(whole, {"token_embd.weight": (517, 96)})
    data = whole.read_bytes()
    for end in range(len(data)):
        (tmp_path / "cut.gguf").write_bytes(data[:end])
        with pytest.raises(UsageError):
            read_model(tmp_path / "cut.gguf")
