"""Reports to JSON and back; what cannot be understood reads as unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from unhang.live.messages.fields import (
    Fields,
    Reader,
    as_float,
    as_int,
    as_object,
    as_text,
    but,
    fields_of,
    is_int,
    is_object,
    read_fields,
    told,
)
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

_MOST_VARIABLES, _LONGEST_VALUE = 100, 200
_OF_PROBE = "probe_"
"""Before the codes of what probes have lost."""
_NEXT = ";"
"""Between the frames of a stack."""
_LONGEST_LINE = 10
_MOST_GROUPS = 10_000
_UNKNOWN = ProcessFacts(alive=True)


def beat_from_json(data: Json, before: Beat | None = None) -> Beat | None:
    """Read what a probe pinned; None when it does not say whose it is.

    Args:
        data: the beat, or what is different from the one `before`.
        before: the same process at another moment.
    """
    again = before is not None
    found = read_fields(_fields(Beat), data, again=again)
    if "timeouts" in data:
        timeouts = as_object(data["timeouts"])
        found["governed_ms"] = _limits(as_object(timeouts.get("governed")))
        found["meeting_ms"] = _int(timeouts, "meeting")
    if "groups" in data:
        found["groups"] = _groups(as_object(data["groups"]), before.groups if before else {})
    if before is not None:
        return but(before, found)
    return Beat(**found) if "host" in found and "pid" in found else None


def beat_to_json(beat: Beat) -> dict[str, Any]:
    """The inverse of `beat_from_json`."""
    data = told(beat)
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
        data["call"] = told(beat.call)
    if beat.course is not None:
        data["course"] = dataclasses.asdict(beat.course)
    if beat.lost:
        data["lost"] = [_loss_to_row(loss) for loss in beat.lost]
    if beat.exception is not None:
        stack = _stack_to_json(beat.exception.stack)
        data["exception"] = {**told(beat.exception), "stack": stack}
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
                "facts": told(p.facts),
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
        processes=tuple(p for item in listed if (p := process_from_json(item)) is not None),
    )


def process_from_json(item: object, before: ProcessReport | None = None) -> ProcessReport | None:
    """Read a process of a report; None when it does not say whose it is.

    Args:
        item: the process, or what is different from the one `before`.
        before: the same process at another moment.
    """
    data = as_object(item)
    known = before.facts if before else _UNKNOWN
    facts = read_fields(_fields(ProcessFacts), as_object(data.get("facts")), again=True)
    beat = beat_from_json(as_object(data.get("beat")), before.beat if before else None)
    return (
        None
        if beat is None
        else ProcessReport(
            beat=beat,
            beats=_int(data, "beats") or 0,
            beat_age_s=_float(data, "beat_age_s") or 0.0,
            facts=but(known, facts) if facts else known,
        )
    )


def _groups(listed: Json, before: Mapping[str, GroupBeat]) -> Mapping[str, GroupBeat]:
    """All groups of a beat; who is told of nothing has gone.

    Raises:
        ValueError: they have become too many.
    """
    if before and not listed:
        return before
    found = dict(before)
    for name, item in listed.items():
        known = found.get(name)
        if not is_object(item):
            found.pop(name, None)
            continue
        fields = read_fields(_fields(GroupBeat), as_object(item), again=known is not None)
        fields["name"] = name
        found[name] = known._replace(**fields) if known else GroupBeat(**fields)
    if before and len(found) > _MOST_GROUPS:
        raise ValueError(f"more than {_MOST_GROUPS} groups")
    return found


def _group_to_json(group: GroupBeat) -> dict[str, Any]:
    data = told(group)
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
        return tuple(Rank(r) for r in ranks if is_int(r))
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
    data = as_object(item)
    if not data or len(data) > _MOST_VARIABLES:
        return None
    return {n[:_LONGEST_VALUE]: v[:_LONGEST_VALUE] for n, v in data.items() if isinstance(v, str)}


def _issued(item: object) -> Issued | None:
    data = as_object(item)
    op = _text(data, "op") if data else None
    if op is None:
        return None
    src, dst = (None if n is None else Rank(n) for n in (_int(data, "src"), _int(data, "dst")))
    group, tag, ranks = _text(data, "group"), _int(data, "tag"), _members(data.get("ranks"))
    return Issued(op=op, src=src, dst=dst, tag=tag, group=group, ranks=ranks)


def _course(item: object) -> Course | None:
    data = as_object(item)
    fits, move, due = data.get("fits"), _text(data, "move"), _text(data, "due")
    if not isinstance(fits, bool) or move is None or due is None:
        return None
    return Course(fits=fits, move=move[:_LONGEST_VALUE], due=due[:_LONGEST_VALUE])


def _young(item: object) -> Iterable[tuple[float, int]]:
    for row in item if isinstance(item, list | tuple) else []:
        if isinstance(row, list | tuple) and len(row) == 2:
            began, runs = row
            if isinstance(began, int | float) and is_int(runs):
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


_OWN_READERS: Mapping[type, Mapping[str, Reader]] = {
    Beat: {
        "argv": lambda item: tuple(_texts(item)),
        "stack": _frames,
        "threads": _threads,
        "exception": lambda item: _raised(item) if isinstance(item, Mapping) else None,
        "call": _issued,
        "course": _course,
        "lost": lambda item: tuple(_losses(item)),
        "environment": _environment,
    },
    GroupBeat: {"ranks": _members},
    ProcessFacts: {
        "alive": lambda item: item is not False,
        "young": lambda item: tuple(_young(item)),
    },
}


@cache
def _fields(kind: type) -> Fields:
    return fields_of(kind, _OWN_READERS[kind])


def _limits(data: Json) -> dict[str, int]:
    limits = {name: _int(data, name) for name in data}
    return {name: ms for name, ms in limits.items() if ms is not None}


def _int(data: Json, key: str) -> int | None:
    return as_int(data.get(key))


def _float(data: Json, key: str) -> float | None:
    return as_float(data.get(key))


def _text(data: Json, key: str) -> str | None:
    return as_text(data.get(key))
