"""From the configuration of a CLIP model, OpenCLIP's or Hugging Face's, to its tensors.

An image and a text each pass a transformer of their own; both end in vectors of one width. Read
from open_clip 3.3 (`src/open_clip/transformer.py`, `model.py`) and transformers 5.23
(`models/clip/modeling_clip.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unhang.architectures.sizes import read_size
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor
from unhang.errors import UsageError

_ELSEWHERE = ("timm_model_name", "hf_model_name")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """How one of the two programs names the sizes."""

    side: str
    heads: str
    layers: str
    width: str


_OPEN_CLIP = _Words(side="{}_cfg", heads="heads", layers="layers", width="width")
_HF = _Words(
    side="{}_config", heads="num_attention_heads", layers="num_hidden_layers", width="hidden_size"
)


def is_clip(config: Mapping[str, Any]) -> bool:
    """Whether a configuration describes an image and a text side."""
    return config.get("model_type") == "clip" or "vision_cfg" in config


def from_clip_config(config: Mapping[str, Any], name: str) -> Architecture:
    """List the tensors of a CLIP model with a vision transformer.

    Raises:
        UsageError: a side is no plain transformer, or a size is missing or none.
    """
    words = _HF if config.get("model_type") == "clip" else _OPEN_CLIP
    embed = read_size(
        config.get("embed_dim", config.get("projection_dim")),
        "embed_dim" if words is _OPEN_CLIP else "projection_dim",
        None if words is _OPEN_CLIP else 512,
    )
    image, text = (_Side(config, kind, words) for kind in ("vision", "text"))
    towers = (image.tower(_of_image(image, embed)), text.tower(_of_text(text, embed)))
    scale = Tensor("logit_scale", (), Part.OTHER)
    root = (*(t for tower in towers for t in tower.units[0].tensors), scale)
    layers = tuple(tower.units[1] for tower in towers)
    return Architecture(
        name=name, units=(GatheredUnit("root", root), *layers), hidden=embed, towers=towers
    )


class _Side:
    """One of the two transformers."""

    def __init__(self, config: Mapping[str, Any], kind: str, words: _Words) -> None:
        self.kind, self._words = kind, words
        self._key = words.side.format(kind)
        given = config.get(self._key)
        if not isinstance(given, Mapping):
            raise UsageError(
                f"config.json: {self._key} is missing; expected the sizes of that side"
            )
        self._config = given
        other = next((key for key in _ELSEWHERE if key in given), None)
        if other is not None or isinstance(given.get("layers"), list):
            raise UsageError(
                f"config.json: {self._key}.{other or 'layers'} names a network that is not a plain"
                " transformer; give the weights (.safetensors) or a number of parameters instead"
            )
        usual = (12, 768) if kind == "vision" else (12, 512)
        self.layers = self.size(words.layers, usual[0])
        self.width = self.size(words.width, usual[1])
        self.heads = self._heads()
        self.inner = self._inner()

    def size(self, field: str, default: int | None = None) -> int:
        """A field of this side."""
        return read_size(self._config.get(field), f"{self._key}.{field}", default)

    def _heads(self) -> int:
        if self._words is _OPEN_CLIP and self.kind == "vision":
            return max(1, self.width // self.size("head_width", 64))
        return self.size(self._words.heads, 12 if self.kind == "vision" else 8)

    def _inner(self) -> int:
        if self._words is _HF:
            return self.size("intermediate_size", 4 * self.width)
        ratio = self._config.get("mlp_ratio", 4.0)
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 1e3:
            raise UsageError(
                f"config.json: {self._key}.mlp_ratio is {str(ratio)[:40]!r}; expected a number such"
                " as 4.0"
            )
        return int(self.width * ratio)

    def tower(self, around: tuple[tuple[Tensor, ...], int]) -> Architecture:
        """The layers, with the tensors around them and the tokens that a sample has here."""
        root, tokens = around
        return Architecture(
            name=self.kind,
            units=(
                GatheredUnit("root", root),
                GatheredUnit("layer", tuple(self._layer()), self.layers),
            ),
            hidden=self.width, heads=self.heads, kv_heads=self.heads,
            head_dim=self.width // self.heads or 1, width=self.inner, gated=False, tokens=tokens,
        )  # fmt: skip

    def _layer(self) -> Iterator[Tensor]:
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield from _linear(name, (self.width, self.width), Part.ATTENTION)
        yield from _linear("up_proj", (self.inner, self.width), Part.MLP)
        yield from _linear("down_proj", (self.width, self.inner), Part.MLP)
        norms = 2 * 2
        yield Tensor("norms", (self.width,), Part.NORM, norms)
        if self._config.get("ls_init_value") is not None:
            yield Tensor("layer_scales", (self.width,), Part.OTHER, 2)


def _of_image(side: _Side, embed: int) -> tuple[tuple[Tensor, ...], int]:
    patch, image = side.size("patch_size", 32), side.size("image_size", 224)
    if image < patch:
        raise UsageError(f"config.json: image_size ({image}) is below patch_size ({patch})")
    tokens = (image // patch) ** 2 + 1
    return (
        Tensor("class_embedding", (side.width,), Part.EMBEDDING),
        Tensor("patch_embedding.weight", (side.width, 3, patch, patch), Part.EMBEDDING),
        Tensor("position_embedding.weight", (tokens, side.width), Part.EMBEDDING),
        Tensor("norms", (side.width,), Part.NORM, 2 * 2),
        Tensor("visual_projection.weight", (embed, side.width), Part.HEAD),
    ), tokens


def _of_text(side: _Side, embed: int) -> tuple[tuple[Tensor, ...], int]:
    words = side.size("vocab_size", 49408)
    tokens = side.size("context_length", side.size("max_position_embeddings", 77))
    return (
        Tensor("token_embedding.weight", (words, side.width), Part.EMBEDDING),
        Tensor("position_embedding.weight", (tokens, side.width), Part.EMBEDDING),
        Tensor("norms", (side.width,), Part.NORM, 2),
        Tensor("text_projection.weight", (embed, side.width), Part.HEAD),
    ), tokens


def _linear(name: str, shape: tuple[int, int], part: Part) -> Iterator[Tensor]:
    yield Tensor(f"{name}.weight", shape, part)
    yield Tensor(f"{name}.bias", shape[:1], part)
