"""From a Hugging Face `config.json` to the model's tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from unhang.architectures.clip import from_clip_config, is_clip
from unhang.architectures.sizes import read_size
from unhang.architectures.tables import table
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor
from unhang.errors import UsageError
from unhang.model.provenance import Message, say

_MOST_LAYERS = 10_000
_ALIASES = {"gemma3": "gemma3_text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """A row of `families.toml`."""

    norm: Literal["rms", "layer"] = "rms"
    norms: int = 2
    qkv_bias: bool | str = "attention_bias"
    o_bias: bool | str = "attention_bias"
    mlp_bias: bool | str = "mlp_bias"
    bias_by_default: bool = False
    gated: bool = True
    qk_norm: Literal["none", "head", "full"] = "none"
    tied: bool = False
    embedding_norm: bool = False
    latent: bool = False
    positions: Mapping[str, Any] | None = None
    keys: Mapping[str, str] | None = None
    experts: Mapping[str, Any] | None = None


def from_config(config: Mapping[str, Any], *, name: str | None = None) -> Architecture:
    """List the tensors of the model that a `config.json` describes.

    Args:
        config: the parsed file.
        name: for people; else the file's own `_name_or_path`, else its `model_type`.

    Raises:
        UsageError: the architecture is unknown, or a field is missing or no size; the message
            names the field.
    """
    if is_clip(config):
        return from_clip_config(config, name or str(config.get("_name_or_path") or "clip"))
    notes: tuple[Message, ...] = ()
    inner = config.get("text_config")
    if isinstance(inner, Mapping) and ("hidden_size" in inner or "num_hidden_layers" in inner):
        notes = (
            say(
                "plan.language_only",
                "Only the language model of this multimodal model is counted.",
            ),
        )
        config = {"model_type": str(config.get("model_type")) + "_text", **inner}
    kind = str(config.get("model_type", ""))
    rows = table("families")
    row = rows.get(_ALIASES.get(kind, kind))
    if row is None:
        close = get_close_matches(kind, rows, n=3)
        near = f"; close: {', '.join(close)}" if close else ""
        raise UsageError(
            f"config.json: model_type is {kind!r}{near}, expected one of "
            f"{', '.join(sorted(rows))}; give the weights (.safetensors, .gguf) or a number of "
            "parameters instead"
        )
    label = name or str(config.get("_name_or_path") or "") or kind
    return _Builder(_Family(**row), config).build(label, notes)


class _Builder:
    """Reads the fields of one configuration and writes down its tensors."""

    def __init__(self, family: _Family, config: Mapping[str, Any]) -> None:
        self.family = family
        self.config = config
        self.hidden = self._size("hidden_size")
        self.layers = self._size("num_hidden_layers")
        if self.layers > _MOST_LAYERS:
            raise UsageError(
                f"config.json: num_hidden_layers is {self.layers}; expected at most {_MOST_LAYERS}"
            )
        self.heads = self._size("num_attention_heads")
        self.kv_heads = self._size("num_key_value_heads", self.heads)
        self.head_dim = self._size("head_dim", self._default_head_dim())
        self.width = self._size("intermediate_size", 4 * self.hidden)
        self.vocab = self._size("vocab_size")
        if self.heads % self.kv_heads:
            raise UsageError(
                f"config.json: num_attention_heads ({self.heads}) is not a multiple of "
                f"num_key_value_heads ({self.kv_heads})"
            )

    def build(self, name: str, notes: tuple[Message, ...]) -> Architecture:
        """The whole model."""
        dense, sparse = self._kinds_of_layers()
        units = [GatheredUnit("root", tuple(self._root()))]
        if dense:
            units.append(
                GatheredUnit("layer" if not sparse else "dense layer", self._layer(None), dense)
            )
        if sparse:
            units.append(
                GatheredUnit("layer", self._layer(self._size(self._experts["number"])), sparse)
            )
        return Architecture(
            name=name,
            units=tuple(units),
            hidden=self.hidden,
            heads=self.heads,
            kv_heads=self.kv_heads,
            head_dim=self.head_dim,
            width=self._width_passed() if sparse else self.width,
            gated=self.family.gated,
            vocab=self.vocab,
            notes=notes,
        )

    @property
    def _experts(self) -> Mapping[str, Any]:
        return self.family.experts or {}

    def _kinds_of_layers(self) -> tuple[int, int]:
        """How many layers have one MLP, and how many have experts."""
        if not self._experts or not self.config.get(self._experts["number"]):
            return self.layers, 0
        dense = min(self._count("first_k_dense_replace", 0), self.layers)
        step = self._size("decoder_sparse_step", 1)
        listed = self.config.get("mlp_only_layers") or ()
        alone = listed if isinstance(listed, list) else ()
        sparse = sum(1 for i in range(dense, self.layers) if (i + 1) % step == 0 and i not in alone)
        return self.layers - sparse, sparse

    def _width_passed(self) -> int:
        """Inner width that one token passes in a layer with experts."""
        each = self._size(self._experts["width"])
        taken = self._size("num_experts_per_tok", 2)
        return each * taken + self._shared_width(each)

    def _shared_width(self, each: int) -> int:
        if "shared" in self._experts:
            return self._count(self._experts["shared"], 0)
        if "shared_number" in self._experts:
            return each * self._count(self._experts["shared_number"], 0)
        return 0

    def _root(self) -> Iterator[Tensor]:
        yield Tensor("embed_tokens.weight", (self.vocab, self.hidden), Part.EMBEDDING)
        if self.family.positions is not None:
            rows = self._size(self.family.positions["key"]) + int(self.family.positions["more"])
            yield Tensor("embed_positions.weight", (rows, self.hidden), Part.EMBEDDING)
        if self.family.embedding_norm:
            yield from self._norm("embed_norm")
        yield from self._norm("norm")
        if not self.config.get("tie_word_embeddings", self.family.tied):
            yield Tensor("lm_head.weight", (self.vocab, self.hidden), Part.HEAD)

    def _layer(self, experts: int | None) -> tuple[Tensor, ...]:
        tensors = [*(self._latent() if self.family.latent else self._attention())]
        if experts is None:
            tensors += self._mlp("mlp", self.width, Part.MLP)
        else:
            tensors += self._experts_of(experts)
        for i in range(self.family.norms):
            tensors += self._norm(f"norm_{i}")
        return tuple(tensors)

    def _attention(self) -> Iterator[Tensor]:
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        for name, rows in (("q_proj", q), ("k_proj", kv), ("v_proj", kv)):
            yield from self._linear(name, (rows, self.hidden), self.family.qkv_bias, Part.ATTENTION)
        yield from self._linear("o_proj", (self.hidden, q), self.family.o_bias, Part.ATTENTION)
        if self.family.qk_norm == "head":
            yield Tensor("q_norm.weight", (self.head_dim,), Part.NORM)
            yield Tensor("k_norm.weight", (self.head_dim,), Part.NORM)
        elif self.family.qk_norm == "full":
            yield Tensor("q_norm.weight", (q,), Part.NORM)
            yield Tensor("k_norm.weight", (kv,), Part.NORM)

    def _latent(self) -> Iterator[Tensor]:
        """Multi-head latent attention (DeepSeek-V2, section 2.1 of its report)."""
        nope, rope = self._size("qk_nope_head_dim"), self._size("qk_rope_head_dim")
        value, rank = self._size("v_head_dim"), self._size("kv_lora_rank")
        of_query = self.config.get("q_lora_rank")
        q_rows = self.heads * (nope + rope)
        if of_query is None:
            yield Tensor("q_proj.weight", (q_rows, self.hidden), Part.ATTENTION)
        else:
            q_rank = self._size("q_lora_rank")
            yield Tensor("q_a_proj.weight", (q_rank, self.hidden), Part.ATTENTION)
            yield Tensor("q_a_layernorm.weight", (q_rank,), Part.NORM)
            yield Tensor("q_b_proj.weight", (q_rows, q_rank), Part.ATTENTION)
        yield Tensor("kv_a_proj_with_mqa.weight", (rank + rope, self.hidden), Part.ATTENTION)
        yield Tensor("kv_a_layernorm.weight", (rank,), Part.NORM)
        kv_rows = self.heads * (nope + value)
        yield Tensor("kv_b_proj.weight", (kv_rows, rank), Part.ATTENTION)
        yield Tensor("o_proj.weight", (self.hidden, self.heads * value), Part.ATTENTION)

    def _mlp(self, name: str, width: int, part: Part, count: int = 1) -> Iterator[Tensor]:
        names = ("gate_proj", "up_proj") if self.family.gated else ("up_proj",)
        bias = self.family.mlp_bias
        for each in names:
            yield from self._linear(f"{name}.{each}", (width, self.hidden), bias, part, count)
        yield from self._linear(f"{name}.down_proj", (self.hidden, width), bias, part, count)

    def _experts_of(self, number: int) -> Iterator[Tensor]:
        each = self._size(self._experts["width"])
        yield Tensor("gate.weight", (number, self.hidden), Part.ROUTER)
        yield from self._mlp("experts", each, Part.EXPERT, number)
        shared = self._shared_width(each)
        if shared:
            yield from self._mlp("shared_expert", shared, Part.MLP)
            if self._experts.get("shared_gate"):
                yield Tensor("shared_expert_gate.weight", (1, self.hidden), Part.ROUTER)

    def _linear(
        self, name: str, shape: tuple[int, int], bias: bool | str, part: Part, count: int = 1
    ) -> Iterator[Tensor]:
        yield Tensor(f"{name}.weight", shape, part, count)
        if isinstance(bias, str):
            bias = bool(self.config.get(bias, self.family.bias_by_default))
        if bias:
            yield Tensor(f"{name}.bias", shape[:1], part, count)

    def _norm(self, name: str) -> Iterator[Tensor]:
        yield Tensor(f"{name}.weight", (self.hidden,), Part.NORM)
        if self.family.norm == "layer":
            yield Tensor(f"{name}.bias", (self.hidden,), Part.NORM)

    def _default_head_dim(self) -> int:
        if self.hidden % self.heads and self._get("head_dim") is None:
            raise UsageError(
                f"config.json: hidden_size ({self.hidden}) is not a multiple of "
                f"num_attention_heads ({self.heads}), and no head_dim is given"
            )
        return self.hidden // self.heads or 1

    def _get(self, field: str) -> object:
        own = (self.family.keys or {}).get(field)
        value = self.config.get(own) if own is not None else None
        return self.config.get(field) if value is None else value

    def _size(self, field: str, default: int | None = None) -> int:
        return read_size(self._get(field), field, default)

    def _count(self, field: str, default: int) -> int:
        """A size that may be 0."""
        return self._size(field) if self._get(field) not in (None, 0) else default
