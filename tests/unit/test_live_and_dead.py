"""One hang, judged while the job lives and afterwards from its dumps: the same ranks and cause."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import change, die, stall, swap
from benchmarks.recorder_jobs import BASE_NS, Group, Job, Op, mesh, train
from benchmarks.recorder_jobs import Rank as MadeUpRank

import unhang
from support.live_jobs import PLACES, waiting_in
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.job_snapshot import SCHEMA, JobSnapshot
from unhang.live.messages.reports import (
    Beat,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
)
from unhang.model.codec import decode, document, encode
from unhang.model.diagnosis import Diagnosis
from unhang.model.ids import Rank
from unhang.waitgraph import analyse, record

WATCHED_S = 240
STARTED_S = BASE_NS / 1e9


def group_beat(rank: MadeUpRank, group: Group) -> GroupBeat:
    places = [i for i in range(rank.issued) if rank.program[i].group == group]
    done = sum(rank.done_at[i] is not None for i in places)
    return GroupBeat(
        name=group.name,
        desc=group.description,
        ranks=tuple(Rank(r) for r in group.ranks),
        enqueued=len(places),
        completed=done,
    )


def process(rank: MadeUpRank, second: int) -> ProcessReport:
    """What a probe tells of a rank at rest: the call it waits in, or code of the program."""
    still_open = [i for i, done in enumerate(rank.done_at) if done is None]
    stack = PLACES["code"]
    if still_open:
        stack = waiting_in(rank.program[still_open[0]].name)
    groups = {op.group for op in rank.program if not op.peers}
    beat = Beat(
        host="gn0",
        pid=100 + rank.rank,
        process_started_s=1.0,
        rank=Rank(rank.rank),
        world_size=None,
        wall_s=STARTED_S + second,
        mono_s=float(second),
        groups={g.name: group_beat(rank, g) for g in sorted(groups, key=lambda g: g.name)},
        stack=stack,
        cpu_s=5.0,
    )
    facts = ProcessFacts(
        alive=not rank.dead, state=None if rank.dead else "S", cpu_s=5.0, main_cpu_s=4.0
    )
    return ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)


def watched(job: Job) -> JobSnapshot:
    """What the live judge says of a job that has come to rest."""
    monitor = Monitor()
    for second in range(1, WATCHED_S):
        report = NodeReport(
            host="gn0",
            wall_s=STARTED_S + second,
            mono_s=float(second),
            processes=tuple(process(rank, second) for rank in job.ranks),
        )
        monitor.handle(report, float(second))
    return monitor.standing(float(WATCHED_S))


def training() -> Job:
    return Job(train(mesh(8, 2, 1), 6), ahead=1)


def two_groups() -> Job:
    """Two groups of the same ranks, used one after the other in each step."""
    first, second = (Group(n, d, (0, 1, 2, 3)) for n, d in (("1", "tp"), ("2", "dp")))
    program = [Op(g, "all_reduce", line=n, waits=True) for n, g in enumerate((first, second), 20)]
    return Job([MadeUpRank(r, program * 8) for r in range(4)], ahead=1)


def places(job: Job, rank: int, group: str) -> list[int]:
    return [i for i, op in enumerate(job.ranks[rank].program) if op.group.name == group]


def stalled() -> Job:
    job = training()
    stall(job, 3, 20)
    return job


def dead() -> Job:
    job = training()
    die(job, 5, 20)
    return job


def renamed() -> Job:
    job = training()
    change(job, 2, places(job, 2, "0")[3], name="broadcast")
    return job


def swapped() -> Job:
    job = two_groups()
    swap(job, 2, 12, 13)
    return job


JOBS: dict[str, Callable[[], Job]] = {f.__name__: f for f in (stalled, dead, renamed, swapped)}


def both(job: Job, folder: Path) -> tuple[JobSnapshot, Diagnosis, Diagnosis]:
    """The live view, the verdict that its record gives, and that of the dumps."""
    job.run(random.Random(0))
    standing = watched(job)
    (folder / "live").mkdir()
    (folder / "live" / "standing.json").write_text(document(SCHEMA, standing))
    write(job, folder / "dumps", [Form()])
    return standing, unhang.diagnose(str(folder / "live")), unhang.diagnose(str(folder / "dumps"))


@pytest.mark.parametrize("name", JOBS)
def test_both_name_the_same_ranks_and_the_same_cause(name: str, tmp_path: Path) -> None:
    job = JOBS[name]()
    _, live, dumps = both(job, tmp_path)
    assert (live.culprits, dumps.culprits) == (job.culprits, job.culprits)
    assert live.cause is dumps.cause


@pytest.mark.parametrize("seed", range(8))
def test_whoever_stays_away_wherever_is_named_by_both(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    job = training()
    rank = random_.randrange(8)
    fault = random_.choice([stall, die])
    fault(job, rank, random_.randrange(8, len(job.ranks[rank].program) - 4))
    _, live, dumps = both(job, tmp_path)
    assert (live.culprits, dumps.culprits) == (job.culprits, job.culprits)


@pytest.mark.parametrize("name", ["stalled", "dead", "swapped"])
def test_the_recorded_snapshot_comes_to_the_same_ends(name: str, tmp_path: Path) -> None:
    standing, _, dumps = both(JOBS[name](), tmp_path)
    assert standing.snapshot is not None
    kept = record.from_json(record.to_json(standing.snapshot))
    assert kept == standing.snapshot
    assert decode(JobSnapshot, encode(standing)).snapshot == kept
    found = analyse(kept)
    named = {end.rank for end in found.ends} or {r for c in found.cycles for r in c.few}
    assert named == dumps.culprits
