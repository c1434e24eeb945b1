"""From the sizes of a collective to the tensors that it carries.

A sharded model is gathered unit by unit: the number of elements in the time-out line is then the
sum of a unit's parameters, padded so that each rank holds an equal part. An equality of ten digits
is no accident; a small or round number is, and is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unhang.architectures.known import find_model, known_models
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor
from unhang.model.contents import Layout, Reading

_GATHERS = frozenset({"ALLGATHER", "_ALLGATHER_BASE", "ALLGATHER_BASE", "ALLGATHER_COALESCED"})
_SCATTERS = frozenset({"REDUCE_SCATTER", "_REDUCE_SCATTER_BASE", "REDUCE_SCATTER_BASE"})
_TELLING = 100_000
"""Below so many elements an equality may be an accident."""
_ODD, _ODD_ALONE = 100, 1_000
"""A product of powers of two has many factorings: what is left of it without them must be as large,
with and without a gather's two sizes."""
_LONGEST_SUM = 4


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
        The tensors of this size, with all models that have them; where different tensors of
        several models fit, nothing is said unless the models were given. Empty where nothing fits,
        or where a fit could be an accident.

    >>> reading, = decode("_ALLGATHER_BASE", 262669312, 1050677248)
    >>> reading.models, reading.tensors, reading.formula, reading.group_size
    (('Meta-Llama-3-8B',), ('root',), '2 x 128256 x 4096 + 4096', 4)
    """
    sizes = [n for n in (numel_in, numel_out) if n is not None and 0 < n < 1 << 62]
    whole = max(sizes, default=0)
    ranks = group_size(op, numel_in, numel_out)
    asked = list(models)
    if whole >= _TELLING:
        known = asked or [m for n in known_models() if (m := find_model(n)) is not None]
        found = _joined(reading for model in known for reading in _of_model(model, whole, ranks))
        units = [reading for reading in found if reading.layout is not Layout.ONE] or found
        if units and (asked or len(units) == 1):
            return tuple(units)
    part = min(sizes, default=0) if ranks is not None else whole
    return tuple(_features(model, part, ranks) for model in asked if _holds_vectors(model, part))


def _of_model(model: Architecture, whole: int, ranks: int | None) -> Iterator[Reading]:
    for unit in (*model.units, *_parts_of_root(model)):
        for layout, size in _sizes(unit, ranks):
            if size == whole and _is_telling(size, alone=ranks is None):
                yield _reading(model, unit.name, layout, unit.tensors, ranks)
                break
    if not _is_telling(whole, alone=ranks is None):
        return
    for tensor in dict.fromkeys(tensor for _, tensor in model.tensors()):
        one = tensor.numel // tensor.count
        if _padded(one, ranks) == whole:
            single = (Tensor(tensor.name, tensor.shape, tensor.part),)
            yield _reading(model, tensor.name, Layout.ONE, single, ranks)


def _parts_of_root(model: Architecture) -> Iterator[GatheredUnit]:
    """Parts of it that are wrapped by themselves: the head with the last norm (torchtitan)."""
    tail = [t for t in model.units[0].tensors if t.part in (Part.HEAD, Part.NORM)]
    if len({t.part for t in tail}) == 2:
        yield GatheredUnit("norm and head", tuple(tail))


def _is_telling(numel: int, *, alone: bool) -> bool:
    return numel // (numel & -numel) >= (_ODD_ALONE if alone else _ODD)


def _joined(readings: Iterable[Reading]) -> list[Reading]:
    """Tensors of one sum of shapes as one reading, over all models that have them.

    One model's root, with a tied head, is another's head and norm.
    """
    found: dict[tuple[object, ...], Reading] = {}
    for reading in readings:
        named = None if reading.formula is not None else reading.tensors
        key = (reading.layout, reading.numel, named, reading.formula)
        same = found.get(key)
        found[key] = reading if same is None else replace(
            same,
            models=tuple(dict.fromkeys((*same.models, *reading.models))),
            tensors=tuple(dict.fromkeys((*same.tensors, *reading.tensors))),
        )  # fmt: skip
    return list(found.values())


def _holds_vectors(model: Architecture, part: int) -> bool:
    """Whether one rank's elements are whole vectors of the model's width."""
    return model.hidden is not None and part >= model.hidden and part % model.hidden == 0


def _features(model: Architecture, part: int, ranks: int | None) -> Reading:
    assert model.hidden is not None
    return Reading(
        models=(model.name,),
        tensors=("features",),
        layout=Layout.FEATURES,
        numel=part,
        formula=f"{part // model.hidden} x {model.hidden}",
        group_size=ranks,
    )


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
        models=(model.name,),
        tensors=(unit,),
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
