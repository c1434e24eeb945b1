"""From the sorted entries of a dump to the nouns of the model."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from unhang import lazy_re as re
from unhang.model.frames import Frame
from unhang.model.ids import Rank
from unhang.model.recording import GroupTrace, LastCall, Recording, Traffic
from unhang.parsers.recorder.document import (
    DumpDocument,
    Entry,
    as_text,
    canonical,
    whole_number,
    with_batch_ends,
)
from unhang.parsers.recorder.entries import (
    MALFORMED,
    GroupEntries,
    packed,
    read_entries,
    read_pairs,
)
from unhang.parsers.recorder.extent import (
    holds_the_last,
    is_from_start,
    omits_pairs,
    read_course,
    usual_pause,
)
from unhang.parsers.recorder.kinds import KindTable, operation

_INFORMATIVE = ("started", "completed")
_WITHOUT_STATES = frozenset({"gloo", "mpi", "ucc", ""})
_MEMBERS = re.compile(r"\d{1,7}")
_MOST_ELEMENTS = 1 << 62
_ISSUER = re.compile(
    r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives|nn/functional)\.py$"
    r"|torch/(?:_ops|utils/_contextlib|_dynamo/.*|autograd/function)\.py$"
)
_MOST_FRAMES = 16
_MANY = 32
"""So many calls show what a program usually does."""


@dataclass(frozen=True, slots=True)
class _Status:
    """Counters of a group; they count point-to-point operations too."""

    enqueued: int
    completed: int


@dataclass(frozen=True, slots=True)
class _Read:
    """A dump whose entries are of the newest form.

    Attributes:
        has_states: its back end tells which calls are done.
    """

    document: DumpDocument
    table: KindTable
    has_states: bool

    @classmethod
    def of(cls, document: DumpDocument, table: KindTable) -> _Read:
        """See what the back end tells."""
        has_states = _has_states(document.entries, _back_end(document.entries))
        return cls(document, table, has_states)

    @property
    def entries(self) -> list[Entry]:
        """All of them, in the order in which they were issued."""
        return self.document.entries


def recording(
    document: DumpDocument, table: KindTable, rank: Rank | None, artifact: str
) -> Recording:
    """What one dump tells."""
    try:
        read = _Read.of(document, table)
        groups = read_entries(read.entries, table, has_states=read.has_states)
        traces = _traces(read, groups)
    except MALFORMED:
        entries = [c for e in document.entries if (c := canonical(e, document.config)) is not None]
        read = _Read.of(replace(document, entries=_ascending(with_batch_ends(entries))), table)
        groups = read_entries(read.entries, table, has_states=read.has_states)
        traces = _traces(read, groups)
    entries = read.entries
    course = read_course(entries, table)
    return Recording(
        rank=rank,
        artifact=artifact,
        groups=traces,
        world=_members(document.config.get("")),
        kinds=table.kinds,
        entries=len(entries),
        from_start=not document.cut and is_from_start(entries, groups.values()),
        cut=document.cut,
        version=document.version or "1.0",
        back_end=_back_end(entries),
        has_states=read.has_states,
        omits_pairs=not read.has_states and omits_pairs(entries, groups.values()),
        has_frames=bool(entries) and bool(entries[-1].get("frames")),
        last=_last_call(entries, len(entries) - 1) if entries else None,
        course=course,
        moves=table.moves,
        taken_s=document.taken_s,
        pause_s=usual_pause(read.document, course),
    )


def _back_end(entries: Sequence[Entry]) -> str:
    for entry in entries[:1]:
        name = entry.get("profiling_name")
        if isinstance(name, str) and ":" in name:
            return name.partition(":")[0][:20].lower()
    return ""


def _has_states(entries: Sequence[Entry], back_end: str) -> bool:
    """Gloo calls every call scheduled for ever; NCCL's say what the GPU has done.

    Where nothing was ever completed but some entries are retired, states were not kept.
    """
    if any(entry.get("state") in _INFORMATIVE for entry in entries):
        return True
    return back_end not in _WITHOUT_STATES and not any(e.get("retired") is True for e in entries)


def _ascending(entries: Iterable[Entry]) -> list[Entry]:
    """Without the entries whose collective number is lower than one before in their group."""
    last: dict[object, int] = {}
    kept: list[Entry] = []
    for entry in entries:
        if not entry["is_p2p"]:
            seq = entry["collective_seq_id"]
            if seq < last.get(entry["process_group"], seq):
                continue
            last[entry["process_group"]] = seq
        kept.append(entry)
    return kept


def _traces(read: _Read, groups: Mapping[str, GroupEntries]) -> dict[str, GroupTrace]:
    document = read.document
    members = {as_text(name): _members(of) for name, of in document.config.items()}
    statuses = _statuses(read, groups, members)
    # Counters tell of calls that the buffer does not hold; of Gloo's they count others too.
    whole = not read.has_states or holds_the_last(document)
    traces = {
        name: _trace(read, group, members.get(name), statuses.get(name), whole=whole)
        for name, group in groups.items()
    }
    for name, listed in members.items():
        if name in traces or name == "":
            continue
        status = statuses.get(name)
        traces[name] = GroupTrace(
            name=name,
            description=_description(document.config.get(name)),
            members=listed,
            enqueued=None if status is None else status.enqueued,
            completed=None if status is None else status.completed,
            pending_at=_open_by(status, document),
            pending_seq=None if status is None else status.completed + 1,
            from_status=True,
        )
    return traces


def _trace(
    read: _Read,
    group: GroupEntries,
    members: tuple[Rank, ...] | None,
    status: _Status | None,
    *,
    whole: bool,
) -> GroupTrace:
    entries, cut = read.entries, read.document.cut
    if group.passed or not read.has_states:
        status = None
    enqueued = group.seqs[-1] if group.seqs else None
    completed = _completed(group, status)
    pending_seq, pending_at = (None, None) if group.pending is None else group.pending
    beyond = status is not None and (cut or enqueued is None or status.enqueued > enqueued)
    from_status = beyond and not whole
    if from_status and status is not None:
        enqueued = status.enqueued
        if pending_at is None:
            completed, pending_seq = status.completed, status.completed + 1
            pending_at = _open_by(status, read.document)
    sent, received, own, whole = _traffic(read, group)
    return GroupTrace(
        name=group.name,
        description=group.description,
        members=members,
        seqs=packed(group.seqs),
        kinds=array("i", group.kinds),
        enqueued=enqueued,
        completed=completed,
        pending_at=pending_at,
        pending_seq=pending_seq,
        done_at=group.done_at,
        last_at=group.last_at,
        sent=sent,
        received=received,
        own=own,
        traffic_whole=whole,
        from_status=from_status,
        tail=_tail(group, entries),
    )


def _completed(group: GroupEntries, status: _Status | None) -> int | None:
    """Numbers ascend on one stream: what stands before the first open call is done.

    Where the buffer holds open calls only, others may have been overwritten; counters tell then.
    """
    if group.pending is None:
        return group.seqs[-1] if group.seqs else None
    if group.completed is not None:
        return group.completed
    before = group.pending[0] - 1
    return before if status is None else min(before, status.completed)


def _open_by(status: _Status | None, document: DumpDocument) -> int | None:
    """Counters that differ show an open call; it stands after all that the buffer still holds.

    Where the dump is cut, it may as well stand before calls that were lost.
    """
    if status is None or document.cut or status.completed >= status.enqueued:
        return None
    return len(document.entries)


def _traffic(
    read: _Read, group: GroupEntries
) -> tuple[dict[int, Traffic], dict[int, Traffic], int | None, bool]:
    """Sent and received by peer, the rank's own number, and whether it is the whole traffic."""
    if not group.passed:
        return {}, {}, None, True
    pairs, whole = read_pairs(group.passed, has_states=read.has_states)
    sent: dict[int, Traffic] = {}
    received: dict[int, Traffic] = {}
    own = None
    for (direction, number, peer), found in pairs.items():
        own = number
        (sent if direction == "send" else received)[peer] = found
    return sent, received, own, whole


def _tail(group: GroupEntries, entries: Sequence[Entry]) -> tuple[LastCall, ...]:
    places = {group.last_at, None if group.pending is None else group.pending[1]} - {None}
    return tuple(_last_call(entries, place) for place in sorted(p for p in places if p is not None))


def _last_call(entries: Sequence[Entry], place: int) -> LastCall:
    entry = entries[place]
    created = entry.get("time_created_ns")
    group = entry.get("process_group")
    return LastCall(
        group=as_text(group[0]) if isinstance(group, tuple) and group else "",
        seq=int(entry["p2p_seq_id"] if entry.get("is_p2p") else entry["collective_seq_id"]),
        op=operation(as_text(entry["profiling_name"])),
        created_s=created / 1e9 if type(created) is int else None,
        frames=_frames(entry.get("frames")),
        numel_in=_elements(entry.get("input_sizes")),
        numel_out=_elements(entry.get("output_sizes")),
        is_new=place >= _MANY and _is_new(entries, place),
    )


def _is_new(entries: Sequence[Entry], place: int) -> bool:
    """Whether no entry before this one has its stack."""
    stack = entries[place].get("frames")
    before = (entries[i].get("frames") for i in range(place - 1, -1, -1))
    return bool(stack) and all(other and other != stack for other in before)


def _elements(sizes: object) -> int | None:
    """Elements of all tensors of a list of shapes, or None where it is none."""
    if not isinstance(sizes, (list, tuple)) or not sizes:
        return None
    shapes = [shape for shape in sizes if isinstance(shape, (list, tuple))]
    if len(shapes) < len(sizes) or not all(type(n) is int and n >= 0 for s in shapes for n in s):
        return None
    total = sum(map(prod, shapes))
    return total if total < _MOST_ELEMENTS else None


def _frames(value: object) -> tuple[Frame, ...]:
    """The program's own frames, innermost first."""
    if not isinstance(value, (list, tuple)):
        return ()
    frames: list[Frame] = []
    for raw in value[:64]:
        if not isinstance(raw, dict):
            continue
        file, line = raw.get("filename"), raw.get("line")
        frame = _frame(
            as_text(file, 400), line if type(line) is int else None, as_text(raw.get("name"))
        )
        if frames or _ISSUER.search(frame.file.replace("\\", "/")) is None:
            frames.append(frame)
    return _same(tuple(frames[:_MOST_FRAMES]))


@lru_cache(maxsize=10_000)
def _frame(file: str, line: int | None, function: str) -> Frame:
    return Frame(file=file, line=line, function=function)


@lru_cache(maxsize=10_000)
def _same(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """One object for equal stacks: a thousand ranks stand at few places."""
    return frames


def _members(value: object) -> tuple[Rank, ...] | None:
    """The ranks of a group, in order; written as a text, and by Gloo as an empty one."""
    ranks = value.get("ranks") if isinstance(value, dict) else value
    if isinstance(ranks, str):
        return _parsed(ranks)
    if isinstance(ranks, (list, tuple)):
        return tuple(Rank(r) for r in ranks if type(r) is int and r >= 0) or None
    return None


@lru_cache(maxsize=10_000)
def _parsed(ranks: str) -> tuple[Rank, ...] | None:
    return tuple(Rank(int(r)) for r in _MEMBERS.findall(ranks)) or None


def _description(value: object) -> str:
    return as_text(value.get("desc")) if isinstance(value, dict) else ""


def _statuses(
    read: _Read,
    groups: Mapping[str, GroupEntries],
    members: Mapping[str, tuple[Rank, ...] | None],
) -> dict[str, _Status]:
    """Counters by the name of the group; the dump keeps them under the process's own numbers.

    Entries tell which number is which group. Where a group has none, the numbers and the names
    that count groups ascend together, if there are as many of them.
    """
    status_of = read.document.status
    if status_of is None:
        return {}
    numbered = {number: of for of in status_of if (number := whole_number(of)) is not None}
    names = {whole_number(g.pg_id): name for name, g in groups.items()}
    listed = {number: name for name in members if (number := whole_number(name)) is not None}
    if len(listed) == len(numbered) == len(members):
        aligned = dict(zip(sorted(numbered), (listed[n] for n in sorted(listed)), strict=True))
        if all(aligned.get(number) == name for number, name in names.items() if number is not None):
            names.update(aligned.items())
    found: dict[str, _Status] = {}
    for number, key in numbered.items():
        status, name = status_of[key], names.get(number)
        if name is not None and isinstance(status, dict):
            enqueued = whole_number(status.get("last_enqueued_collective"))
            completed = whole_number(status.get("last_completed_collective"))
            if enqueued is not None:
                found[name] = _Status(max(enqueued, 0), max(completed or 0, 0))
    return found
