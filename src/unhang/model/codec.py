"""Records to JSON and back: snapshots, standings, inputs and actions of the live judge.

Ranks may be thousands and are written as ranges (`"0-2,4-511"`); a dataclass is an object with its
fields' names, an enumeration its value. Fields that hold their default are left out, and fields
that do not count when two records are compared are neither written nor read: the sentence of a
message comes from this program, never from a file.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, TypeVar

from unhang.model.ids import format_ranks, parse_ranks
from unhang.model.provenance import Message

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode(value: object) -> object:
    """Plain data for `json.dumps`."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if (fields := _told(kind)) is not None:
        told = ((name, getattr(value, name), default) for name, default in fields)
        return {
            name: item if type(item) in _PLAIN else encode(item)
            for name, item, default in told
            if item != default
        }
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, AbstractSet):
        return format_ranks(value)
    if isinstance(value, Mapping):
        return {str(key): _tagged(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return value


def document(schema: str, record: object) -> str:
    """JSON text of a record in which each element of a list, and each record, has its own line.

    Readers of lines, such as a parser, take it piece by piece; `json.loads` takes it as a whole.

    Args:
        schema: name and version, such as `unhang.standing/1`; it is the first key.
        record: a dataclass.
    """
    fields = encode(record)
    assert isinstance(fields, dict)
    inner = {k: v for k, v in fields.items() if isinstance(v, (list, dict))}
    plain = {"schema": schema, **{k: v for k, v in fields.items() if k not in inner}}
    rows = [",".join(f"{_text(key)}:{_text(value)}" for key, value in plain.items())]
    for key, value in inner.items():
        text = _text(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(_text(item) for item in value) + "\n]"
        rows.append(f"{_text(key)}:{text}")
    return "{" + ",\n".join(rows) + "}"


def decode(kind: type[T], data: object) -> T:
    """The inverse of `encode` for one dataclass.

    Raises:
        ValueError: the data is no such record; the message says what was found and expected.
    """
    return typing.cast(T, _decode(kind, data, kind.__name__))


_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@cache
def _told(kind: type[Any]) -> tuple[tuple[str, object], ...] | None:
    """The names and defaults of what is told of a record; None for what is none."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple((f.name, _default(f)) for f in dataclasses.fields(kind) if f.compare)


def _default(field: dataclasses.Field[Any]) -> object:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _tagged(value: object) -> object:
    """A value of a message: a set of ranks is told from a text, and from a set of texts.

    A sentence within a sentence holds plain values.
    """
    if not isinstance(value, frozenset):
        return encode(value)
    if all(isinstance(item, int) for item in value):
        return {"ranks": format_ranks(value)}
    return {"any": sorted(str(item) for item in value)}


def _untagged(value: object) -> object:
    if isinstance(value, dict) and isinstance(value.get("ranks"), str):
        return parse_ranks(value["ranks"])
    if isinstance(value, dict) and isinstance(value.get("any"), list):
        return frozenset(str(item) for item in value["any"])
    if isinstance(value, dict) and isinstance(value.get("key"), str):
        values = value.get("values")
        return Message(key=value["key"], values=values if isinstance(values, dict) else {})
    return value


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    read = {field.name for field in dataclasses.fields(kind) if field.compare}
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if name in read}


def _decode(kind: object, data: object, at: str) -> object:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        options = [k for k in typing.get_args(kind) if k is not type(None)]
        return None if data is None else _decode(options[0], data, at)
    if origin is tuple:
        return _decode_tuple(typing.get_args(kind), data, at)
    if origin in (frozenset, AbstractSet):
        return parse_ranks(_expect(data, str, at))
    if origin is not None:
        return {key: _untagged(item) for key, item in _expect(data, dict, at).items()}
    plain = getattr(kind, "__supertype__", kind)  # Rank is an int
    assert isinstance(plain, type)
    if dataclasses.is_dataclass(plain):
        return _decode_object(plain, _hints(plain), _expect(data, dict, at), at)
    return plain(data) if issubclass(plain, enum.Enum) else _decode_plain(plain, data, at)


def _decode_object(
    kind: type[T], hints: Mapping[str, object], data: Mapping[str, object], at: str
) -> T:
    fields = {name: item for name, item in data.items() if name in hints}
    try:
        return kind(**{n: _decode(hints[n], item, f"{at}.{n}") for n, item in fields.items()})
    except TypeError as error:
        raise ValueError(f"{at}: {error}") from error


def _decode_tuple(kinds: tuple[Any, ...], data: object, at: str) -> tuple[object, ...]:
    items = _expect(data, list, at)
    if kinds[-1] is Ellipsis:
        return tuple(_decode(kinds[0], item, at) for item in items)
    if len(items) != len(kinds):
        raise ValueError(f"{at}: {len(kinds)} values were expected, and {len(items)} found")
    return tuple(_decode(k, item, at) for k, item in zip(kinds, items, strict=True))


def _decode_plain(kind: type[T], data: object, at: str) -> object:
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind is int and isinstance(data, bool):
        raise ValueError(f"{at}: a number was expected, and {data!r} found")
    return _expect(data, kind, at)


def _expect(data: object, kind: type[T], at: str) -> T:
    if not isinstance(data, kind):
        found = type(data).__name__
        raise ValueError(f"{at}: {kind.__name__} was expected, and {found} found")  # noqa: TRY004
    return data
