"""Made-up jobs with a known truth, and the Flight Recorder dumps that they would leave.

Each rank runs a program of calls; its host issues them ahead of its device; the device runs them in
order, and a call is done when all that take part in it have come to it with the same. A fault is
put into one rank, the job runs until nothing moves, and every rank's ring buffer is written in the
form of any version of torch.
"""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

Stacks = dict[int, list[dict[str, Any]]]
"""Frames by line: equal stacks are one object, as the recorder writes them."""

BASE_NS = 1_790_000_000_000_000_000


@dataclass(frozen=True)
class Group:
    """A process group."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """One call of a program; `peers` are (peer, sends) of point-to-point operations."""

    group: Group
    name: str
    size: tuple[int, ...] = (1000,)
    dtype: str = "Float"
    peers: tuple[tuple[int, bool], ...] = ()
    line: int = 10


@dataclass
class Rank:
    """One process: its program, what it has issued, and how much of that its device has done."""

    rank: int
    program: list[Op]
    issued: int = 0
    done: int = 0
    stop_at: int | None = None
    device_stops_at: int | None = None
    dead: bool = False
    seqs: list[int] = field(default_factory=list)
    ops: dict[Group, int] = field(default_factory=dict)
    pairs: dict[Group, int] = field(default_factory=dict)


@dataclass
class Job:
    """A job, and which of its ranks hold the others up."""

    ranks: list[Rank]
    culprits: frozenset[int] = frozenset()
    ahead: int = 8
    what: str = "healthy"

    def run(self, random_: random.Random, steps: int | None = None) -> None:
        """Run until nothing moves, or for so many steps."""
        order = list(self.ranks)
        while steps is None or steps > 0:
            random_.shuffle(order)
            moved = [self._move(rank) for rank in order]
            if not any(moved):
                return
            steps = None if steps is None else steps - 1

    def _move(self, rank: Rank) -> bool:
        issued = rank.issued
        limit = len(rank.program) if rank.stop_at is None else rank.stop_at
        if rank.issued < min(limit, rank.done + self.ahead):
            op = rank.program[rank.issued]
            counters = rank.pairs if op.peers else rank.ops
            counters[op.group] = counters.get(op.group, 0) + 1
            rank.seqs.append(counters[op.group])
            rank.issued += 1
        return self._complete(rank) or rank.issued > issued

    def _complete(self, rank: Rank) -> bool:
        head = self._head(rank)
        if head is None:
            return False
        together = {rank.rank}
        pending = [rank]
        while pending:
            one = pending.pop()
            mine = self._head(one)
            assert mine is not None
            for peer in _partners(one.rank, mine[0]):
                other = self._head(self.ranks[peer])
                if other is None or not _matches(one.rank, mine, peer, other):
                    return False
                if peer not in together:
                    together.add(peer)
                    if mine[0].peers:
                        pending.append(self.ranks[peer])
        for number in together:
            self.ranks[number].done += 1
        return True

    def _head(self, rank: Rank) -> tuple[Op, int] | None:
        if rank.done >= rank.issued or rank.device_stops_at == rank.done:
            return None
        return rank.program[rank.done], rank.seqs[rank.done]


def _partners(rank: int, op: Op) -> list[int]:
    if op.peers:
        return [peer for peer, _ in op.peers]
    return [member for member in op.group.ranks if member != rank]


def _matches(rank: int, mine: tuple[Op, int], peer: int, others: tuple[Op, int]) -> bool:
    (op, seq), (other, other_seq) = mine, others
    if op.group != other.group or bool(op.peers) != bool(other.peers):
        return False
    if op.peers:
        sends = dict(op.peers)[peer]
        return any(p == rank and s != sends for p, s in other.peers)
    return (op.name, op.size, op.dtype, seq) == (other.name, other.size, other.dtype, other_seq)


def mesh(world: int, tp: int, pp: int) -> dict[str, list[Group]]:
    """Groups of a job with tensor, pipeline and data parallelism; names are numbers, as torch's."""
    dp = world // (tp * pp)
    number = iter(range(1, 100_000))
    everyone = Group("0", "default_pg", tuple(range(world)))

    def groups(description: str, members: list[tuple[int, ...]]) -> list[Group]:
        return [Group(str(next(number)), description, m) for m in members]

    tps = [tuple(range(start, start + tp)) for start in range(0, world, tp)]
    dps = [tuple(p * tp * dp + d * tp + t for d in range(dp)) for p in range(pp) for t in range(tp)]
    pps = [tuple(p * tp * dp + d * tp + t for p in range(pp)) for d in range(dp) for t in range(tp)]
    return {
        "world": [everyone],
        "tp": groups("tp", tps),
        "dp": groups("dp", dps),
        "pp": groups("pp", pps),
    }


def train(groups: dict[str, list[Group]], steps: int, *, layers: int = 2) -> list[Rank]:
    """Programs of a training loop: pipeline, tensor and data parallel calls, and a barrier."""
    world = groups["world"][0]
    ranks = []
    for rank in world.ranks:
        of = {kind: next(g for g in found if rank in g.ranks) for kind, found in groups.items()}
        program: list[Op] = []
        for _ in range(steps):
            program += _pipe(rank, of["pp"], forward=True)
            for layer in range(layers if len(of["tp"].ranks) > 1 else 0):
                program.append(Op(of["tp"], "all_reduce", (64 + layer, 8), line=20 + layer))
            program += _pipe(rank, of["pp"], forward=False)
            if len(of["dp"].ranks) > 1:
                program.append(Op(of["dp"], "_reduce_scatter_base", (4096,), line=30))
                program.append(Op(of["dp"], "_all_gather_base", (4096,), line=31))
            program.append(Op(world, "all_reduce", (1,), line=40))
        program.append(Op(world, "barrier", (1,), line=90))
        ranks.append(Rank(rank, program))
    return ranks


def _pipe(rank: int, group: Group, *, forward: bool) -> list[Op]:
    """Receive from the stage before and send to the stage after."""
    place = group.ranks.index(rank)
    before, after = (place - 1, place + 1) if forward else (place + 1, place - 1)
    ops = []
    for index, sends in ((before, False), (after, True)):
        if 0 <= index < len(group.ranks):
            peers = ((group.ranks[index], sends),)
            ops.append(Op(group, "send" if sends else "recv", (64, 8), peers=peers, line=50))
    return ops


def ring(world: int, steps: int) -> list[Rank]:
    """Programs that pass something round in batches of a send and a receive."""
    group = Group("0", "default_pg", tuple(range(world)))
    ranks = []
    for rank in range(world):
        peers = (((rank + 1) % world, True), ((rank - 1) % world, False))
        program: list[Op] = []
        for _ in range(steps):
            program.append(Op(group, "batch", (64,), peers=peers, line=60))
            program.append(Op(group, "all_reduce", (8,), line=61))
        ranks.append(Rank(rank, program))
    return ranks


def stall(job: Job, rank: int, at: int) -> None:
    """The rank issues nothing from one place of its program on."""
    job.ranks[rank].stop_at = at
    job.culprits, job.what = job.culprits | {rank}, "stall"


def die(job: Job, rank: int, at: int) -> None:
    """The same, and it leaves no dump."""
    stall(job, rank, at)
    job.ranks[rank].dead, job.what = True, "died"


def change(job: Job, rank: int, at: int, **fields: object) -> None:
    """The rank issues another call at one place: another name, size or dtype."""
    program = job.ranks[rank].program
    program[at] = replace(program[at], **fields)  # type: ignore[arg-type]
    job.culprits, job.what = job.culprits | {rank}, "mismatch " + "/".join(fields)


def leave_out(job: Job, rank: int, at: int) -> None:
    """The rank does not issue one call that the others do."""
    del job.ranks[rank].program[at]
    job.culprits, job.what = job.culprits | {rank}, "left out"


def settle(job: Job, culprit: int, line: int) -> None:
    """Put all ranks where they wait in the last call from one line, without running the job.

    Running takes a second for each thousand calls of a thousand ranks.
    """
    for rank in job.ranks:
        place = max(i for i, op in enumerate(rank.program) if op.line == line)
        rank.done, rank.issued = place, place + (rank.rank != culprit)
        for op in rank.program[: rank.issued]:
            counters = rank.pairs if op.peers else rank.ops
            counters[op.group] = counters.get(op.group, 0) + 1
            rank.seqs.append(counters[op.group])
    job.culprits, job.what = frozenset({culprit}), "stall"


def break_device(job: Job, rank: int, at: int) -> None:
    """The rank's device stops; its host goes on as far as it may."""
    job.ranks[rank].device_stops_at = at
    job.culprits, job.what = job.culprits | {rank}, "device"


@dataclass(frozen=True)
class Form:
    """How dumps are written."""

    version: str = "2.10"
    buffer: int = 2000
    back_end: str = "nccl"
    as_json: bool = False
    active: bool = False
    offset: int = 0
    name: Callable[[int], str] = "nccl_trace_rank_{}".format
    frames: int = 4


def write(job: Job, folder: Path, forms: Sequence[Form]) -> None:
    """Write the dumps of all ranks that live; forms are dealt out in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    stacks: Stacks = {}
    for rank in job.ranks:
        if rank.dead:
            continue
        form = forms[rank.rank % len(forms)]
        tree = dump(rank, form, stacks)
        path = folder / form.name(rank.rank)
        if form.as_json:
            path.write_text(json.dumps(tree, sort_keys=True))
        else:
            path.write_bytes(pickle.dumps(tree, protocol=2))


def dump(rank: Rank, form: Form, stacks: Stacks) -> object:
    """What a rank's recorder would write."""
    groups = sorted(dict.fromkeys(op.group for op in rank.program), key=lambda g: int(g.name))
    numbers = {group: number for number, group in enumerate(groups)}
    entries: list[dict[str, Any]] = []
    collectives: dict[Group, int] = {}
    for place in range(rank.issued):
        op = rank.program[place]
        if not op.peers:
            collectives[op.group] = rank.seqs[place]
        entries += [
            {**e, "record_id": len(entries) + i + form.offset}
            for i, e in enumerate(
                _entries(
                    rank,
                    place,
                    collective=collectives.get(op.group, 0),
                    number=numbers[op.group],
                    form=form,
                    stacks=stacks,
                )
            )
        ]
    entries = entries[-form.buffer :]
    if form.active:
        entries = [e for e in entries if not e["retired"]]
    if form.version == "1.0":
        return [_old(e) for e in entries]
    config = {
        g.name: {"name": g.name, "desc": g.description, "ranks": str(list(g.ranks))} for g in groups
    }
    tree = {"version": form.version, "pg_config": config}
    if form.version not in ("1.4", "2.1"):
        tree["pg_status"] = {str(numbers[g]): _status(rank, g) for g in groups}
    if form.version == "1.4":
        config = {str(numbers[g]): config[g.name] for g in groups}
        return {**tree, "pg_config": config, "entries": [_old(e) for e in entries]}
    return {**tree, "entries": entries}


def _status(rank: Rank, group: Group) -> dict[str, int]:
    enqueued = [rank.seqs[i] for i in range(rank.issued) if rank.program[i].group == group]
    done = [rank.seqs[i] for i in range(rank.done) if rank.program[i].group == group]
    return {
        "last_enqueued_collective": enqueued[-1] if enqueued else -1,
        "last_started_collective": -1,
        "last_completed_collective": done[-1] if done else -1,
    }


def _entries(
    rank: Rank,
    place: int,
    *,
    collective: int,
    number: int,
    form: Form,
    stacks: Stacks,
) -> list[dict[str, Any]]:
    op = rank.program[place]
    done = place < rank.done
    batch = op.name == "batch"
    state = "scheduled" if batch or form.back_end == "gloo" else "completed"
    if not done:
        state = "started" if place == rank.done and not batch else "scheduled"
        state = "scheduled" if form.back_end == "gloo" else state
    names = [op.name]
    if op.peers:
        own = op.group.ranks.index(rank.rank)
        names = [
            f"send {own}->{op.group.ranks.index(peer)}"
            if sends
            else f"recv {own}<-{op.group.ranks.index(peer)}"
            for peer, sends in op.peers
        ]
        names += ["coalesced"] if batch else []
    return [
        {
            "frames": stacks.setdefault(op.line, _frames(op.line, form.frames)),
            "record_id": 0,
            "pg_id": number,
            "process_group": (op.group.name, op.group.description),
            "collective_seq_id": collective,
            "p2p_seq_id": rank.seqs[place] if op.peers else 0,
            "op_id": place,
            "profiling_name": f"{form.back_end}:{name}",
            "time_created_ns": BASE_NS + place * 1_000_000 + rank.rank,
            "input_sizes": [list(op.size)],
            "input_dtypes": [op.dtype],
            "output_sizes": [list(op.size)],
            "output_dtypes": [op.dtype],
            "state": state,
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": BASE_NS if state == "completed" else None,
            "retired": done and not batch,
            "timeout_ms": 600_000,
            "is_p2p": bool(op.peers),
        }
        for name in names
    ]


def _frames(line: int, count: int) -> list[dict[str, Any]]:
    torch = "/venv/lib/python3.11/site-packages/torch/distributed/"
    frames = [
        {"name": "all_reduce", "filename": torch + "distributed_c10d.py", "line": 3245},
        {"name": "wrapper", "filename": torch + "c10d_logger.py", "line": 83},
        {"name": f"step_{line}", "filename": "/job/train.py", "line": line},
        {"name": "main", "filename": "/job/train.py", "line": 200},
    ]
    more = [
        {"name": f"layer_{i}", "filename": "/job/model.py", "line": 100 + i}
        for i in range(count - len(frames))
    ]
    return frames[:2] + more + frames[2:]


_NEW = ("process_group", "is_p2p", "input_dtypes", "output_dtypes", "p2p_seq_id")


def _old(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of 2.2 and 2.3."""
    old = {key: value for key, value in entry.items() if key not in _NEW}
    old["seq_id"] = old.pop("collective_seq_id")
    old["time_created_us"] = old.pop("time_created_ns") // 1_000
    return old
