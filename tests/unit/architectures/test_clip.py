"""CLIP: two transformers, told in the words of OpenCLIP or of Hugging Face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unhang import plan
from unhang.architectures import decode, find_model, from_config
from unhang.errors import UsageError
from unhang.model.plan import Plan, Strategy

SCRIPT = """
torchrun --nproc_per_node 4 -m open_clip_train.main --model ViT-B-32 --batch-size 128 \\
  --precision amp_bf16 --workers 8 --grad-checkpointing --local-loss
"""
SIDES: dict[str, Any] = {
    "vision_config": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12},
    "text_config": {"hidden_size": 512, "num_hidden_layers": 12, "num_attention_heads": 8},
}


def _amounts(made: Plan) -> dict[str, int]:
    return {amount.what: amount.size_bytes for amount in made.gpu.amounts}


def test_hugging_face_and_open_clip_describe_one_model() -> None:
    told = from_config({"model_type": "clip", **SIDES})
    named = find_model("ViT-B-32")
    assert named is not None
    assert told.parameters == named.parameters == 151_277_313


def test_the_vectors_of_a_loss_are_told() -> None:
    """65,536 elements of each rank: 128 pairs, and vectors of 512."""
    model = find_model("openai/clip-vit-base-patch32")
    assert model is not None
    (reading,) = decode("ALLGATHER", 65_536, 16 * 65_536, [model])
    assert (reading.formula, reading.group_size) == ("128 x 512", 16)


def test_a_launch_script_of_open_clip_is_enough(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT)
    made = plan(None, sources=[str(tmp_path / "run.sh")])
    assert (made.parameters, made.world, made.strategy) == (151_277_313, 4, Strategy.DDP)
    assert ("ALLGATHER", 4 * 128 * 512) in {(c.op, c.numel) for c in made.collectives}
    assert _amounts(made)["loss"] == 2 * 3 * 4 * 128 * (4 * 128)


def test_a_loss_over_all_pairs_is_what_does_not_fit() -> None:
    made = plan("ViT-L-14", world=512, batch=128, gpu_memory="80GB", recompute="full")
    assert made.gpu.fits is False
    assert made.changes[0].fits
    assert made.changes[0].gpu_bytes < made.gpu.total_bytes - 90 * 10**9


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"text_cfg": None}, "text_cfg is missing"),
        ({"embed_dim": -1}, "embed_dim is '-1'"),
        ({"vision_cfg": {"width": "wide"}}, "vision_cfg.width is 'wide'"),
        ({"vision_cfg": {"layers": [3, 4, 6, 3]}}, "vision_cfg.layers names a network"),
        ({"text_cfg": {"hf_model_name": "x"}}, "text_cfg.hf_model_name names a network"),
        ({"vision_cfg": {"mlp_ratio": "4x"}}, "vision_cfg.mlp_ratio is '4x'"),
        ({"vision_cfg": {"image_size": 16}}, "image_size (16) is below patch_size (32)"),
    ],
)
def test_a_wrong_field_is_named(changed: dict[str, Any], told: str) -> None:
    good: dict[str, Any] = {"embed_dim": 512, "vision_cfg": {}, "text_cfg": {}}
    assert from_config(good).parameters == 151_277_313
    with pytest.raises(UsageError) as error:
        from_config(good | changed)
    assert told in str(error.value)
