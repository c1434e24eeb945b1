"""Made-up jobs with a known truth: programs of calls, run on hosts and devices with clocks.

Each rank runs a program of calls; its host issues them ahead of its device; the device runs them in
order, and a call is done when all that take part in it have come to it with the same. A job with a
fault runs until nothing moves; a healthy one may be looked at while it does. `recorder_faults` puts
faults in, `recorder_dumps` writes what the recorders of the ranks would.
"""

from __future__ import annotations

import random
from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field

BASE_NS = 1_790_000_000_000_000_000
_CALL_NS = 200_000
"""What a call takes on the device once all have come to it."""


@dataclass(frozen=True)
class Group:
    """A process group."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """One call of a program; `peers` are (peer, sends) of point-to-point operations.

    Attributes:
        sizes: of the single operations of a batch, where they are not all `size`.
        host_ns: what the host does before it issues the call.
        waits: the host goes on when the call is done.
    """

    group: Group
    name: str
    size: tuple[int, ...] = (1000,)
    dtype: str = "Float"
    peers: tuple[tuple[int, bool], ...] = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    line: int = 10
    host_ns: int = 1_000_000
    waits: bool = False

    def size_of(self, index: int) -> tuple[int, ...]:
        """Size of the operation with one of the peers."""
        return self.sizes[index] if self.sizes else self.size


@dataclass
class Rank:
    """One process: its program, and when its host issued and its device did the calls.

    Attributes:
        stop_at: place of the program that the host never comes to.
        device_stops_at: place of the call that the device never begins.
        dead: it leaves no dump.
        seqs: number in its group of each call that was issued.
        issued_at, started_at, done_at: nanoseconds, by place; None for what never was.
    """

    rank: int
    program: list[Op]
    stop_at: int | None = None
    device_stops_at: int | None = None
    dead: bool = False
    seqs: list[int] = field(default_factory=list)
    issued_at: list[int] = field(default_factory=list)
    started_at: list[int | None] = field(default_factory=list)
    done_at: list[int | None] = field(default_factory=list)
    done: int = 0
    queues: dict[Group | None, list[int]] = field(default_factory=dict)
    free_at: dict[Group | None, int] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    counts: dict[tuple[Group, bool], int] = field(default_factory=dict)

    @property
    def issued(self) -> int:
        """How many calls its host has issued."""
        return len(self.seqs)

    def issue(self, at: int, stream: Group | None) -> None:
        """Issue the next call."""
        op = self.program[self.issued]
        key = (op.group, bool(op.peers))
        self.counts[key] = self.counts.get(key, 0) + 1
        self.queues.setdefault(stream, []).append(self.issued)
        self.seqs.append(self.counts[key])
        self.issued_at.append(at)
        self.started_at.append(None)
        self.done_at.append(None)

    def finish(self, place: int, at: int, stream: Group | None) -> None:
        """The device has done the first call of a stream."""
        self.done_at[place] = self.free_at[stream] = at
        self.done += 1
        insort(self.ends, at)
        self.queues[stream].pop(0)


@dataclass
class Job:
    """A job, and which of its ranks hold the others up.

    Attributes:
        ahead: calls that a host may be ahead of its device.
        overlaps: each group has a stream of its own; else a device does one call at a time.
        jitter: share by which the work of hosts varies.
    """

    ranks: list[Rank]
    culprits: frozenset[int] = frozenset()
    ahead: int = 8
    what: str = "healthy"
    overlaps: bool = False
    jitter: float = 0.2

    def run(self, random_: random.Random, steps: int | None = None) -> None:
        """Run until nothing moves, or for so many steps."""
        order = list(self.ranks)
        while steps is None or steps > 0:
            random_.shuffle(order)
            moved = [self._move(rank, random_) for rank in order]
            if not any(moved):
                return
            steps = None if steps is None else steps - 1

    def ended_at(self) -> int:
        """When the last call was issued or done."""
        times = [t for r in self.ranks for t in (*r.issued_at, *r.done_at) if t is not None]
        return max(times, default=BASE_NS)

    def _move(self, rank: Rank, random_: random.Random) -> bool:
        issued = self._issue(rank, random_)
        done = [self._complete(rank, stream) for stream in tuple(rank.queues)]
        return any(done) or issued

    def _issue(self, rank: Rank, random_: random.Random) -> bool:
        place = rank.issued
        limit = len(rank.program) if rank.stop_at is None else rank.stop_at
        if place >= min(limit, rank.done + self.ahead):
            return False
        before = rank.issued_at[-1] if place else BASE_NS
        if place and rank.program[place - 1].waits:
            returned = rank.done_at[-1]
            if returned is None:
                return False
            before = max(before, returned)
        if place >= self.ahead:
            before = max(before, rank.ends[place - self.ahead])
        op = rank.program[place]
        work = op.host_ns * random_.uniform(1 - self.jitter, 1 + self.jitter)
        rank.issue(before + int(work), self._stream(op))
        return True

    def _stream(self, op: Op) -> Group | None:
        return op.group if self.overlaps else None

    def _complete(self, rank: Rank, stream: Group | None) -> bool:
        head = self._head(rank, stream)
        if head is None:
            return False
        together = {rank.rank: head}
        pending = [rank]
        while pending:
            one = pending.pop()
            place = together[one.rank]
            op = one.program[place]
            for peer in _partners(one.rank, op):
                other = self._head(self.ranks[peer], stream)
                if other is None or not _match(one, place, self.ranks[peer], other):
                    return False
                if peer not in together:
                    together[peer] = other
                    if op.peers:
                        pending.append(self.ranks[peer])
        begun = [self.ranks[number].started_at[place] for number, place in together.items()]
        end = max(t for t in begun if t is not None) + _CALL_NS
        for number, place in together.items():
            self.ranks[number].finish(place, end, stream)
        return True

    def _head(self, rank: Rank, stream: Group | None) -> int | None:
        """Place of the call that the device works on; its start is noted."""
        queue = rank.queues.get(stream)
        if not queue:
            return None
        place = queue[0]
        if rank.device_stops_at is not None and place >= rank.device_stops_at:
            return None
        if rank.started_at[place] is None:
            rank.started_at[place] = max(rank.issued_at[place], rank.free_at.get(stream, 0))
        return place


def _partners(rank: int, op: Op) -> list[int]:
    if op.peers:
        return [peer for peer, _ in op.peers]
    return [member for member in op.group.ranks if member != rank]


def _match(one: Rank, place: int, other: Rank, there: int) -> bool:
    op, answer = one.program[place], other.program[there]
    if op.group != answer.group or bool(op.peers) != bool(answer.peers):
        return False
    if op.peers:
        return _pairs(one.rank, op, other.rank, answer)
    mine = (op.name, op.size, op.dtype, one.seqs[place])
    return mine == (answer.name, answer.size, answer.dtype, other.seqs[there])


def _pairs(rank: int, op: Op, peer: int, answer: Op) -> bool:
    """Whether a send meets a receive of as many elements of one type, both ways round."""
    mine = sorted((sends, op.size_of(i)) for i, (p, sends) in enumerate(op.peers) if p == peer)
    others = sorted(
        (not sends, answer.size_of(i)) for i, (p, sends) in enumerate(answer.peers) if p == rank
    )
    return mine == others and op.dtype == answer.dtype


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


def shard(world: int, steps: int, *, layers: int = 4) -> list[Rank]:
    """Programs of fully sharded data parallelism: gathers and scatters of layers of all sizes."""
    group = Group("0", "default_pg", tuple(range(world)))

    def program() -> Iterator[Op]:
        for _ in range(steps):
            for layer in range(layers):
                yield Op(group, "_all_gather_base", (100 * (layer + 1),), line=70 + layer)
            for layer in reversed(range(layers)):
                yield Op(group, "_all_gather_base", (100 * (layer + 1),), line=70 + layer)
                yield Op(group, "_reduce_scatter_base", (100 * (layer + 1),), line=80 + layer)
            yield Op(group, "all_reduce", (1,), line=40, waits=True)
        yield Op(group, "barrier", (1,), line=90)

    return [Rank(rank, list(program())) for rank in range(world)]


def mixture(world: int, ep: int, steps: int) -> list[Rank]:
    """Programs of a mixture of experts: all-to-alls of any size in expert groups, tensor groups."""
    groups = mesh(world, 2, 1)
    numbers = range(500, 500 + world // ep)
    experts = [
        Group(str(n), "ep", tuple(range(i * ep, i * ep + ep))) for i, n in enumerate(numbers)
    ]
    ranks = []
    for rank in range(world):
        tp = next(g for g in groups["tp"] if rank in g.ranks)
        dp = next(g for g in groups["dp"] if rank in g.ranks)
        expert = experts[rank // ep]
        program: list[Op] = []
        for step in range(steps):
            for _ in range(2):
                program.append(Op(tp, "_all_gather_base", (512, 8), line=20))
                program.append(Op(expert, "all_to_all", (37 * step + 11,), line=21))
                program.append(Op(expert, "all_to_all", (13 * step + 5,), line=22))
                program.append(Op(tp, "_reduce_scatter_base", (512, 8), line=23))
            program.append(Op(dp, "all_reduce", (2048,), line=30))
        ranks.append(Rank(rank, program))
    return ranks
