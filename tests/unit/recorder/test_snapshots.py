"""Dumps that were ordered while a job was in progress: a run folder's `dumps/<id>`."""

import json
import os
import random
from pathlib import Path

import pytest
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import change, stall
from benchmarks.recorder_jobs import Job

import unhang
from support.recorder_matrix import loop
from unhang.assemble.recorder.lateness import is_overdue
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import Rank
from unhang.model.recording import LastCall, Recording

SECOND_NS = 1_000_000_000
JSON = Form(as_json=True, name="trace_{}.json".format)


def ordered(job: Job, folder: Path, after_s: float, *forms: Form) -> Diagnosis:
    """Judge what the ranks write when they are asked so long after the last call."""
    job.run(random.Random(0))
    at = job.ended_at() + int(after_s * SECOND_NS)
    write(job, folder / "dumps" / "1", forms or (JSON,), lambda rank: at + 1_000 * rank)
    for rank in job.ranks:
        stack = 'Thread 0x00007f (most recent call first):\n  File "train.py", line 7 in step\n'
        (folder / "dumps" / "1" / f"stack_{rank.rank}.txt").write_text(stack)
    return unhang.diagnose(str(folder / "dumps" / "1"))


@pytest.mark.parametrize("form", [JSON, Form(name="trace_{}".format), Form(back_end="gloo")])
def test_a_rank_that_is_a_moment_late_is_not_accused(tmp_path: Path, form: Form) -> None:
    job = Job(loop(4))
    stall(job, 2, 10)
    diagnosis = ordered(job, tmp_path, 0.0005, form)
    assert (diagnosis.outcome, set(diagnosis.culprits)) == (Outcome.UNDETERMINED, set())


@pytest.mark.parametrize("form", [JSON, Form(name="trace_{}".format), Form(back_end="gloo")])
def test_a_rank_that_stays_away_is(tmp_path: Path, form: Form) -> None:
    job = Job(loop(4))
    stall(job, 2, 10)
    diagnosis = ordered(job, tmp_path, 2.0, form)
    assert (diagnosis.outcome, set(diagnosis.culprits)) == (Outcome.LOCATED, {2})


def test_calls_that_differ_are_proved_at_once(tmp_path: Path) -> None:
    job = Job(loop(4))
    change(job, 1, 10, name="reduce")
    diagnosis = ordered(job, tmp_path, 0.0001)
    assert (diagnosis.cause, set(diagnosis.culprits)) == (Cause.DESYNC, {1})


def test_the_report_says_how_long_the_rank_had_rested(tmp_path: Path) -> None:
    job = Job(loop(4))
    stall(job, 2, 10)
    located = ordered(job, tmp_path, 5.0, Form(name="trace_{}".format)).located
    assert located is not None
    assert located.why.key == "LOC101.why_place_live"
    rested = located.why.values["rested"]
    assert isinstance(rested, float)
    assert rested == pytest.approx(5.0, abs=0.1)


def test_a_dump_from_before_the_call_tells_nothing_of_it(tmp_path: Path) -> None:
    """Rank 3 was asked three seconds before the others, which went on and then stopped."""
    job = Job(loop(4, steps=4), ahead=1)
    job.run(random.Random(0))
    end = job.ended_at()
    early = sorted(job.ranks[3].issued_at)[5]
    write(job, tmp_path, [JSON], lambda rank: early if rank == 3 else end + SECOND_NS)
    assert unhang.diagnose(str(tmp_path)).culprits == frozenset()


def test_the_time_of_a_file_counts_beside_marks_only(tmp_path: Path) -> None:
    job = Job(loop(4))
    stall(job, 2, 10)
    assert ordered(job, tmp_path, 0.0005, Form(name="trace_{}".format)).culprits == frozenset()
    (tmp_path / "dumps" / "1" / "done_node0-1").unlink()
    assert unhang.diagnose(str(tmp_path / "dumps" / "1")).culprits == {2}


def test_of_two_orders_the_later_one_counts(tmp_path: Path) -> None:
    """The first one was taken while rank 2 was already late, by chance; then the job went on."""
    job = Job(loop(4))
    stall(job, 2, 12)
    ordered(job, tmp_path, 1.0)
    assert unhang.diagnose(str(tmp_path)).culprits == {2}
    later = Job(loop(4))
    later.run(random.Random(0))
    at = later.ended_at() + 3 * SECOND_NS
    write(later, tmp_path / "dumps" / "2", [JSON], lambda rank: at)
    assert unhang.diagnose(str(tmp_path)).culprits == frozenset()


def test_a_time_that_is_none_is_passed_over(tmp_path: Path) -> None:
    job = Job(loop(4))
    stall(job, 2, 10)
    ordered(job, tmp_path, 0.0005)
    folder = tmp_path / "dumps" / "1"
    (folder / "done_node0-1").unlink()
    for file in folder.glob("trace_*"):
        tree = json.loads(file.read_text())
        file.write_text(json.dumps({**tree, "unhang_taken_s": "now"}))
        os.utime(file, (0, 0))
    assert unhang.diagnose(str(folder)).culprits == {2}


@pytest.mark.parametrize(
    ("taken_s", "pause_s", "overdue"),
    [
        (None, 0.1, True),
        (100.2, 0.1, False),
        (100.4, 0.1, True),
        (130.0, 20.0, False),
        (109.0, None, False),
        (111.0, None, True),
        (99.0, 0.1, False),
    ],
)
def test_overdue(taken_s: float | None, pause_s: float | None, overdue: bool) -> None:
    last = LastCall(group="0", seq=4, op="all_reduce", created_s=100.0)
    found = Recording(rank=Rank(0), artifact="x", last=last, taken_s=taken_s, pause_s=pause_s)
    assert is_overdue(found) is overdue
