"""The fields of records by their keys on the wire; what has an unexpected type reads as unknown."""

from __future__ import annotations

import dataclasses
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from unhang.live.messages.reports import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
Reader = Callable[[object], Any]

_KEYS = {
    f"{name}_s": name
    for name in ("process_started", "wall", "mono", "stack_since", "step_wall", "since")
}
"""Fields that the wire names otherwise."""


def as_object(item: object) -> Json:
    """An object of JSON; an empty one for anything else."""
    return item if isinstance(item, (dict, Mapping)) else {}


def is_object(item: object) -> bool:
    """Whether it is one."""
    return isinstance(item, (dict, Mapping))


def is_int(item: object) -> bool:
    """A whole number."""
    return isinstance(item, int) and not isinstance(item, bool)


def as_int(value: object) -> int | None:
    """A whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_float(value: object) -> float | None:
    """A number."""
    return float(value) if isinstance(value, float | int) and not isinstance(value, bool) else None


def as_text(value: object) -> str | None:
    """A text."""
    return value if isinstance(value, str) else None


def _as_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


_READERS: Mapping[object, Reader] = {
    bool: _as_flag,
    int: as_int,
    float: as_float,
    str: as_text,
}


class _Field(NamedTuple):
    """A field of a record.

    Attributes:
        kind: of values that need no reader.
        empty: 0 and "" are told, not left to the default.
        default: what holds where nothing is told.
    """

    name: str
    kind: object
    reader: Reader
    empty: bool
    default: object


Fields = Mapping[str, _Field]


def read_fields(fields: Fields, data: Json, *, again: bool = False) -> dict[str, Any]:
    """The fields of a record that can be read, by name; without the rest the defaults hold.

    Args:
        fields: of the record, by key.
        data: what is told, by key.
        again: the record is known, and `data` tells what is different: what cannot be read is the
            default now.
    """
    found = {}
    for key, value in data.items():
        field = fields.get(key)
        if field is not None:
            read = value if type(value) is field.kind else field.reader(value)
            if read is not None and (read or field.empty):
                found[field.name] = read
            elif again and field.default is not dataclasses.MISSING:
                found[field.name] = field.default
    return found


def fields_of(kind: type, readers: Mapping[str, Reader]) -> Fields:
    """The fields of a record that are numbers and texts, and those that have a reader, by key."""
    hints, found = typing.get_type_hints(kind), {}
    for name, default in _declared(kind):
        hint = hints[name]
        optional = typing.get_origin(hint) in (typing.Union, types.UnionType)
        plain = typing.get_args(hint)[0] if optional else hint
        plain = getattr(plain, "__supertype__", plain)  # Rank is an int
        own = readers.get(name)
        reader = _READERS.get(plain) if own is None else own
        if reader is not None:
            empty = optional or default is dataclasses.MISSING or own is not None
            exact = None if own else plain
            found[_KEYS.get(name, name)] = _Field(name, exact, reader, empty, default)
    return found


def _declared(kind: type) -> Iterator[tuple[str, object]]:
    """Names and defaults of the fields of a record: a dataclass, or a named tuple."""
    if dataclasses.is_dataclass(kind):
        yield from ((field.name, field.default) for field in dataclasses.fields(kind))
    else:
        defaults = getattr(kind, "_field_defaults", {})
        for name in getattr(kind, "_fields", ()):
            yield name, defaults.get(name, dataclasses.MISSING)


def told(record: object) -> dict[str, Any]:
    """What a record says beyond its defaults."""
    kind: Any = type(record)
    found = ((key, getattr(record, name), default) for key, name, default in _keyed(kind))
    return {key: value for key, value, default in found if value != default}


@cache
def _keyed(kind: type[Any]) -> tuple[tuple[str, str, object], ...]:
    """Key, name and default of each field."""
    return tuple((_KEYS.get(name, name), name, default) for name, default in _declared(kind))


def but(record: Record, changed: Mapping[str, Any]) -> Record:
    """The record, which has slots, with some fields changed.

    `dataclasses.replace` does the same in three times the time: it sets each of forty fields by a
    call of its own, and a collector does this for each rank in each report.
    """
    values, setters, by_name = _slots(type(record))
    made = object.__new__(type(record))
    for setter, value in zip(setters, values(record), strict=False):
        setter(made, value)
    for name, value in changed.items():
        by_name[name](made, value)
    return made


@cache
def _slots(kind: type[DataclassInstance]) -> tuple[Callable[[Any], Any], list[Any], dict[str, Any]]:
    """What reads all fields of a record at once, and what sets each of them."""
    names = [field.name for field in dataclasses.fields(kind)]
    by_name = {name: getattr(kind, name).__set__ for name in names}
    return operator.attrgetter(*names), list(by_name.values()), by_name
