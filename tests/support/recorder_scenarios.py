"""Random jobs with known culprits, for property-like tests of Flight Recorder dumps."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import change, die, leave_out, stall
from benchmarks.recorder_jobs import Job, Op, mesh, ring, train

from unhang.assemble import assemble
from unhang.engine.gather import gather
from unhang.model.incident import Incident
from unhang.model.recorder_analysis import RecorderAnalysis
from unhang.sources.discover import discover

SHAPES = ((4, 1, 1), (8, 2, 1), (8, 2, 2), (16, 4, 2), (6, 1, 3), (8, 8, 1))
NAMES: tuple[Callable[[int], str], ...] = (
    "nccl_trace_rank_{}".format,
    "comm_lib_trace_rank_{}".format,
    "_dump_{}".format,
    "node7-a_rank_{}.pkl".format,
    "trace_{}".format,
)
FAULTS = ("healthy", "stall", "die", "name", "size", "dtype", "leave out")


@dataclass(frozen=True)
class Scenario:
    """A job that has come to rest, and how its dumps are written."""

    job: Job
    forms: tuple[Form, ...]


def incident_of(folder: Path) -> Incident:
    """The incident that a folder of dumps makes."""
    gathered = gather(discover([str(folder)]))
    return assemble(gathered.events, len(gathered.artifacts))[0]


def recorded_of(folder: Path) -> RecorderAnalysis:
    """Where the job of a folder of dumps stands."""
    found = incident_of(folder).recorded
    assert found is not None
    return found


def written(job: Job, folder: Path, *forms: Form) -> Path:
    """Run a job to its end and write its dumps."""
    job.run(random.Random(0))
    write(job, folder, forms or (Form(),))
    return folder


def training(world: int = 8, tp: int = 2, pp: int = 1, steps: int = 5, ahead: int = 8) -> Job:
    """A training job without a fault."""
    return Job(train(mesh(world, tp, pp), steps), ahead=ahead)


def places(job: Job, rank: int, wanted: Callable[[Op], bool]) -> list[int]:
    """Places in a rank's program, not at its ends."""
    program = job.ranks[rank].program
    return [i for i in range(2, len(program) - 1) if wanted(program[i])]


def scenario(seed: int, fault: str) -> Scenario:
    """A random job with one fault, and random forms of its dumps."""
    random_ = random.Random(f"{seed} {fault}")
    rings = fault in ("healthy", "stall") and random_.random() < 0.2
    shape = random_.choice(SHAPES)
    steps = random_.randint(3, 20)
    ranks = ring(random_.randint(3, 8), steps) if rings else train(mesh(*shape), steps)
    job = Job(ranks, ahead=random_.choice([1, 3, 8]))
    _break(job, fault, random_)
    job.run(random_)
    buffer = 2000 if rings else random_.choice([2000, 64])
    forms = tuple(
        Form(
            version=random_.choice(["2.4", "2.9", "2.10"]),
            buffer=buffer,
            as_json=random_.random() < 0.2,
            offset=37 * index,
            name=random_.choice(NAMES),
        )
        for index in range(random_.choice([1, 1, 3]))
    )
    return Scenario(job, forms)


def _break(job: Job, fault: str, random_: random.Random) -> None:
    rank = random_.randrange(len(job.ranks))
    collective = places(job, rank, lambda op: not op.peers and len(op.group.ranks) > 2)
    place = random_.choice(collective)
    match fault:
        case "stall":
            stall(job, rank, place)
        case "die":
            die(job, rank, place)
        case "name":
            change(job, rank, place, name="broadcast")
        case "size":
            change(job, rank, place, size=(7,))
        case "dtype":
            change(job, rank, place, dtype="Half")
        case "leave out":
            leave_out(job, rank, place)
        case _:
            pass
