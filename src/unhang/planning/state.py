"""How many elements of a model one rank holds, and in which types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from unhang.architectures import GatheredUnit, Part, Tensor
from unhang.model.plan import Method, Precision, Strategy
from unhang.planning.request import OPTIMIZERS, PlanRequest

_16_BITS = 2
_32_BITS = 4
_NF4_BITS = 4.127
"""Bits of a weight in NF4 with double quantisation, blocks of 64 (QLoRA, section 3)."""
_MASTERED = frozenset({Precision.BF16_MASTER, Precision.FP16_MASTER})
_MIXED = frozenset({Precision.BF16_MIXED, Precision.FP16_MIXED})
_FLAT = frozenset({Strategy.ZERO1, Strategy.ZERO2, Strategy.ZERO3})
_WIDE = frozenset({Precision.FP32}) | _MIXED


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Bytes of an element.

    Attributes:
        weights: as they are kept.
        frozen: weights that are not trained.
        compute: as they are gathered and used.
        gradients: as they are kept.
        optimizer: all states of one trained parameter together.
        master: the optimizer's own copy, or 0.
    """

    weights: int
    frozen: float
    compute: int
    gradients: int
    optimizer: float
    master: int


def widths(request: PlanRequest) -> Widths:
    """The types of a job; adapters of LoRA are trained in fp32 beside 16-bit weights (PEFT)."""
    wide = request.precision in _WIDE
    kept = _32_BITS if wide else _16_BITS
    mastered = request.precision in _MASTERED
    states = OPTIMIZERS[request.optimizer]
    if request.method is not Method.FULL:
        compute = _32_BITS if request.precision is Precision.FP32 else _16_BITS
        frozen = _NF4_BITS / 8 if request.method is Method.QLORA else float(compute)
        return Widths(
            weights=_32_BITS, frozen=frozen, compute=compute, gradients=_32_BITS,
            optimizer=states * _32_BITS, master=0,
        )  # fmt: skip
    return Widths(
        weights=kept,
        frozen=float(kept),
        compute=_32_BITS if request.precision is Precision.FP32 else _16_BITS,
        gradients=_32_BITS if request.fp32_gradients else kept,
        optimizer=states * (_32_BITS if mastered else kept),
        master=_32_BITS if mastered else 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Elements of one rank: those it trains, those it does not, and what stays unquantised."""

    trained: int
    frozen: int
    frozen_plain: int
    """Of the frozen: embeddings, norms and the head, which QLoRA leaves in 16 bits."""


def whole(request: PlanRequest) -> Held:
    """Elements of the whole model."""
    model = request.model
    if request.method is Method.FULL:
        return Held(trained=model.parameters, frozen=0, frozen_plain=0)
    quantised = sum(n * t.numel for n, t in model.tensors() if t.is_linear)
    return Held(
        trained=adapters(request),
        frozen=model.parameters,
        frozen_plain=model.parameters - quantised,
    )


def adapters(request: PlanRequest) -> int:
    """Elements of LoRA's A and B beside every adapted matrix."""
    found = 0
    for count, tensor in request.model.tensors():
        stem = tensor.name.removesuffix(".weight").rsplit(".", 1)[-1]
        if tensor.is_linear and stem in request.lora_targets:
            found += count * tensor.count * request.lora_rank * sum(tensor.shape)
    return found


def of_rank(request: PlanRequest, *, sharded: bool) -> Held:
    """Elements of the fullest rank.

    Args:
        request: the job.
        sharded: whether this kind of state is spread over the data-parallel ranks.
    """
    elements = plain = 0
    for count, tensor in _of_stage(request):
        share = _share(request, tensor, sharded=sharded) * count
        elements += share
        plain += 0 if tensor.is_linear else share
    if request.method is Method.FULL:
        return Held(trained=elements, frozen=0, frozen_plain=0)
    spread = request.shards if sharded else 1
    spread *= request.tensor_parallel * request.pipeline_parallel
    return Held(trained=ceil(adapters(request) / spread), frozen=elements, frozen_plain=plain)


def of_unit(request: PlanRequest, unit: GatheredUnit, *parts: Part) -> int:
    """Elements of a gathered unit, or of some parts of it, that one rank holds or gathers.

    They are fewer than the unit's where tensors or experts are spread over ranks.
    """
    return sum(
        _share(request, tensor, sharded=False)
        for tensor in unit.tensors
        if not parts or tensor.part in parts
    )


def _of_stage(request: PlanRequest) -> Iterator[tuple[int, Tensor]]:
    """Tensors of the fullest pipeline stage: its share of layers, and the root."""
    for index, unit in enumerate(request.model.units):
        count = unit.count if index == 0 else ceil(unit.count / request.pipeline_parallel)
        for tensor in unit.tensors:
            yield count, tensor


def _share(request: PlanRequest, tensor: Tensor, *, sharded: bool) -> int:
    """Elements of one tensor on one rank; a rank's part is a whole number of rows (FSDP2).

    DeepSpeed cuts flat, and FSDP1 as well: it differs by the padding only.
    """
    copies = tensor.count
    if tensor.part is Part.EXPERT:
        copies = ceil(copies / request.expert_parallel)
    numel = tensor.numel // tensor.count
    if len(tensor.shape) > 1 and request.tensor_parallel > 1:
        numel = ceil(numel / request.tensor_parallel)
    if not sharded or request.shards == 1:
        return numel * copies
    spread = request.shards
    if tensor.part is Part.EXPERT:
        spread = max(1, spread // request.expert_parallel)
    if request.strategy in _FLAT or not tensor.shape or request.tensor_parallel > 1:
        return ceil(numel / spread) * copies
    rows = ceil(tensor.shape[0] / spread)
    return rows * (numel // tensor.shape[0]) * copies
