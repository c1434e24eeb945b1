"""One form for all versions of the dump: 2.2's bare list up to 2.11, pickle or JSON.

Readers below see every entry with the names that version 2.10 uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from unhang import lazy_re as re

Entry = dict[str, Any]

TAKEN = "unhang_taken_s"
"""Key under which who orders dumps of a running job notes the time; torch itself notes none."""

_POINT_TO_POINT = re.compile(r"(?:^|:)\s*(?:send|recv|recvAnySource)\b", re.IGNORECASE)
_BATCH_END = re.compile(r"(?:^|:)\s*coalesced$")
_STATES = frozenset({"scheduled", "started", "completed"})
_NUMBER = re.compile(r"-?\d{1,18}")


@dataclass(slots=True)
class DumpDocument:
    """A dump, still as it was written.

    Attributes:
        taken_s: seconds since 1970 that who ordered the dump wrote into it, or None.
    """

    entries: list[Entry]
    version: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    status: Mapping[str, Any] | None = None
    cut: bool = False
    taken_s: float | None = None


def document(tree: object, *, cut: bool = False) -> DumpDocument | None:
    """Take a dump apart; None where the tree is no dump."""
    if isinstance(tree, list):
        entries = _entries(tree)
        return DumpDocument(entries, cut=cut) if entries else None
    if not isinstance(tree, dict) or not tree.keys() & {"entries", "pg_config", "pg_status"}:
        return None
    config, status = tree.get("pg_config"), tree.get("pg_status")
    return DumpDocument(
        _entries(tree.get("entries", ())),
        version=as_text(tree.get("version"), 20),
        config=config if isinstance(config, dict) else {},
        status=status if isinstance(status, dict) else None,
        cut=cut,
        taken_s=_seconds(tree.get(TAKEN)),
    )


def _seconds(value: object) -> float | None:
    return float(value) if type(value) in (int, float) and 0 < value < 1 << 40 else None  # type: ignore[operator,arg-type]


def _entries(value: object) -> list[Entry]:
    if not isinstance(value, (list, tuple)):
        return []
    if isinstance(value, list) and set(map(type, value)) == {dict}:
        return value
    return [e for e in value if isinstance(e, dict)]


def load_json(text: str) -> tuple[object, bool]:
    """A JSON dump, and whether it was cut; of a cut one the whole entries are read."""
    try:
        return json.loads(text), False
    except (ValueError, RecursionError):
        return _salvage_json(text), True


def _salvage_json(text: str) -> object:
    """The top-level values before the cut, entry by entry."""
    decoder = json.JSONDecoder()
    tree: dict[str, Any] = {}
    for key in ("version", "pg_config", "pg_status", TAKEN):
        start = text.find(f'"{key}"')
        place = _skip(text, start + len(key) + 2, ":")
        if start >= 0 and place is not None:
            try:
                tree[key] = decoder.raw_decode(text, place)[0]
            except (ValueError, RecursionError):
                continue
    bare = text.lstrip().startswith("[")
    start = 0 if bare else text.find('"entries"')
    place = _skip(text, 0, "[") if bare else _skip(text, start + 9, ":")
    if place is not None and not bare:
        place = _skip(text, place, "[")
    tree["entries"] = [] if start < 0 else _objects(text, place, decoder)
    return tree["entries"] if bare else tree


def _objects(text: str, place: int | None, decoder: json.JSONDecoder) -> list[object]:
    found: list[object] = []
    while place is not None:
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(value)
        place = _skip(text, place, ",")
    return found


def _skip(text: str, place: int, mark: str) -> int | None:
    """Where the value after `mark` begins."""
    match = re.compile(rf"\s*{re.escape(mark)}\s*").match(text, place)
    return None if match is None else match.end()


def canonical(entry: Entry, config: Mapping[str, Any]) -> Entry | None:
    """An entry of any version with the fields of 2.10; None where it tells nothing."""
    name = entry.get("profiling_name")
    seq = _first_int(entry, "collective_seq_id", "seq_id")
    if not isinstance(name, str) or seq is None:
        return None
    is_p2p = entry.get("is_p2p")
    state = entry.get("state")
    created = _first_int(entry, "time_created_ns")
    if created is None:
        created_us = _first_int(entry, "time_created_us")
        created = None if created_us is None else created_us * 1_000
    return {
        "process_group": _group(entry, config),
        "pg_id": entry.get("pg_id"),
        "record_id": _first_int(entry, "record_id"),
        "op_id": _first_int(entry, "op_id"),
        "collective_seq_id": seq,
        "p2p_seq_id": _first_int(entry, "p2p_seq_id", "seq_id") or 0,
        "is_p2p": is_p2p if isinstance(is_p2p, bool) else _POINT_TO_POINT.search(name) is not None,
        "profiling_name": name,
        "input_sizes": _sizes(entry.get("input_sizes")),
        "output_sizes": _sizes(entry.get("output_sizes")),
        "input_dtypes": _dtypes(entry.get("input_dtypes")),
        "state": state if state in _STATES else "scheduled",
        "retired": entry.get("retired") is True,
        "time_created_ns": created,
        "frames": entry.get("frames", ()),
    }


def with_batch_ends(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The same entries; one that ends a batch of sends and receives belongs to them."""
    before: Entry | None = None
    for entry in entries:
        if before is not None and before["is_p2p"] and _BATCH_END.search(entry["profiling_name"]):
            entry["is_p2p"] = before["process_group"] == entry["process_group"]
        before = entry
        yield entry


def _group(entry: Entry, config: Mapping[str, Any]) -> tuple[str, str]:
    """Name and description; before 2.1 only the number, under which the configuration lists it."""
    group = entry.get("process_group")
    if isinstance(group, (list, tuple)) and len(group) == 2:
        return as_text(group[0]), as_text(group[1])
    name = as_text(entry.get("pg_id"))
    known = config.get(name)
    description = known.get("desc", "") if isinstance(known, dict) else ""
    return name, as_text(description)


def as_text(value: object, most: int = 200) -> str:
    """A text or a number as text; of anything else nothing.

    Small files can hold structures whose text would fill the memory.
    """
    if isinstance(value, str):
        return value[:most]
    return str(value) if type(value) is int and abs(value) < 1 << 62 else ""


def _first_int(entry: Entry, *keys: str) -> int | None:
    """The first of some fields that is a number; a JSON dump may write it as a text."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = int(value)
        if type(value) is int and -(1 << 62) < value < 1 << 62:
            return value
    return None


def whole_number(value: object) -> int | None:
    """A number, however the dump writes it."""
    return _first_int({"": value}, "")


def _sizes(value: object) -> list[list[int]]:
    if not isinstance(value, (list, tuple)):
        return []
    return [
        [n for n in size[:64] if type(n) is int] if isinstance(size, (list, tuple)) else []
        for size in value[:10_000]
    ]


def _dtypes(value: object) -> list[str]:
    return [as_text(v, 40) for v in value[:10_000]] if isinstance(value, (list, tuple)) else []
