"""What one rank's Flight Recorder dump tells, reduced to what a verdict needs."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unhang.model.frames import Frame
from unhang.model.ids import Rank


@dataclass(frozen=True, slots=True)
class CallKind:
    """What must agree between the ranks of one call; what may rightly differ is left empty.

    Attributes:
        op: operation without its back end: `all_reduce`.
        inputs, outputs: numbers of elements of the tensors; a shape may differ, a number not.
        dtypes: element types of the inputs.
    """

    op: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCall:
    """One of the last calls that a rank issued in a group, with what shows where it stood.

    Attributes:
        group: name of the group.
        created_s: seconds since 1970 on the rank's own clock, or None.
        frames: innermost first, without those of `torch.distributed` that issue the call.
        numel_in, numel_out: elements of all its tensors, or None.
        is_new: none of the many calls before it in the dump was issued with its stack.
    """

    group: str
    seq: int
    op: str
    created_s: float | None
    frames: tuple[Frame, ...] = ()
    numel_in: int | None = None
    numel_out: int | None = None
    is_new: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What one rank sent to, or received from, one peer of a group.

    Attributes:
        count: how many such operations are in the buffer.
        pending: how many of them had not completed; 0 for batched ones, whose state tells nothing.
        pending_at: place of the first of those in the dump, or None.
        last_at: place of the last operation.
        seqs: point-to-point sequence numbers of this rank; no other rank counts alike.
        kinds: for each of `seqs` an index into the table of kinds of the whole run.
        batched: issued in batches (`batch_isend_irecv`).
    """

    count: int
    pending: int
    pending_at: int | None
    last_at: int
    seqs: array[int]
    kinds: array[int]
    batched: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTrace:
    """What one rank did in one process group.

    Attributes:
        name, description: of the group.
        members: its global ranks in the order of their ranks in the group; None where the dump
            does not list them.
        seqs: sequence numbers of the collectives in the buffer, ascending.
        kinds: for each of `seqs` an index into the table of kinds of the whole run.
        enqueued: the last number that was issued; None where nothing tells.
        completed: the last number that is known to be done; None where nothing tells.
        pending_at: place in the dump of the first collective that is surely not done, or None.
        pending_seq: its number, or None.
        done_at: place of the last collective that is known to be done, or None.
        last_at: place of the last collective, or None.
        sent, received: point-to-point traffic by the number of the peer.
        own: this rank's number in the texts of point-to-point operations: its rank in the group,
            or its global one.
        traffic_whole: no point-to-point operation was overwritten.
        from_status: `enqueued` and `completed` are from the group's status alone, which counts
            collectives and point-to-point operations as one.
        tail: the first pending call and the last one.
    """

    name: str
    description: str
    members: tuple[Rank, ...] | None = None
    seqs: Sequence[int] = ()
    kinds: array[int] = field(default_factory=lambda: array("i"))
    enqueued: int | None = None
    completed: int | None = None
    pending_at: int | None = None
    pending_seq: int | None = None
    done_at: int | None = None
    last_at: int | None = None
    sent: Mapping[int, Traffic] = field(default_factory=dict)
    received: Mapping[int, Traffic] = field(default_factory=dict)
    own: int | None = None
    traffic_whole: bool = True
    from_status: bool = False
    tail: tuple[LastCall, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether anything in it is surely not done."""
        traffic = (*self.sent.values(), *self.received.values())
        return self.pending_at is not None or any(t.pending_at is not None for t in traffic)

    def kind_at(self, seq: int) -> int | None:
        """Index of the kind issued under `seq`; None where it is not in the buffer."""
        place = bisect_left(self.seqs, seq)
        if place == len(self.seqs) or self.seqs[place] != seq:
            return None
        return self.kinds[place]

    def last_call(self, seq: int) -> LastCall | None:
        """The call issued under `seq` where its details were kept."""
        return next((call for call in self.tail if call.seq == seq), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One rank's dump.

    Attributes:
        rank: global rank from the file's name or folder; None where neither tells.
        groups: by name.
        world: all ranks of the job, where the dump lists them under no group's name (Gloo).
        kinds: the table that `GroupTrace.kinds` points into; one for all dumps of a run.
        entries: how many calls the buffer holds.
        from_start: no entry was overwritten or left out: what is not there was never issued.
        cut: the file was damaged; calls after the cut are unknown.
        version: of the format, "" where it has none.
        back_end: `nccl`, `gloo`, … as the entries name it; "" without entries.
        has_states: this back end tells which calls have completed.
        has_frames: the entries hold stacks.
        omits_pairs: the process sends and receives too, and its back end does not record that.
        last: the last call of all groups, or None.
        course: the last calls of all groups in their order, as indices into `moves`.
        moves: what the program did, the same for all ranks that do the same; one table for all
            dumps of a run.
        taken_s: when the dump was taken, on the rank's own clock; None where nothing tells, as
            with the dumps of torch's watchdog, which are taken long after the job came to rest.
        pause_s: the longest pause that used to follow a call like the last one, or None.
    """

    rank: Rank | None
    artifact: str
    groups: Mapping[str, GroupTrace] = field(default_factory=dict)
    world: tuple[Rank, ...] | None = None
    kinds: Sequence[CallKind] = ()
    entries: int = 0
    from_start: bool = False
    cut: bool = False
    version: str = ""
    back_end: str = ""
    has_states: bool = False
    has_frames: bool = False
    omits_pairs: bool = False
    last: LastCall | None = None
    course: Sequence[int] = ()
    moves: Sequence[str] = ()
    taken_s: float | None = None
    pause_s: float | None = None

    @property
    def is_untyped(self) -> bool:
        """Whether this version tells no element types."""
        return self.version.startswith("1.")
