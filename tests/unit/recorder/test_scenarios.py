"""Over random jobs: the culprits are named, and never anybody else."""

import random
from pathlib import Path

import pytest
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import change, die, stall
from benchmarks.recorder_jobs import Group, Op, Rank, ring
from benchmarks.recorder_jobs import Job as MadeUpJob

import unhang
from support.recorder_scenarios import (
    FAULTS,
    incident_of,
    places,
    recorded_of,
    scenario,
    training,
    written,
)
from unhang.model.recorder_analysis import RecorderAnalysis, SuspectRole
from unhang.verdict.rule_results import judge

DATA = Path(__file__).resolve().parents[2] / "data" / "recorder"
SEEDS = range(40)
MOST_MISSED = {"healthy": 0, "stall": 0, "die": 0, "name": 0, "size": 0, "dtype": 0, "leave out": 6}


def named(found: RecorderAnalysis) -> frozenset[int]:
    if found.analysis.mismatches:
        return frozenset(r for d in found.analysis.mismatches for r in d.odd)
    if found.suspects:
        return frozenset(s.rank for s in found.suspects)
    return found.cycle_odd


@pytest.mark.process
@pytest.mark.parametrize("fault", FAULTS)
def test_random_jobs(tmp_path: Path, fault: str) -> None:
    missed = 0
    for seed in SEEDS:
        made = scenario(seed, fault)
        folder = tmp_path / str(seed)
        write(made.job, folder, made.forms)
        found = named(recorded_of(folder))
        assert found <= made.job.culprits, f"seed {seed}: an innocent rank is named"
        missed += found != made.job.culprits
    assert missed <= MOST_MISSED[fault]


@pytest.mark.parametrize(("name", "culprits"), [("healthy", set()), ("stall", {1}), ("size", {2})])
def test_dumps_that_gloo_wrote(name: str, culprits: set[int]) -> None:
    diagnosis = unhang.diagnose(str(DATA / name))
    assert diagnosis.culprits == culprits
    assert diagnosis.coverage.sources["flight_recorder"] == len(list((DATA / name).iterdir()))


@pytest.mark.parametrize("rank", [0, 3, 7])
def test_the_odd_rank_may_stand_first_or_last(tmp_path: Path, rank: int) -> None:
    job = training()
    change(job, rank, places(job, rank, lambda op: op.group.name == "0")[1], size=(9,))
    assert unhang.diagnose(str(written(job, tmp_path))).culprits == {rank}


def test_of_two_ranks_that_cross_two_groups_the_one_that_left_its_order_is_odd(
    tmp_path: Path,
) -> None:
    """The groups have the same members, and no description but torch's own."""
    groups = [Group(name, "undefined", (0, 1)) for name in ("1", "2")]
    steps = [Op(group, "all_reduce") for group in groups] * 8
    crossed = [*steps[:14], steps[15], steps[14]]
    folder = written(MadeUpJob([Rank(0, steps), Rank(1, crossed)]), tmp_path)
    assert recorded_of(folder).cycle_odd == {1}


def test_victims_are_folded_behind_the_root(tmp_path: Path) -> None:
    job = training(world=16, tp=4, pp=2)
    stall(job, 5, 20)
    found = recorded_of(written(job, tmp_path))
    assert [s.rank for s in found.suspects] == [5]
    assert found.held_up == frozenset(range(16)) - {5}


def test_a_dump_of_another_time_accuses_nobody(tmp_path: Path) -> None:
    """Rank 3 was asked for its dump long before the others: these went on since."""
    job = training(world=4, tp=1, steps=12, ahead=1)
    job.run(random.Random(1), steps=10)
    early = tmp_path / "early"
    write(job, early, [Form()])
    job.run(random.Random(1), steps=20)
    write(job, tmp_path / "late", [Form()])
    (early / "nccl_trace_rank_3").replace(tmp_path / "late" / "nccl_trace_rank_3")
    assert recorded_of(tmp_path / "late").suspects == ()


def test_an_empty_or_a_cut_dump_does_not_hide_the_culprit(tmp_path: Path) -> None:
    job = training(world=8, steps=8)
    stall(job, 2, 30)
    written(job, tmp_path)
    (tmp_path / "nccl_trace_rank_0").write_bytes(b"")
    whole = (tmp_path / "nccl_trace_rank_5").read_bytes()
    (tmp_path / "nccl_trace_rank_5").write_bytes(whole[: len(whole) // 2])
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.culprits == {2}
    assert any("is cut" in problem.message for problem in diagnosis.problems)


def test_missing_dumps_of_most_ranks_accuse_nobody(tmp_path: Path) -> None:
    job = training(world=8, steps=4)
    stall(job, 2, 12)
    written(job, tmp_path)
    for rank in range(8):
        if rank not in (0, 1):
            (tmp_path / f"nccl_trace_rank_{rank}").unlink()
    assert recorded_of(tmp_path).suspects == ()


def test_both_forms_of_one_rank_count_once_and_stacks_are_kept(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    stall(job, 1, 6)
    written(job, tmp_path, Form(name="trace_{}".format))
    write(job, tmp_path, [Form(name="json_{}.json".format, as_json=True, frames=0)])
    found = recorded_of(tmp_path)
    assert len(found.recordings) == 4
    assert all(r.has_frames for r in found.recordings.values())


def test_a_batched_ring(tmp_path: Path) -> None:
    healthy = MadeUpJob(ring(5, 6))
    assert recorded_of(written(healthy, tmp_path / "healthy")).suspects == ()
    stuck = MadeUpJob(ring(5, 6))
    stall(stuck, 3, 6)
    assert named(recorded_of(written(stuck, tmp_path / "stuck"))) == {3}


def test_the_place_of_the_culprit_is_said(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    stall(job, 1, 6)
    incident = incident_of(written(job, tmp_path))
    finding = next(f for f in judge(incident).findings if f.rule == "LOC101")
    assert "/job/train.py" in str(finding.why.values["here"])
    assert incident.recorded is not None
    assert incident.recorded.suspects[0].role is SuspectRole.ABSENT


def test_a_dead_rank_is_a_suspect_only_without_its_dump(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    die(job, 3, 6)
    (suspect,) = recorded_of(written(job, tmp_path)).suspects
    assert (suspect.rank, suspect.role) == (3, SuspectRole.SILENT)
