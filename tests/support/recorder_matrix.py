"""A wide matrix of made-up jobs: every kind of fault, in every form of dumps, with the truth."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import (
    break_device,
    change,
    cut_short,
    die,
    leave_out,
    put_in,
    stall,
    swap,
)
from benchmarks.recorder_jobs import Group, Job, Op, Rank, mesh, mixture, ring, shard, train

END = 90
"""Line of the barrier that ends a program."""


def loop(world: int, steps: int = 6) -> list[Rank]:
    """A plain loop of three calls of all ranks, and a barrier."""
    group = Group("0", "default_pg", tuple(range(world)))
    step = [
        Op(group, "all_reduce", (1000,), line=10),
        Op(group, "broadcast", (64,), line=11),
        Op(group, "_all_gather_base", (32,), line=12),
    ]
    end = [Op(group, "barrier", (1,), line=END)]
    return [Rank(rank, step * steps + end) for rank in range(world)]


PROGRAMS: dict[str, Callable[[], list[Rank]]] = {
    "loop-3": lambda: loop(3),
    "loop-4": lambda: loop(4),
    "loop-16": lambda: loop(16),
    "tp-8": lambda: train(mesh(8, 2, 1), 8),
    "tp-pp-16": lambda: train(mesh(16, 2, 2), 8),
    "pipe-4": lambda: train(mesh(4, 1, 4), 10),
    "pipe-8": lambda: train(mesh(8, 1, 4), 10),
    "ring-5": lambda: ring(5, 12),
    "fsdp-8": lambda: shard(8, 4),
    "moe-16": lambda: mixture(16, 8, 6),
}
FORMS: dict[str, tuple[Form, ...]] = {
    "2.10": (Form(),),
    "2.10 json": (Form(as_json=True),),
    "2.9 active": (Form(version="2.9", active=True, timed=False),),
    "2.4 shifted": (Form(version="2.4", offset=37), Form(version="2.4")),
    "2.1": (Form(version="2.1"),),
    "1.4": (Form(version="1.4"),),
    "1.0": (Form(version="1.0"),),
    "mixed": (Form(version="2.4", as_json=True), Form(), Form(version="2.9", offset=9)),
    "old and new": (Form(version="1.4"), Form()),
    "wrapped": (Form(buffer=20),),
    "hosts": (Form(name="gpu-07_nccl_trace_rank_{}.node12".format),),
    "gloo": (Form(back_end="gloo"),),
    "global": (Form(global_numbers=True, batch_ends="stated"),),
    "late marks": (Form(batch_ends="none", retires_after_ns=100_000_000),),
}
LOSSES = ("", "missing", "empty", "cut")
POSITIONS = ("first", "middle", "last")


@dataclass(frozen=True)
class Case:
    """One job, broken in one way, whose dumps are written in one form.

    Attributes:
        loss: what became of the dump of a rank that is not guilty.
    """

    program: str
    fault: str
    position: str = "first"
    form: str = "2.10"
    loss: str = ""

    def __str__(self) -> str:
        parts = (self.program, self.fault, self.position, self.form, self.loss)
        return " ".join(part for part in parts if part != "")

    @property
    def is_decided(self) -> bool:
        """Whether the dumps surely tell who is guilty."""
        if self.fault in ("healthy", "running"):
            return True
        pairs = self.fault.startswith("pair") and self.loss != ""
        small = self.program == "loop-3" or (self.program == "loop-4" and self.loss != "")
        blind = self.form in ("1.0", "1.4", "2.9 active", "wrapped", "gloo", "old and new")
        return self.fault in _DECIDED and not (pairs or small or blind)

    @property
    def is_possible(self) -> bool:
        """Whether there are such jobs, and enough of them are seen to tell anything at all."""
        paired = self.program.startswith(("pipe", "ring", "tp-pp"))
        if self.form == "gloo" and paired:
            return False  # Gloo records no sends and receives
        if self.fault.startswith("pair") and not paired:
            return False
        # Two ranks are left, of which one goes on: which of them is odd nobody can tell.
        return not (self.program == "loop-3" and self.fault == "uneven more" and self.loss != "")


@dataclass(frozen=True)
class Made:
    """What a case left: the guilty ranks, and the one whose dump was lost."""

    culprits: frozenset[int]
    lost: frozenset[int] = frozenset()


def make(case: Case, folder: Path) -> Made:
    """Run the job of a case and write its dumps."""
    random_ = random.Random(str(case))
    job = Job(PROGRAMS[case.program](), ahead=random_.choice([2, 6, 12, 40]))
    job.overlaps = random_.random() < 0.3
    odd = {"first": 0, "middle": len(job.ranks) // 2, "last": len(job.ranks) - 1}[case.position]
    _FAULTS[case.fault](job, odd, random_)
    job.run(random_)
    at = None
    if case.fault == "running":
        moment, late = _moment(job, random_), random_.choice([0, 3_000_000, 300_000_000])
        skews = [random_.randint(0, late) for _ in job.ranks]

        def at(rank: int) -> int:
            return moment + skews[rank]

    write(job, folder, FORMS[case.form], at)
    finished = all(rank.done == len(rank.program) for rank in job.ranks)
    lost = _lose(case, folder, job, random_)
    return Made(frozenset() if finished else job.culprits, lost)


def _moment(job: Job, random_: random.Random) -> int:
    """Some time in the middle of a job."""
    times = sorted(t for rank in job.ranks for t in rank.issued_at)
    return random_.randint(times[len(times) // 3], times[len(times) * 2 // 3])


def _lose(case: Case, folder: Path, job: Job, random_: random.Random) -> frozenset[int]:
    if case.loss == "":
        return frozenset()
    rank = random_.choice([r.rank for r in job.ranks if r.rank not in job.culprits])
    file = folder / FORMS[case.form][rank % len(FORMS[case.form])].name(rank)
    data = file.read_bytes()
    kept = {"missing": 0.0, "empty": 0.0, "cut": random_.uniform(0.1, 0.95)}[case.loss]
    file.write_bytes(data[: int(len(data) * kept)])
    if case.loss == "missing":
        file.unlink()
    return frozenset({rank})


def _shared(job: Job, odd: int, random_: random.Random) -> int:
    """Place of a collective of more than two ranks."""
    program = job.ranks[odd].program
    return random_.choice(
        [
            i
            for i, op in enumerate(program[1:-2], 1)
            if not op.peers and len(op.group.ranks) > 2 and op.name != "all_to_all"
        ]
    )


def _anywhere(job: Job, odd: int, random_: random.Random) -> int:
    return random_.randrange(2, len(job.ranks[odd].program) - 2)


def _last_step(program: Sequence[Op]) -> slice:
    """Where the last step stands: steps end with the same line."""
    end = sum(op.line != END for op in program)
    line = program[end - 1].line
    return slice(max(i + 1 for i in range(end - 1) if program[i].line == line), end)


def _other_name(job: Job, odd: int, random_: random.Random) -> None:
    place = _shared(job, odd, random_)
    is_broadcast = job.ranks[odd].program[place].name == "broadcast"
    change(job, odd, place, name="all_reduce" if is_broadcast else "broadcast")


def _one_more(job: Job, odd: int, random_: random.Random) -> None:
    place = _shared(job, odd, random_)
    group = job.ranks[odd].program[place].group
    put_in(job, odd, place, Op(group, "all_reduce", (3,), line=99))


def _one_batch_less(job: Job, odd: int, _random: random.Random) -> None:
    step = _last_step(job.ranks[odd].program)
    cut_short(job, odd, step.start, step.stop)


def _one_batch_more(job: Job, odd: int, _random: random.Random) -> None:
    for rank in job.ranks:
        step = _last_step(rank.program)
        del rank.program[step.stop :]
        if rank.rank != odd:
            del rank.program[step]
    job.culprits, job.what = frozenset({odd}), "uneven more"


def _other_order(job: Job, odd: int, random_: random.Random) -> None:
    program = job.ranks[odd].program
    at = random_.choice([i for i, (a, b) in enumerate(pairwise(program)) if a != b and i > 2])
    swap(job, odd, at, at + 1)


def _other_pair(job: Job, odd: int, random_: random.Random, **fields: object) -> None:
    program = job.ranks[odd].program
    place = random_.choice([i for i, op in enumerate(program) if op.peers and i > 2])
    op = program[place]
    if fields:
        change(job, odd, place, **fields)
    elif len(op.peers) == 1:
        change(job, odd, place, size=(7,))
    else:
        change(job, odd, place, sizes=tuple((7,) if sends else op.size for _, sends in op.peers))


_FAULTS: dict[str, Callable[[Job, int, random.Random], None]] = {
    "healthy": lambda job, odd, random_: None,
    "running": lambda job, odd, random_: None,
    "stall": lambda job, odd, random_: stall(job, odd, _anywhere(job, odd, random_)),
    "died": lambda job, odd, random_: die(job, odd, _anywhere(job, odd, random_)),
    "op": _other_name,
    "size": lambda job, odd, random_: change(job, odd, _shared(job, odd, random_), size=(7,)),
    "dtype": lambda job, odd, random_: change(job, odd, _shared(job, odd, random_), dtype="Half"),
    "left out": lambda job, odd, random_: leave_out(job, odd, _anywhere(job, odd, random_)),
    "put in": _one_more,
    "uneven": _one_batch_less,
    "uneven more": _one_batch_more,
    "order": _other_order,
    "pair size": _other_pair,
    "pair type": lambda job, odd, random_: _other_pair(job, odd, random_, dtype="Half"),
    "device": lambda job, odd, random_: break_device(job, odd, _anywhere(job, odd, random_)),
}
_DECIDED = frozenset({"stall", "op", "size", "dtype", "put in", "pair size", "pair type"})


def cases() -> Iterator[Case]:
    """The whole matrix, about seven thousand."""
    for program in PROGRAMS:
        for fault in _FAULTS:
            for position in POSITIONS:
                for form in FORMS:
                    yield Case(program, fault, position, form)
                for loss in LOSSES[1:]:
                    yield Case(program, fault, position, "2.10", loss)


def some(program: str, seed: int) -> Iterator[Case]:
    """One case of each fault in a program, and of each fault one with a loss; others each seed."""
    random_ = random.Random(f"{program} {seed}")
    for fault in _FAULTS:
        position = random_.choice(POSITIONS)
        yield Case(program, fault, position, random_.choice(sorted(FORMS)))
        yield Case(program, fault, position, "2.10", random_.choice(LOSSES))
