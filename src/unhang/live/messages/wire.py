"""Reports to JSON and back; what cannot be understood reads as unknown."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from unhang.live.messages.losses import Loss, losses_from_json, losses_to_json
from unhang.live.messages.reports import (
    Beat,
    Course,
    FramePlace,
    GroupBeat,
    Issued,
    Json,
    NodeReport,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.model.ids import Rank, format_ranks, parse_ranks

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MOST_VARIABLES, _LONGEST_VALUE = 100, 200
_OF_PROBE = "probe_"
"""Before the codes of what probes have lost."""
_NEXT = ";"
"""Between the frames of a stack."""
_LONGEST_LINE = 10
_KEYS = {
    f"{name}_s": name
    for name in ("process_started", "wall", "mono", "stack_since", "step_wall", "since")
}
"""Fields that the wire names otherwise."""


def beat_from_json(data: Json) -> Beat | None:
    """Read what a probe pinned; None when it does not say whose it is."""
    host, pid = data.get("host"), _int(data, "pid")
    if not isinstance(host, str) or pid is None:
        return None
    groups = {n: _group(n, g) for n, g in _mapping(data.get("groups")).items() if _is_object(g)}
    timeouts = _mapping(data.get("timeouts"))
    raised = data.get("exception")
    return Beat(
        **{
            **_plain(Beat, data),
            "argv": tuple(_texts(data.get("argv"))),
            "groups": groups,
            "stack": _frames(data.get("stack")),
            "threads": _threads(data.get("threads")),
            "exception": _raised(raised) if isinstance(raised, Mapping) else None,
            "governed_ms": _limits(_mapping(timeouts.get("governed"))),
            "meeting_ms": _int(timeouts, "meeting"),
            "call": _issued(data.get("call")),
            "course": _course(data.get("course")),
            "lost": tuple(_losses(data.get("lost"))),
            "environment": _environment(data.get("environment")),
        }
    )


def beat_to_json(beat: Beat) -> dict[str, Any]:
    """The inverse of `beat_from_json`."""
    data = _told(beat)
    data["timeouts"] = {
        "governed": dict(data.pop("governed_ms", {})),
        "meeting": data.pop("meeting_ms", None),
    }
    data["stack"] = _stack_to_json(beat.stack)
    if beat.threads:
        data["threads"] = [_stack_to_json(stack) for stack in beat.threads]
    if beat.groups:
        data["groups"] = {name: _group_to_json(group) for name, group in beat.groups.items()}
    if beat.call is not None:
        data["call"] = _told(beat.call)
    if beat.course is not None:
        data["course"] = dataclasses.asdict(beat.course)
    if beat.lost:
        data["lost"] = [_loss_to_row(loss) for loss in beat.lost]
    if beat.exception is not None:
        stack = _stack_to_json(beat.exception.stack)
        data["exception"] = {**_told(beat.exception), "stack": stack}
    return data


def node_to_json(report: NodeReport) -> dict[str, Any]:
    """A report as an agent sends it to the collector."""
    return {
        "host": report.host,
        "wall": report.wall_s,
        "mono": report.mono_s,
        "launcher_alive": report.launcher_alive,
        "lost": losses_to_json(report.lost),
        "processes": [
            {
                "beat": beat_to_json(p.beat),
                "facts": _told(p.facts),
                "beats": p.beats,
                "beat_age_s": p.beat_age_s,
            }
            for p in report.processes
        ],
    }


def node_from_json(data: Json) -> NodeReport | None:
    """The inverse of `node_to_json`; None when it does not say which host it is of."""
    host = data.get("host")
    if not isinstance(host, str):
        return None
    processes = data.get("processes")
    listed = processes if isinstance(processes, list) else []
    return NodeReport(
        host=host,
        wall_s=_float(data, "wall") or 0.0,
        mono_s=_float(data, "mono") or 0.0,
        launcher_alive=data.get("launcher_alive") is not False,
        lost=losses_from_json(data.get("lost")),
        processes=tuple(p for item in listed if (p := _process(item)) is not None),
    )


def _process(item: object) -> ProcessReport | None:
    data = _mapping(item)
    beat = beat_from_json(_mapping(data.get("beat")))
    if beat is None:
        return None
    facts = _mapping(data.get("facts"))
    return ProcessReport(
        beat=beat,
        beats=_int(data, "beats") or 0,
        beat_age_s=_float(data, "beat_age_s") or 0.0,
        facts=ProcessFacts(
            **{
                **_plain(ProcessFacts, facts),
                "alive": facts.get("alive") is not False,
                "young": tuple(_young(facts.get("young"))),
            }
        ),
    )


def _group(name: str, item: object) -> GroupBeat:
    data = _mapping(item)
    return GroupBeat(
        **{**_plain(GroupBeat, data), "name": name, "ranks": _members(data.get("ranks"))}
    )


def _group_to_json(group: GroupBeat) -> dict[str, Any]:
    data = _told(group)
    del data["name"]
    if group.ranks is not None:
        data["ranks"] = _ranks_to_json(group.ranks)
    return data


def _ranks_to_json(ranks: tuple[Rank, ...]) -> list[Rank] | str:
    """Ranges where they say the same: a group of thousands is told in every beat of its members."""
    in_order = all(a < b for a, b in pairwise(ranks))
    return format_ranks(ranks) if in_order else list(ranks)


def _members(ranks: object) -> tuple[Rank, ...] | None:
    if isinstance(ranks, str):
        return _members_of_ranges(ranks)
    if isinstance(ranks, list):
        return tuple(Rank(r) for r in ranks if _is_int(r))
    return None


@lru_cache(maxsize=4096)
def _members_of_ranges(text: str) -> tuple[Rank, ...] | None:
    try:
        return tuple(sorted(parse_ranks(text)))
    except ValueError:
        return None


def _raised(data: Json) -> Raised:
    return Raised(
        type=_text(data, "type") or "",
        message=_text(data, "message") or "",
        stack=_frames(data.get("stack")),
    )


def _environment(item: object) -> Mapping[str, str] | None:
    """Variables by name; a list that is too long, or of something else, is left out."""
    data = _mapping(item)
    if not data or len(data) > _MOST_VARIABLES:
        return None
    return {n[:_LONGEST_VALUE]: v[:_LONGEST_VALUE] for n, v in data.items() if isinstance(v, str)}


def _issued(item: object) -> Issued | None:
    data = _mapping(item)
    op = _text(data, "op") if data else None
    if op is None:
        return None
    src, dst = (None if n is None else Rank(n) for n in (_int(data, "src"), _int(data, "dst")))
    group, tag, ranks = _text(data, "group"), _int(data, "tag"), _members(data.get("ranks"))
    return Issued(op=op, src=src, dst=dst, tag=tag, group=group, ranks=ranks)


def _course(item: object) -> Course | None:
    data = _mapping(item)
    fits, move, due = data.get("fits"), _text(data, "move"), _text(data, "due")
    if not isinstance(fits, bool) or move is None or due is None:
        return None
    return Course(fits=fits, move=move[:_LONGEST_VALUE], due=due[:_LONGEST_VALUE])


def _young(item: object) -> Iterable[tuple[float, int]]:
    for row in item if isinstance(item, list | tuple) else []:
        if isinstance(row, list | tuple) and len(row) == 2:
            began, runs = row
            if isinstance(began, int | float) and _is_int(runs):
                yield float(began), runs


def _threads(item: object) -> tuple[tuple[FramePlace, ...], ...]:
    stacks = (_frames(stack) for stack in item) if isinstance(item, list) else ()
    return tuple(stack for stack in stacks if stack)


def _frames(item: object) -> tuple[FramePlace, ...]:
    if isinstance(item, str):
        return _stack_of_text(item)
    rows = item if isinstance(item, list) else []
    try:
        return _stack(tuple(tuple(row) for row in rows))
    except TypeError:  # some row is no row, or holds one
        return tuple(FramePlace(*row) for row in rows if isinstance(row, list) and _is_frame(row))


@lru_cache(maxsize=4_096)
def _stack(rows: tuple[tuple[object, ...], ...]) -> tuple[FramePlace, ...]:
    """One object for each stack: most are seen again and again."""
    return tuple(FramePlace(*row) for row in rows if _is_frame(row))  # type: ignore[arg-type]


@lru_cache(maxsize=4_096)
def _stack_of_text(text: str) -> tuple[FramePlace, ...]:
    """Likewise, of a stack that is one text, for such a text is looked up at once."""
    rows = (row.rsplit(":", 2) for row in text.split(_NEXT))
    return tuple(
        FramePlace(row[0], int(row[1]), row[2])
        for row in rows
        if len(row) == 3 and row[1].isdecimal() and len(row[1]) < _LONGEST_LINE
    )


@lru_cache(maxsize=4_096)
def _stack_to_json(stack: tuple[FramePlace, ...]) -> str | tuple[FramePlace, ...]:
    """A text, or rows where a name holds what separates names."""
    text = _NEXT.join(f"{frame.file}:{frame.line}:{frame.function}" for frame in stack)
    return text if _stack_of_text(text) == stack else stack


def _is_frame(row: Sequence[object]) -> bool:
    kinds = (str, int, str)
    return len(row) == len(kinds) and all(map(isinstance, row, kinds))


def _limits(data: Json) -> dict[str, int]:
    limits = {name: _int(data, name) for name in data}
    return {name: ms for name, ms in limits.items() if ms is not None}


def _mapping(item: object) -> Json:
    return item if isinstance(item, (dict, Mapping)) else {}


def _is_object(item: object) -> bool:
    return isinstance(item, (dict, Mapping))


def _is_int(item: object) -> bool:
    return isinstance(item, int) and not isinstance(item, bool)


def _int(data: Json, key: str) -> int | None:
    return _as_int(data.get(key))


def _float(data: Json, key: str) -> float | None:
    return _as_float(data.get(key))


def _text(data: Json, key: str) -> str | None:
    return _as_text(data.get(key))


def _as_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_float(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) and not isinstance(value, bool) else None


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _as_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


_READERS: Mapping[object, Callable[[object], Any]] = {
    bool: _as_flag,
    int: _as_int,
    float: _as_float,
    str: _as_text,
}


class _Field(NamedTuple):
    """A number or text of a record.

    Attributes:
        kind: of values that need no reader.
        empty: 0 and "" are told, not left to the default.
    """

    name: str
    kind: object
    reader: Callable[[object], Any]
    empty: bool


def _plain(kind: type, data: Json) -> dict[str, Any]:
    """The numbers and texts of a record that can be read; without the rest the defaults hold."""
    fields, found = _plain_fields(kind), {}
    for key, value in data.items():
        field = fields.get(key)
        if field is not None:
            read = value if type(value) is field.kind else field.reader(value)
            if read is not None and (read or field.empty):
                found[field.name] = read
    return found


@cache
def _plain_fields(kind: type) -> dict[str, _Field]:
    """By their keys."""
    hints = typing.get_type_hints(kind)
    found = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        optional = typing.get_origin(hint) in (typing.Union, types.UnionType)
        plain = typing.get_args(hint)[0] if optional else hint
        plain = getattr(plain, "__supertype__", plain)  # Rank is an int
        if plain in _READERS:
            empty = optional or field.default is dataclasses.MISSING
            key = _KEYS.get(field.name, field.name)
            found[key] = _Field(field.name, plain, _READERS[plain], empty)
    return found


def _told(record: DataclassInstance) -> dict[str, Any]:
    """What a record says beyond its defaults."""
    told = ((key, getattr(record, name), default) for key, name, default in _keyed(type(record)))
    return {key: value for key, value, default in told if value != default}


@cache
def _keyed(kind: type[DataclassInstance]) -> tuple[tuple[str, str, object], ...]:
    """Key, name and default of each field."""
    return tuple((_KEYS.get(f.name, f.name), f.name, f.default) for f in dataclasses.fields(kind))


def _losses(item: object) -> Iterable[Loss]:
    """Rows of a code and a reason, as probes write them."""
    for row in item if isinstance(item, list) else []:
        if isinstance(row, list) and len(row) == 2 and all(isinstance(cell, str) for cell in row):
            yield _loss(*row)


@lru_cache(maxsize=1024)
def _loss(code: str, why: str) -> Loss:
    """One object for each: all ranks may tell the same in every beat."""
    return Loss.of(f"{_OF_PROBE}{code}", why=why)


def _loss_to_row(loss: Loss) -> list[str]:
    return [loss.code.removeprefix(_OF_PROBE), str(loss.values.get("why", ""))]


def _texts(item: object) -> Iterable[str]:
    return (t for t in item if isinstance(t, str)) if isinstance(item, list | tuple) else ()
