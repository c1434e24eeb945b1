"""Which part of what a process issued its dump holds, and what it used to do."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from operator import itemgetter

from unhang.parsers.recorder.document import DumpDocument, Entry
from unhang.parsers.recorder.entries import GroupEntries
from unhang.parsers.recorder.kinds import KindTable

_MOVE = itemgetter("process_group", "profiling_name")
_COURSE = 256
_HABIT = 2
_HISTORY = 8


def is_from_start(entries: Sequence[Entry], groups: Collection[GroupEntries]) -> bool:
    """Whether the first call of the process is still there; a dump of active ones has gaps."""
    if not entries:
        return False
    first, last = entries[0].get("record_id"), entries[-1].get("record_id")
    if type(first) is not int or type(last) is not int:
        first, last = 0, len(entries) - 1
    begun = first == 0 or all(_first_number(group) <= 1 for group in groups)
    return begun and last - first + 1 == len(entries)


def _first_number(group: GroupEntries) -> int:
    if group.seqs:
        return group.seqs[0]
    return min(number for found in group.passed.values() for number in found.seqs)


def omits_pairs(entries: Sequence[Entry], groups: Iterable[GroupEntries]) -> bool:
    """Whether operations were numbered that the dump does not hold."""
    last = (entries[g.last_at] for g in groups if g.last_at is not None and not g.passed)
    numbers = ((e.get("op_id"), e["collective_seq_id"]) for e in last)
    return any(type(op_id) is int and op_id > seq for op_id, seq in numbers)


def holds_the_last(document: DumpDocument) -> bool:
    """Whether the last call of the process is in the dump; one of active calls may leave it out."""
    entries = document.entries
    if document.cut or not entries:
        return False
    first, last = entries[0].get("record_id"), entries[-1].get("record_id")
    if type(first) is int and type(last) is int and last - first + 1 != len(entries):
        return False
    return any(e.get("retired") is True or e.get("state") == "completed" for e in entries)


def read_course(entries: Sequence[Entry], table: KindTable) -> Sequence[int]:
    """The last calls of all groups in their order, as moves."""
    recent = map(_MOVE, entries[-_COURSE:])
    return table.course(array("i", [table.move(group, name) for group, name in recent]))


def usual_pause(document: DumpDocument, course: Sequence[int]) -> float | None:
    """The longest pause after a call like the last one, in seconds; None where little is known.

    Of a place that the program has hardly been at before, the longest pause of all.
    """
    recent = document.entries[-len(course) :] if course else []
    times = [t for e in recent if type(t := e.get("time_created_ns")) is int]
    if len(times) < len(recent) or len(times) <= _HISTORY or not holds_the_last(document):
        return None
    pauses = [after - before for before, after in pairwise(times)]
    here = [pause for move, pause in zip(course, pauses, strict=False) if move == course[-1]]
    return max(here if len(here) >= _HABIT else pauses) / 1e9
