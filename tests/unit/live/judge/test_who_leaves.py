"""A rank that ended proves a hang only where a call needs it and has not had its part."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from support.live_jobs import PLACES, Act, Job, Worker, waiting_in, watch
from unhang.live.judge.monitor import Monitor
from unhang.live.judge.track import Track, begin
from unhang.live.judge.waits import find_waits, surely_lacks
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.inputs import OutputEnded
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.model.ids import Rank, Ranks
from unhang.model.waits import Wait

ALL = (Rank(0), Rank(1), Rank(2))
WAITS_AT_STORE = (FramePlace("/home/u/train.py", 70, "meet"), FramePlace("train.py", 9, "<module>"))


def rank(
    number: int,
    stack: tuple[FramePlace, ...],
    *groups: GroupBeat,
    exit_code: int | None = None,
    calling: str | None = None,
) -> Track:
    beat = Beat(
        host="gn1",
        pid=40 + number,
        rank=Rank(number),
        stack=stack,
        calling=calling,
        groups={group.name: group for group in groups},
        state="running" if exit_code is None else "exiting",
    )
    facts = ProcessFacts(alive=exit_code is None, state="S", exit_code=exit_code)
    track = begin(ProcessReport(beat=beat, facts=facts, beats=9, beat_age_s=0.0), 0.0)
    still = track.still
    still.whole_s = still.place_s = still.calls_s = still.ended_s = 40.0
    return track


def world(enqueued: int | None, completed: int | None, ranks: tuple[Rank, ...] = ALL) -> GroupBeat:
    return GroupBeat(name="0", ranks=ranks, enqueued=enqueued, completed=completed)


def lacking(*tracks: Track) -> tuple[Wait, bool]:
    by_rank = {track.rank: track for track in tracks if track.rank is not None}
    (wait,) = find_waits(by_rank, 3)
    return wait, surely_lacks(wait, by_rank[Rank(0)], by_rank)


def waiters(*groups: GroupBeat) -> list[Track]:
    return [rank(number, waiting_in("all_reduce"), *groups) for number in (1, 2)]


def test_a_call_that_it_never_issued_lacks_it() -> None:
    assert lacking(rank(0, PLACES["step"], world(7, 7), exit_code=0), *waiters(world(8, 7)))[1]


def test_a_call_that_has_had_its_part_does_not_lack_who_ended_well() -> None:
    """The others still hand on what it has sent."""
    wait, sure = lacking(rank(0, PLACES["step"], world(8, 7), exit_code=0), *waiters(world(8, 7)))
    assert (wait.awaited, sure) == (frozenset({0}), False)


def test_who_fails_in_the_middle_of_a_call_leaves_it_undone() -> None:
    assert lacking(rank(0, PLACES["step"], world(8, 7), exit_code=1), *waiters(world(8, 7)))[1]


def test_without_counters_the_groups_of_the_waiters_tell_whether_they_need_it() -> None:
    left = rank(0, PLACES["step"], world(None, None), exit_code=0)
    assert lacking(left, *waiters(world(None, None)))[1]
    pair = world(None, None, (Rank(1), Rank(2)))._replace(name="1")
    assert not lacking(left, *waiters(world(None, None), pair))[1]


def test_who_waits_at_a_store_may_belong_to_a_smaller_job() -> None:
    left = rank(0, PLACES["step"], world(9, 9), exit_code=0)
    meets = rank(1, WAITS_AT_STORE, world(9, 9), calling="wait")
    comes = rank(2, PLACES["code"], world(9, 9))
    comes.still.whole_s = 0.0
    by_rank: dict[Rank, Track] = {Rank(0): left, Rank(1): meets, Rank(2): comes}
    (wait,) = find_waits(by_rank, 3)
    expected: Ranks = frozenset({Rank(2)})
    assert (wait.awaited, surely_lacks(wait, left, by_rank)) == (expected, False)


def test_a_smaller_job_that_goes_on_without_a_rank_is_well() -> None:
    """Rank 0 is through; rank 2 comes to the call of the others after two minutes of sleep."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        pair = worker.job.group(1, 2)
        for _ in range(20):
            yield ("work", "step", 0.2)
            yield ("call", worker.job.groups["0"], "all_reduce")
        if worker.rank == 0:
            return
        for _ in range(1_000):
            if worker.rank == 2:
                yield ("work", "code", 120.0, "idle")
            yield ("call", pair, "all_reduce")

    watched = watch(Job(program, world=3), 300)
    assert not watched.confirmed
    suspects = [set(n.culprits) for _, n in watched.notes(NoteKind.STALL_SUSPECTED)]
    assert suspects[:1] == [{2}]
    assert {0} not in suspects


def exits_late(seconds: float) -> Job:
    def program(worker: Worker) -> Generator[Act, None, None]:
        for _ in range(20):
            yield ("work", "step", 0.2)
            yield ("call", worker.job.groups["0"], "all_reduce")
        yield ("work", "step", 0.5)
        if worker.rank == 0:
            worker.beat_state = "exiting"
            yield ("work", "lock", seconds, "idle")

    return Job(program, world=3)


def test_a_rank_that_is_through_and_does_not_end_is_named_and_never_ended() -> None:
    watched = watch(exits_late(1_000.0), 800)
    at_s, note = watched.notes(NoteKind.STALL_SUSPECTED)[0]
    assert (set(note.culprits), set(note.ranks), note.why.key) == ({0}, {1, 2}, "live.overdue")
    assert at_s - 1_006.0 <= 10.0
    assert not watched.confirmed


def test_who_takes_a_moment_to_end_is_not_named() -> None:
    assert not watch(exits_late(4.0), 30).notes(NoteKind.STALL_SUSPECTED)


LINK = Raised(type="RuntimeError", message="gloo: Connection closed by peer [127.0.0.1]:4711")


def told_at_the_end() -> set[int]:
    """Each rank works below a guard, which has the same number; that of rank 1 kills its work."""
    monitor = Monitor()

    def report(second: float, *ended: tuple[int, ProcessFacts, Raised | None]) -> None:
        over = {pid: (facts, raised) for pid, facts, raised in ended}
        processes = []
        for number in (*range(3), *(range(10, 13) if second >= 2 else ())):
            rank, works = number % 10, number >= 10
            facts, raised = over.get(number, (ProcessFacts(alive=True, state="S", cpu_s=1.0), None))
            beat = Beat(
                host="gn1",
                pid=40 + number,
                process_started_s=1.7e9 + (2.0 if works else 0.0),
                rank=Rank(rank),
                world_size=3,
                restart=0,
                mono_s=second,
                groups={"0": world(8, 7)} if works else {},
                stack=waiting_in("all_reduce") if works else PLACES["code"],
                state="running" if raised is None else "raising",
                exception=raised,
            )
            told = replace(facts, under=40 + rank if works else None)
            at = int(second)
            processes.append(ProcessReport(beat=beat, facts=told, beats=at, beat_age_s=0.0))
        monitor.handle(
            NodeReport(
                host="gn1", wall_s=1.7e9 + second, mono_s=second, processes=tuple(processes)
            ),
            second,
        )

    failed = ProcessFacts(alive=False, exit_code=1)
    killed = (11, ProcessFacts(alive=False), None)  # its guard has collected the status
    follow = ((10, failed, LINK), (12, failed, LINK))
    for second in range(1, 8):
        report(float(second))
    report(8.0, killed)
    report(9.0, killed, *follow)
    sent_away = (1, ProcessFacts(alive=False, signal=15), None)
    report(10.0, killed, *follow, (0, failed, None), (2, failed, None), sent_away)
    (note,) = monitor.handle(OutputEnded(host="gn1", exit_code=1), 11.0)
    assert isinstance(note, Note)
    return set(note.culprits)


def test_the_first_to_fail_is_the_work_below_a_guard_and_not_the_guard_of_another() -> None:
    assert told_at_the_end() == {1}


def test_a_suspicion_is_over_when_the_job_has_ended_well() -> None:
    """Rank 2 computes for long, alone; rank 1, which waits for it, leaves with it."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        yield ("work", "step", 1.0)
        yield ("call", worker.job.groups["0"], "all_reduce")
        if worker.rank == 2:
            yield ("work", "code", 30.0)
            worker.job.workers[1].alive = False
            worker.job.workers[1].exited = True
        elif worker.rank == 1:
            yield ("stand", waiting_in("monitored_barrier"), 60.0)

    job = Job(program, world=3)
    watched = watch(job, 45)
    (note,) = watched.monitor.handle(OutputEnded(host="gn0", exit_code=0), job.now_s)
    assert watched.notes(NoteKind.STALL_SUSPECTED)
    assert isinstance(note, Note)
    after = watched.monitor.standing(job.now_s)
    assert after.snapshot is not None
    assert (note.culprits, after.suspicions, after.snapshot.waits) == (frozenset(), (), ())


@pytest.mark.parametrize(("exit_code", "culprits"), [(0, frozenset()), (1, frozenset({1}))])
def test_of_a_rank_that_vanished_the_end_of_the_launcher_tells_how(
    exit_code: int, culprits: Ranks
) -> None:
    """A forked child leaves by `os._exit`, and its parent has collected the status."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        for _ in range(20):
            yield ("work", "step", 0.2)
            yield ("call", worker.job.groups["0"], "all_reduce")
        if worker.rank == 1:
            yield ("work", "step", 0.5)
            worker.job.workers[0].alive = worker.alive = False
            worker.job.workers[0].exited = True
            yield ("work", "step", 60.0)
        yield ("stand", PLACES["step"], 60.0)

    job = Job(program, world=2)
    watched = watch(job, 12)
    (note,) = watched.monitor.handle(OutputEnded(host="gn0", exit_code=exit_code), job.now_s)
    assert isinstance(note, Note)
    well = watched.monitor.standing(job.now_s).ended_well
    assert (note.culprits, well) == (culprits, exit_code == 0)
