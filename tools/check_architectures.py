"""Compare the parameters that unhang counts with those of transformers' own classes.

Needs transformers and torch (any build; models are made on the meta device, so nothing is loaded):

    python tools/check_architectures.py
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from unhang.architectures import from_config
from unhang.architectures.tables import table

SMALL: Mapping[str, Any] = {
    "hidden_size": 96,
    "intermediate_size": 200,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "vocab_size": 517,
}
HEADS: Mapping[str, Any] = {**SMALL, "head_dim": 16}
EXPERTS: Mapping[str, Any] = {"num_experts": 4, "moe_intermediate_size": 40}
LATENT: Mapping[str, Any] = {
    **SMALL,
    "num_key_value_heads": 6,
    "n_routed_experts": 8,
    "moe_intermediate_size": 40,
    "n_shared_experts": 2,
    "first_k_dense_replace": 1,
    "q_lora_rank": 24,
    "kv_lora_rank": 20,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 16,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
}
OWN: Mapping[str, Mapping[str, Any]] = {
    "gpt2": {"n_embd": 96, "n_layer": 3, "n_head": 6, "n_positions": 64, "vocab_size": 517},
    "bloom": {"hidden_size": 96, "n_layer": 3, "n_head": 6, "vocab_size": 517},
    "gpt_neox": {name: v for name, v in SMALL.items() if name != "num_key_value_heads"},
    "opt": {
        "hidden_size": 96,
        "word_embed_proj_dim": 96,
        "ffn_dim": 200,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "vocab_size": 517,
        "max_position_embeddings": 64,
    },
    "phi3": {**HEADS, "pad_token_id": 0},
    "mixtral": {**HEADS, "num_local_experts": 4},
    "olmoe": {**HEADS, "num_experts": 4},
    "qwen3_moe": {**HEADS, **EXPERTS},
    "qwen2_moe": {
        **HEADS,
        **EXPERTS,
        "shared_expert_intermediate_size": 80,
        "decoder_sparse_step": 2,
    },
    "deepseek_v2": LATENT,
    "deepseek_v3": LATENT,
    "glm4": {**HEADS, "pad_token_id": 0},
}
"""Small configurations of families whose fields have names or partners of their own."""


def main() -> int:
    """Print every family and every known model with both counts; 1 where any differs."""
    configs = {kind: {"model_type": kind, **OWN.get(kind, HEADS)} for kind in table("families")} | {
        name: row["config"] for name, row in table("models").items()
    }
    configs = {name: c if "model_type" in c else _in_words_of_hf(c) for name, c in configs.items()}
    differs = 0
    for name, config in configs.items():
        ours, theirs = from_config(config).parameters, _real(config)
        differs += ours != theirs
        print(f"{name:16} {ours:>16,} {theirs:>16,} {'' if ours == theirs else 'DIFFERS'}")
    return int(differs > 0)


def _in_words_of_hf(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """A CLIP model of open_clip as transformers describes it."""
    image, text = config["vision_cfg"], config["text_cfg"]
    width, image_heads = image["width"], image["width"] // image.get("head_width", 64)
    return {
        "model_type": "clip",
        "projection_dim": config["embed_dim"],
        "vision_config": {
            "hidden_size": width,
            "num_hidden_layers": image["layers"],
            "num_attention_heads": image_heads,
            "patch_size": image["patch_size"],
            "intermediate_size": int(width * image.get("mlp_ratio", 4.0)),
        },
        "text_config": {
            "hidden_size": text["width"],
            "num_hidden_layers": text["layers"],
            "num_attention_heads": text["heads"],
            "intermediate_size": 4 * text["width"],
        },
    }


def _real(config: Mapping[str, Any]) -> int:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    fields = dict(config)
    kind = fields.pop("model_type")
    made = AutoConfig.for_model(kind, **fields)
    with torch.device("meta"):
        model = (AutoModel if kind == "clip" else AutoModelForCausalLM).from_config(made)
    return sum(parameter.numel() for parameter in model.parameters())


if __name__ == "__main__":
    sys.exit(main())
