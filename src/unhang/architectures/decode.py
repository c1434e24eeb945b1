"""From the sizes of a collective to the tensors that it carries.

A sharded model is gathered unit by unit: the number of elements in the time-out line is then the
sum of a unit's parameters, padded so that each rank holds an equal part. An equality of ten digits
is no accident; a small or round number is, and is not read.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unhang.architectures.known import find_model, known_models
from unhang.architectures.tensors import Architecture, GatheredUnit, Tensor

_GATHERS = frozenset({"ALLGATHER", "_ALLGATHER_BASE", "ALLGATHER_BASE", "ALLGATHER_COALESCED"})
_SCATTERS = frozenset({"REDUCE_SCATTER", "_REDUCE_SCATTER_BASE", "REDUCE_SCATTER_BASE"})
_TELLING = 100_000
"""Below so many elements an equality may be an accident."""
_ROUND = 1 << 12
"""A size that is a multiple of this has many factorings: only a sum of parts is believed."""
_LONGEST_SUM = 4


class Layout(enum.Enum):
    """How the elements of a unit were laid out for one call."""

    FLAT = "flat"
    """FSDP1: one flat parameter, padded at its end."""
    ROWS = "rows"
    """FSDP2: every parameter padded to whole rows for each rank."""
    ONE = "one"
    """ZeRO-3, tensor parallelism or DDP: a single parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a collective carries.

    Attributes:
        model: the model whose sizes fit.
        unit: `root`, `layer`, or the name of one parameter.
        layout: how it is laid out.
        numel: elements before padding.
        formula: the sum that gives them, where it is short enough to read.
        group_size: ranks that the call runs over, where its sizes tell.
    """

    model: str
    unit: str
    layout: Layout
    numel: int
    formula: str | None
    group_size: int | None


def group_size(op: str | None, numel_in: int | None, numel_out: int | None) -> int | None:
    """Ranks in the group of a gather or a reduce-scatter, from its two sizes.

    >>> group_size("_ALLGATHER_BASE", 262669312, 1050677248)
    4
    """
    if op is None or numel_in is None or numel_out is None:
        return None
    if op.upper() in _GATHERS:
        whole, part = numel_out, numel_in
    elif op.upper() in _SCATTERS:
        whole, part = numel_in, numel_out
    else:
        return None
    return whole // part if 0 < part < whole and whole % part == 0 else None


def decode(
    op: str | None,
    numel_in: int | None,
    numel_out: int | None,
    models: Iterable[Architecture] = (),
) -> tuple[Reading, ...]:
    """Say which tensors a collective carries.

    Args:
        op: its name as c10d prints it.
        numel_in: elements of one rank's input as c10d prints them, or None.
        numel_out: elements of its output, or None.
        models: the models that it may be of; none = all that are known by name.

    Returns:
        Every reading that fits exactly. Sizes shared by several models are read only where they
        are the same part of each. Empty where nothing fits, or where a fit could be an accident.

    >>> [(r.model, r.unit, r.formula) for r in decode("_ALLGATHER_BASE", 262669312, 1050677248)]
    [('Meta-Llama-3-8B', 'root', '2 x 128256 x 4096 + 4096')]
    """
    sizes = [n for n in (numel_in, numel_out) if n is not None and 0 < n < 1 << 62]
    whole = max(sizes, default=0)
    if whole < _TELLING:
        return ()
    ranks = group_size(op, numel_in, numel_out)
    asked = list(models)
    known = asked or [m for n in known_models() if (m := find_model(n)) is not None]
    found = [reading for model in known for reading in _of_model(model, whole, ranks)]
    units = [reading for reading in found if reading.layout is not Layout.ONE] or found
    agreed = len({(r.unit, r.numel) for r in units}) == 1
    return tuple(units) if agreed or asked else ()


def _of_model(model: Architecture, whole: int, ranks: int | None) -> Iterator[Reading]:
    for unit in model.units:
        for layout, size in _sizes(unit, ranks):
            if size == whole:
                yield _reading(model, unit.name, layout, unit.tensors, ranks)
                break
    if whole % _ROUND == 0 and ranks is None:
        return
    seen = set()
    for _, tensor in model.tensors():
        one = tensor.numel // tensor.count
        if _padded(one, ranks) == whole and tensor.name not in seen:
            seen.add(tensor.name)
            single = (Tensor(tensor.name, tensor.shape, tensor.part),)
            yield _reading(model, tensor.name, Layout.ONE, single, ranks)


def _sizes(unit: GatheredUnit, ranks: int | None) -> Iterator[tuple[Layout, int]]:
    yield Layout.FLAT, _padded(unit.numel, ranks)
    if ranks is not None:
        rows = sum(
            _padded(t.shape[0], ranks) * (t.numel // t.shape[0]) for t in unit.tensors if t.shape
        )
        yield Layout.ROWS, rows


def _padded(numel: int, ranks: int | None) -> int:
    return numel if ranks is None else -(-numel // ranks) * ranks


def _reading(
    model: Architecture,
    unit: str,
    layout: Layout,
    tensors: tuple[Tensor, ...],
    ranks: int | None,
) -> Reading:
    return Reading(
        model=model.name,
        unit=unit,
        layout=layout,
        numel=sum(t.numel for t in tensors),
        formula=_formula(tensors),
        group_size=ranks,
    )


def _formula(tensors: tuple[Tensor, ...]) -> str | None:
    terms = Counter[tuple[int, ...]]()
    for tensor in tensors:
        terms[tensor.shape] += tensor.count
    if len(terms) > _LONGEST_SUM:
        return None
    written = []
    for shape, count in sorted(terms.items(), key=lambda item: -len(item[0])):
        factors = " x ".join(str(n) for n in shape)
        written.append(factors if count == 1 else f"{count} x {factors}")
    return " + ".join(written)
