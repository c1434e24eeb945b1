"""DSY101-DSY103: calls that differ, circles and uneven loops, by the dumps."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.recorder_faults import change, leave_out, stall
from benchmarks.recorder_jobs import Group, Job, Op, Rank

from support.recorder_scenarios import incident_of, places, recorded_of, training, written
from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank as RankNumber
from unhang.model.incident import Failure, Incident, Manner
from unhang.rules.desync.recorded_calls_differ import check as DSY101
from unhang.rules.desync.recorded_circle import check as DSY102
from unhang.rules.desync.recorded_uneven import check as DSY103

WORLD = Group("0", "default_pg", (0, 1, 2, 3))


def findings(incident: Incident) -> list[Finding]:
    return [f for rule in (DSY101, DSY102, DSY103) for f in rule.check(incident)]


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("name", "broadcast", "DSY101.claim_operation"),
        ("size", (77,), "DSY101.claim_size"),
        ("dtype", "Half", "DSY101.claim_type"),
    ],
)
def test_the_odd_rank_is_named(tmp_path: Path, field: str, value: object, key: str) -> None:
    job = training(world=4, tp=1)
    change(job, 0, places(job, 0, lambda op: op.group.name == "0")[0], **{field: value})
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, finding.strength, set(finding.culprits)) == (
        "DSY101",
        Strength.PROVES,
        {0},
    )
    assert finding.claim.key == key


def test_two_camps_of_one_size_name_nobody(tmp_path: Path) -> None:
    job = training(world=4, tp=1)
    place = places(job, 0, lambda op: op.group.name == "0")[0]
    for rank in (0, 1):
        change(job, rank, place, size=(77,))
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert finding.culprits == frozenset()
    assert finding.why.key == "DSY101.why_tied"


def two_ways(few: tuple[int, ...], odd: list[Op], steps: int = 5) -> Job:
    """Some ranks issue other calls instead of one more step, and as many others that step."""
    everybody = range(2 * len(few))
    group = Group("0", "default_pg", tuple(everybody))
    step = [Op(group, "all_reduce"), Op(group, "all_reduce", (9,))]
    job = Job([Rank(r, step * (steps - (r in few))) for r in everybody])
    for rank in few:
        job.ranks[rank].program.extend(replace(op, group=group) for op in odd)
    return job


@pytest.mark.parametrize("few", [(1,), (0, 2)])
def test_of_two_sides_of_one_size_the_one_out_of_rhythm_is_odd(
    tmp_path: Path, few: tuple[int, ...]
) -> None:
    """What all had always issued at this point was due; a first barrier may end the steps."""
    found = findings(incident_of(written(two_ways(few, [Op(WORLD, "barrier", (1,))]), tmp_path)))
    assert {(f.rule, f.cause, f.culprits) for f in found} == {
        ("DSY101", Cause.DESYNC, frozenset(few)),
        ("DSY103", Cause.UNEVEN_WORK, frozenset(few)),
    }
    differs = next(f for f in found if f.rule == "DSY101")
    assert differs.strength is Strength.SUPPORTS
    assert differs.against is not None
    assert differs.against.key == "DSY101.against_rhythm"


def test_who_leaves_the_first_call_of_a_step_out_is_odd_by_its_second(tmp_path: Path) -> None:
    job = two_ways((0,), [Op(WORLD, "all_reduce", (9,))])
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, set(finding.culprits)) == ("DSY101", {0})


def test_where_no_rhythm_has_begun_two_sides_name_nobody(tmp_path: Path) -> None:
    job = two_ways((1,), [Op(WORLD, "barrier", (1,))], steps=1)
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, set(finding.culprits)) == ("DSY101", set())


def test_sister_groups_decide_between_two(tmp_path: Path) -> None:
    job = training(world=8, tp=2)
    change(job, 5, places(job, 5, lambda op: op.group.description == "tp")[0], size=(77,))
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert finding.culprits == {5}


def test_a_call_that_was_left_out_shows_in_the_later_ones(tmp_path: Path) -> None:
    ops = [Op(WORLD, f"op_{i % 5}") for i in range(40)]
    job = Job([Rank(r, list(ops)) for r in range(4)], ahead=12)
    leave_out(job, 2, 17)
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert finding.culprits == {2}
    assert (finding.why.key, finding.why.values["count"]) == ("DSY101.why_left_out", 1)


def test_a_rank_that_stands_in_the_barrier_after_the_loop(tmp_path: Path) -> None:
    step = [Op(WORLD, "all_reduce"), Op(WORLD, "all_reduce", (9,))]
    end = [Op(WORLD, "barrier", (1,))]
    job = Job([Rank(r, step * (5 - (r == 1)) + end) for r in range(4)])
    found = findings(incident_of(written(job, tmp_path)))
    uneven = next(f for f in found if f.rule == "DSY103")
    assert (uneven.cause, set(uneven.culprits)) == (Cause.UNEVEN_WORK, {1})
    assert Cause.DESYNC in uneven.explains


def test_one_that_goes_on_alone(tmp_path: Path) -> None:
    step = [Op(WORLD, "all_reduce")]
    job = Job([Rank(r, step * (5 + (r == 3))) for r in range(4)])
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, set(finding.culprits)) == ("DSY103", {3})


def test_ranks_whose_call_a_link_broke_are_not_behind(tmp_path: Path) -> None:
    """A call that failed is no longer open on the rank that gave it up."""
    step = [Op(WORLD, "all_reduce")]
    job = Job([Rank(r, step * (5 + (r == 3))) for r in range(4)])
    whole = incident_of(written(job, tmp_path))
    failed = Failure(
        rank=RankNumber(1),
        host=None,
        local_rank=None,
        pid=None,
        manner=Manner.PEER,
        at=None,
        events=(),
        order=0,
    )
    assert findings(replace(whole, failures=(failed,))) == []


def test_groups_in_different_orders(tmp_path: Path) -> None:
    """Each of two ranks waits in the group that the other has not come to."""
    a, b = Group("1", "a", (0, 1)), Group("2", "b", (0, 1))
    orders = ([a, b], [b, a])
    job = Job([Rank(r, [Op(group, "all_reduce") for group in orders[r]]) for r in (0, 1)], ahead=1)
    (finding,) = findings(incident_of(written(job, tmp_path)))
    assert (finding.rule, finding.cause) == ("DSY102", Cause.PG_DEADLOCK)
    assert finding.culprits == frozenset()


def test_a_stall_is_none_of_these(tmp_path: Path) -> None:
    job = training(world=8)
    stall(job, 3, 12)
    assert findings(incident_of(written(job, tmp_path))) == []


def test_a_rank_without_a_dump_may_be_one_of_the_few(tmp_path: Path) -> None:
    """Two ranks against one in the last barrier, and the fourth left no dump."""
    job = training(world=4, tp=1)
    change(job, 1, len(job.ranks[1].program) - 1, name="reduce")
    folder = written(job, tmp_path)
    (whole,) = recorded_of(folder).analysis.mismatches
    assert sorted(whole.odd) == [1]
    (folder / "nccl_trace_rank_3").unlink()
    (cut,) = recorded_of(folder).analysis.mismatches
    assert not cut.odd


@pytest.mark.parametrize(("line", "named"), [(40, {1}), (5, set())])
def test_of_two_who_calls_from_a_new_place_is_odd_where_kinds_tell_nothing(
    line: int, named: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gather of that kind came before, as a framework makes one at its start."""

    def frames(line: int, _: int) -> list[dict[str, object]]:
        return [{"name": "main", "filename": "/job/train.py", "line": line}]

    monkeypatch.setattr("benchmarks.recorder_dumps._frames", frames)
    pair = Group("0", "default_pg", (0, 1))
    step, gather = Op(pair, "all_reduce", line=5), Op(pair, "all_gather", line=2)
    job = Job([Rank(r, [gather, *[step] * (40 - r)]) for r in (0, 1)])
    job.ranks[1].program.append(replace(gather, line=line))
    written(job, tmp_path)
    differs = next(f for f in findings(incident_of(tmp_path)) if f.rule == "DSY101")
    assert set(differs.culprits) == named
    assert differs.strength is (Strength.SUPPORTS if named else Strength.PROVES)


@pytest.mark.parametrize(
    "told",
    [[{"name": "main", "filename": "/job/train.py"}], []],
    ids=["recorded", "by-stacks"],
)
@pytest.mark.parametrize(
    ("loops", "has_left"),
    [
        ((), True),
        (((4, 9),), False),  # the barrier is a line of the loop
        (((4, 9), (4, 6)), True),  # of an outer one, and rank 1 has left the inner one
        (((4, 6),), True),
    ],
)
def test_who_breaks_the_order_of_calls_is_named_and_may_have_left_the_loop(
    loops: tuple[tuple[int, int], ...],
    has_left: bool,
    told: list[dict[str, object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stacks of calls may come later than the calls; those of threads are there by then."""

    def frames(line: int, _: int) -> list[dict[str, object]]:
        return [{**frame, "line": line} for frame in told]

    monkeypatch.setattr("benchmarks.recorder_dumps._frames", frames)
    pair = Group("0", "default_pg", (0, 1))
    step = Op(pair, "all_reduce", line=5)
    job = Job([Rank(r, [step] * (5 - r)) for r in (0, 1)])
    job.ranks[1].program.append(Op(pair, "barrier", (1,), line=8))
    stood = [f"in the loop of lines {a}-{b} of main, file /job/train.py" for a, b in loops]
    written(job, tmp_path)
    for rank, line in ((0, 5), (1, 8)):
        stack = [f"=== Rank {rank} (pid 7{rank}) ===", "Thread 0x7f01 (most recent call first):"]
        stack += [f'  File "/job/train.py", line {line} in main', "", *stood, ""]
        (tmp_path / f"stack_{rank}.txt").write_text("\n".join(stack))
    found = findings(incident_of(tmp_path))
    assert set().union(*(f.culprits for f in found)) == {1}
    assert ("DSY103" in {f.rule for f in found}) is has_left
    differs = next(f for f in found if f.rule == "DSY101")
    assert (differs.strength, differs.against is None) == (Strength.SUPPORTS, False)
