"""The parameters of a model as its definition lists them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from unhang.model.provenance import Message


class Part(enum.Enum):
    """What a parameter belongs to; it decides how LoRA, quantisation and parallelism treat it."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    MLP = "mlp"
    EXPERT = "expert"
    ROUTER = "router"
    NORM = "norm"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Parameters of one name and shape.

    Attributes:
        name: as in the model's definition, without the layer's number.
        shape: rows first, as PyTorch stores it.
        part: what it belongs to.
        count: how many of them one unit holds (experts).
    """

    name: str
    shape: tuple[int, ...]
    part: Part
    count: int = 1

    @property
    def numel(self) -> int:
        """Elements of all of them."""
        return prod(self.shape) * self.count

    @property
    def is_linear(self) -> bool:
        """A weight matrix of a layer: what LoRA adapts and QLoRA quantises."""
        return len(self.shape) == 2 and self.part in (Part.ATTENTION, Part.MLP, Part.EXPERT)


@dataclass(frozen=True, slots=True)
class GatheredUnit:
    """What FSDP gathers in one piece: a decoder layer, or what stands outside of all layers.

    Attributes:
        name: `layer`, `dense layer`, `root`.
        tensors: of one such unit.
        count: how many equal ones the model has.
    """

    name: str
    tensors: tuple[Tensor, ...]
    count: int = 1

    @property
    def numel(self) -> int:
        """Elements of one unit."""
        return sum(tensor.numel for tensor in self.tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A model's parameters and the sizes that activations depend on.

    Attributes:
        name: for people.
        units: the root first.
        hidden, heads, kv_heads, head_dim, vocab: None where the source does not tell
            (weights without a configuration).
        width: of the MLP's inner layer that a token passes, over all experts that it is sent to.
        gated: whether the MLP has a gate beside its up projection.
        tokens: of each sample, where the model decides it.
        towers: where a sample passes several transformers, each of them; `hidden` is then the width
            of the vectors that they end in.
        notes: what was left out or assumed.
    """

    name: str
    units: tuple[GatheredUnit, ...]
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    width: int | None = None
    gated: bool = True
    vocab: int | None = None
    tokens: int | None = None
    towers: tuple[Architecture, ...] = ()
    notes: tuple[Message, ...] = ()

    @property
    def parameters(self) -> int:
        """All elements; a tied head counts once."""
        return sum(unit.numel * unit.count for unit in self.units)

    @property
    def layers(self) -> int:
        """How many units stand outside the root."""
        return sum(unit.count for unit in self.units[1:])

    def numel(self, *parts: Part) -> int:
        """Elements of some parts."""
        return sum(n * t.numel for n, t in self.tensors() if t.part in parts)

    def tensors(self) -> Iterator[tuple[int, Tensor]]:
        """Every kind of tensor with how many units hold it."""
        for unit in self.units:
            for tensor in unit.tensors:
                yield unit.count, tensor
