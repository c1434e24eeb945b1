"""Restarts and appended runs are separated; every agent announces the same restart."""

from dataclasses import replace
from pathlib import Path

import unhang
from support.builders import at, by, ended, source, timeout
from support.crashes import work
from unhang.assemble import assemble
from unhang.model.events import Event, GlooFault, GlooProblem, Reporter, Restarted
from unhang.model.incident import Manner
from unhang.model.time import Clock


def restart(line: int, artifact: str = "job.log") -> Restarted:
    return Restarted(source=source(line, artifact), origin=by(), attempts_left=1)


def test_a_restart_separates_two_runs() -> None:
    first, second = assemble(
        [ended(1, exit_code=1, line=1), restart(2), ended(2, exit_code=1, line=3)], artifacts=1
    )
    assert [f.rank for f in first.failures] == [1]
    assert [f.rank for f in second.failures] == [2]
    assert (second.incarnation, second.incarnations) == (1, 2)


def test_the_same_restart_announced_by_each_node_is_one() -> None:
    runs = assemble([ended(1, exit_code=1), restart(2), restart(3), restart(4)], artifacts=1)
    assert len(runs) == 2


def test_an_artifact_without_boundaries_tells_of_the_last_run() -> None:
    other = ended(5, exit_code=1)
    other = replace(other, source=source(1, "rank5.log"))
    runs = assemble(
        [ended(1, exit_code=1, line=1), restart(2), ended(2, exit_code=1, line=3), other],
        artifacts=2,
    )
    assert [f.rank for f in runs[0].failures] == [1]
    assert sorted(int(f.rank) for f in runs[1].failures if f.rank is not None) == [2, 5]


def test_the_judge_tells_when_the_last_start_began() -> None:
    """What is dated before it is of the first start, in all files; what has no date follows."""

    def told(rank: int, line: int, seconds: float | None) -> Event:
        when = None if seconds is None else replace(at(seconds), clock=Clock.UTC)
        return replace(ended(rank, exit_code=1, line=line), at=when)

    start = replace(restart(1, "record.json"), at=replace(at(50), clock=Clock.UTC))
    start = replace(start, of_all_files=True)
    before, after = told(1, 1, 20), [told(2, 2, 60), told(3, 3, None)]
    first, second = assemble([start, before, *after], artifacts=2)
    assert [f.rank for f in first.failures] == [1]
    assert sorted(int(f.rank) for f in second.failures if f.rank is not None) == [2, 3]
    healed = assemble([start, before], artifacts=2)
    assert [[f.rank for f in run.failures] for run in healed] == [[1], []]
    assert healed[1].restarted


def test_the_place_of_a_file_tells_its_incarnation() -> None:
    """torchrun keeps the logs of each start in a folder of its own: `attempt_0/`, `attempt_1/`."""
    told = [
        replace(
            ended(rank, exit_code=1),
            source=source(1, f"attempt_{attempt}/{rank}/stderr.log"),
            origin=replace(by(rank), incarnation=attempt),
        )
        for attempt, rank in ((0, 1), (1, 2))
    ]
    first, second = assemble(told, artifacts=2)
    assert [f.rank for f in first.failures] == [1]
    assert [f.rank for f in second.failures] == [2]
    assert second.restarted


def test_work_after_the_launcher_gave_up_is_a_run_that_nobody_announced() -> None:
    again = [work(done, line=10 + done) for done in range(3)]
    first, second = assemble(
        [ended(1, exit_code=1, line=1), *again, ended(2, exit_code=1, line=20)], artifacts=1
    )
    assert [f.rank for f in first.failures] == [1]
    assert [f.rank for f in second.failures] == [2]


def test_work_that_goes_on_is_not_work_that_begins_anew() -> None:
    """Ranks of another node still evaluate, each by itself, when one has failed."""
    before = [work(done, line=done) for done in range(1, 8)]
    after = [work(done, line=10 + done) for done in range(8, 12)]
    assert len(assemble([*before, ended(1, exit_code=1, line=9), *after], artifacts=1)) == 1


def test_ranks_of_other_hosts_may_still_work() -> None:
    lines = [work(done, line=10 + done) for done in range(4)]
    told = [replace(e, origin=replace(e.origin, host="b")) for e in lines]
    left = replace(ended(1, exit_code=1), origin=replace(by(), host="a"))
    assert len(assemble([left, *told], artifacts=1)) == 1


def test_a_bar_from_a_buffer_is_no_new_run() -> None:
    runs = assemble([ended(1, exit_code=1, line=1), work(7, line=2), work(7, line=3)], artifacts=1)
    assert len(runs) == 1


DAY_S = 86_400.0


def in_file(event: Event, artifact: str, when: float | None = None) -> Event:
    moment = event.at if when is None else at(when)
    return replace(event, source=source(1, artifact), at=moment)


def hung(artifact: str, when: float) -> Event:
    """A time-out of ten minutes that was given up at `when`."""
    return in_file(timeout(0, global_rank=0, when=when), artifact)


def test_files_of_two_days_are_two_runs() -> None:
    old = in_file(ended(1, exit_code=1), "old.log", 100.0)
    first, second = assemble([old, hung("new.log", DAY_S)], artifacts=2)
    assert [f.rank for f in first.failures] == [1]
    assert [f.manner for f in second.failures] == [Manner.WATCHDOG]
    assert len(second.calls) == 1


def test_three_runs_in_their_order() -> None:
    runs = assemble([hung("c.log", 2 * DAY_S), hung("a.log", 0), hung("b.log", DAY_S)], artifacts=3)
    assert [run.events[0].source.artifact for run in runs] == ["a.log", "b.log", "c.log"]


def test_a_rank_that_left_when_the_others_began_to_wait_is_of_their_run() -> None:
    left = in_file(ended(1, exit_code=1), "rank1.log", DAY_S - 900)
    (run,) = assemble([left, hung("rank0.log", DAY_S)], artifacts=2)
    assert [f.rank for f in run.failures if f.own] == [1]


def test_an_end_without_a_time_of_its_own_may_be_of_any_run() -> None:
    left = in_file(ended(1, exit_code=1), "rank1.log")
    assert len(assemble([left, hung("rank0.log", DAY_S)], artifacts=2)) == 1


def test_clocks_of_two_zones_are_not_two_runs() -> None:
    left = in_file(ended(1, exit_code=1), "rank1.log", DAY_S - 600 - 8 * 3_600)
    assert len(assemble([left, hung("rank0.log", DAY_S)], artifacts=2)) == 1


def test_a_file_whose_run_went_on_is_not_of_an_earlier_one() -> None:
    told = [in_file(ended(1, exit_code=1), "job.log", 100.0), in_file(work(7), "job.log")]
    assert len(assemble([*told, hung("rank0.log", DAY_S)], artifacts=2)) == 1


def agent_says(child: int, line: int, agent: int = 7) -> Event:
    """`failed (exitcode: 1) local_rank: 0 (pid: 12) of binary: …`, once for each start."""
    told = ended(1, exit_code=1, pid=child, line=line)
    return replace(told, reporter=Reporter.ELASTIC, origin=replace(by(), pid=agent))


def test_an_agent_that_tells_of_two_failures_has_restarted_in_between() -> None:
    refused = GlooFault(source=source(5), origin=by(), problem=GlooProblem.CONNECT_FAILED)
    first, second = assemble([agent_says(11, 1), refused, agent_says(12, 9)], artifacts=1)
    assert not any(isinstance(e, GlooFault) for e in first.events)
    assert second.restarted
    assert second.connected_before


def test_agents_of_two_nodes_tell_of_one_failure() -> None:
    assert len(assemble([agent_says(11, 1), agent_says(12, 9, agent=8)], artifacts=1)) == 1


def test_a_line_that_is_printed_twice_is_no_restart() -> None:
    assert len(assemble([agent_says(11, 1), agent_says(11, 9)], artifacts=1)) == 1


def test_a_job_that_never_connected_has_not_connected_before() -> None:
    refused = [
        GlooFault(source=source(line), origin=by(), problem=GlooProblem.CONNECT_FAILED)
        for line in (1, 5)
    ]
    _, second = assemble(
        [refused[0], agent_says(11, 2), refused[1], agent_says(12, 9)], artifacts=1
    )
    assert second.restarted
    assert not second.connected_before


def test_ranks_that_introduce_themselves_again_after_a_stop(tmp_path: Path) -> None:
    """A requeued job writes on in its file; its bars differ in the epoch alone."""
    start = [f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/2" for r in (0, 1)]
    bars = [f"Epoch {n}: 100%|██████████| 900/900 [06:30<00:00,  3.1it/s]" for n in range(40)]
    stop = [
        "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-03-01T10:00:00 DUE TO PREEMPTION ***",
        "[rank: 1] Received SIGTERM: 15",
    ]

    def outcome(*lines: str) -> str:
        (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
        return unhang.diagnose(str(tmp_path / "job.log")).outcome.value

    assert outcome(*start, *bars[:20], *stop) == "cause"
    assert outcome(*start, *bars[:20], *stop, *start, *bars[20:]) == "undetermined"
    assert outcome(*start, *bars[:20], *stop, *start, *bars[20:], *stop) == "cause"
    assert outcome(*start, *bars[:20], *stop, *start) == "cause", "it did not come to work"


def test_a_file_that_ends_before_the_others_restart_is_of_the_run_before() -> None:
    """The agent that is stopped never sees the restart that misses it."""
    late = in_file(restart(5), "a.log", 107)
    agent = hung("a.log", 106)
    gone = in_file(timeout(1, global_rank=1, when=101), "b.log")
    first, second = assemble([agent, late, gone], 2)
    assert {e.source.artifact for e in first.events} == {"a.log", "b.log"}
    assert gone not in second.events
