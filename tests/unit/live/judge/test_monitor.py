"""The monitor over simulated jobs: whom it names, how soon, and that it names nobody wrongly."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support.live_jobs import (
    MAIN,
    PLACES,
    Act,
    Job,
    Program,
    Watched,
    Worker,
    train,
    waiting_in,
    watch,
)
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import (
    Abort,
    Capture,
    Note,
    NoteKind,
    Notify,
    OrderDump,
    SetTimeouts,
)
from unhang.live.messages.inputs import DumpsReady, OutputEnded
from unhang.live.messages.job_snapshot import Condition, JobSnapshot, Stage, SuspicionReason
from unhang.live.messages.losses import Loss
from unhang.live.messages.policy import Policy
from unhang.live.messages.reports import FramePlace, NodeReport
from unhang.live.nodes.leader import Leader
from unhang.live.run_folder.events_log import event_of
from unhang.model.causes import Cause
from unhang.model.codec import decode, encode
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write

STEP_S = 0.2
AT = 20
"""The step of the fault; steps last about 0.26 s, so it comes after some 5 s."""


def named(watched: Watched) -> list[int]:
    return sorted(watched.confirmed[0][1].culprits) if watched.confirmed else []


def charge(watched: Watched) -> str:
    return watched.confirmed[0][1].why.key.removeprefix("live.") if watched.confirmed else ""


def suspected(watched: Watched) -> tuple[list[int], str, float]:
    """Whom the first suspicion names, of what, and when."""
    at_s, note = watched.notes(NoteKind.STALL_SUSPECTED)[0]
    return sorted(note.culprits), note.why.key.removeprefix("live."), at_s


MINUTE = Policy(patience_s=60.0)
"""A user who asks for a minute of patience, ..."""
LONG_S = 75.0
"""... and more than that."""
OUTSIDE_S = 600.0
"""The least patience with what may go on by something that nobody sees."""


PROVED = {
    "killed": (("die", 9), "gone"),
    "crashed": (("die", 11), "gone"),
    "raised": (("raise", "ValueError", "bad batch"), "raised"),
    "exited": (("exit",), "left"),
}
OTHERS = {
    "stopped": (("stop",), "stopped"),
    "asleep": (("work", "code", 3_600.0, "idle"), "asleep"),
    "frozen busy": (("freeze", 3_600.0, True), "gil_kept"),
    "frozen asleep": (("freeze", 3_600.0, False), "gil_kept"),
    "blocked": (("blocked", 3_600.0), "uninterruptible"),
}


@pytest.mark.parametrize("world", [2, 4, 16])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROVED)
def test_what_proves_a_hang_is_one_within_seconds(name: str, seed: int, world: int) -> None:
    act, told = PROVED[name]
    culprit = (seed * 3 + 1) % world
    job = Job(train([(AT, culprit, act)]), world=world, seed=seed)
    watched = watch(job, 30)
    assert (named(watched), charge(watched)) == ([culprit], told)
    assert len(watched.confirmed) == 1
    assert watched.confirmed[0][0] - job.fault_s <= 5.5


@pytest.mark.parametrize("world", [2, 4, 16])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", OTHERS)
def test_what_may_be_work_is_suspected_within_seconds_and_ended_after_patience(
    name: str, seed: int, world: int
) -> None:
    act, told = OTHERS[name]
    culprit = (seed * 3 + 1) % world
    job = Job(train([(AT, culprit, act)]), world=world, seed=seed, limit_ms=15_000)
    watched = watch(job, LONG_S, policy=MINUTE)
    who, what, at_s = suspected(watched)
    assert (who, what) == ([culprit], told)
    assert at_s - job.fault_s <= 6.0
    if name == "frozen busy":  # native code that computes looks the same
        assert not watched.confirmed
    else:
        assert (named(watched), charge(watched)) == ([culprit], told)
        assert 60.0 <= watched.confirmed[0][0] - job.fault_s <= 68.0


@pytest.mark.parametrize("seed", range(4))
def test_several_hosts_with_other_clocks_change_nothing(seed: int) -> None:
    act: Act = ("die", 9)
    job = Job(train([(AT, 9, act)]), world=16, per_host=4, seed=seed)
    job.skew_s = {"gn0": 5e5, "gn1": -900.0, "gn3": 3.0}
    watched = watch(job, 20)
    assert named(watched) == [9]
    assert watched.confirmed[0][0] - job.fault_s <= 5.5


def seldom(job: Job, every_s: float, seed: int) -> tuple[Callable[[NodeReport], bool], Any]:
    """What drops all but a report of each host in so long, and how late the others are looked at.

    The judging agent looks once a second at what has come.
    """
    heard: dict[str, float] = {}
    chance = random.Random(seed)

    def drop(report: NodeReport) -> bool:
        if job.now_s - heard.get(report.host, 0.0) < every_s - 0.5:
            return True
        heard[report.host] = job.now_s
        return False

    return drop, lambda _: chance.random()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*PROVED, *OTHERS])
def test_a_rank_of_the_largest_jobs_whose_nodes_report_seldom_is_named_as_well(
    name: str, seed: int
) -> None:
    leader = Leader(Monitor())
    leader._ranks = {f"gn{number}": 8 for number in range(2_048)}
    act, told = (PROVED | OTHERS)[name]
    job = Job(train([(AT, 9, act)]), world=16, per_host=4, seed=seed)
    drop, delay_s = seldom(job, leader.interval_s, seed)
    watched = watch(job, 40, drop=drop, delay_s=delay_s)
    assert not watched.notes(NoteKind.LOST)
    if name in PROVED:
        assert (named(watched), charge(watched)) == ([9], told)
        assert watched.confirmed[0][0] - job.fault_s <= 12.0
    else:
        who, what, at_s = suspected(watched)
        assert (who, what) == ([9], told)
        assert at_s - job.fault_s <= 20.0
        assert not watched.confirmed


@pytest.mark.parametrize(("ranks", "pause_s"), [(8, 0.0), (1_024, 0.5), (16_384, 2.0)])
def test_the_larger_a_job_the_longer_between_two_judgements(ranks: int, pause_s: float) -> None:
    monitor = Monitor()
    anyone: Any = None
    monitor._roster.by_rank = dict.fromkeys(map(Rank, range(ranks)), anyone)
    monitor._judged_s = 100.0
    assert monitor._is_due(100.0 + pause_s)
    assert pause_s == 0.0 or not monitor._is_due(100.0 + pause_s - 0.1)


@pytest.mark.parametrize("counted", [True, False])
def test_two_ranks_of_one_fate_are_named_together(counted: bool) -> None:
    job = Job(train([(AT, 2, ("stop",)), (AT, 5, ("stop",))]), world=8, counted=counted)
    watched = watch(job, 20 + LONG_S, policy=MINUTE)
    assert named(watched) == [2, 5]
    assert len(watched.confirmed) == 1


@pytest.mark.parametrize("name", [*PROVED, *OTHERS])
def test_stacks_alone_name_the_culprit_where_no_counters_are_at_hand(name: str) -> None:
    act, told = {**PROVED, **OTHERS}[name]
    watched = watch(Job(train([(AT, 2, act)]), counted=False), 20)
    if name in PROVED:
        assert (named(watched), charge(watched)) == ([2], told)
    else:
        assert suspected(watched)[:2] == ([2], told)


def test_a_hang_below_the_backward_pass_is_seen_by_its_counters() -> None:
    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if step == AT and worker.rank == 1:
                yield ("die", 9)
            yield ("backward", world)

    watched = watch(Job(program), 20)
    assert (named(watched), charge(watched)) == ([1], "gone")


def test_a_chain_of_groups_leads_to_the_rank_at_its_end() -> None:
    """0 and 1 wait for 2 in their group; 2 waits for 3 in another; 3 sleeps."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        left, right = worker.job.group(0, 1, 2), worker.job.group(2, 3)
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if step == AT and worker.rank == 3:
                yield ("work", "code", 3_600.0, "idle")
            if worker.rank in right.ranks:
                yield ("call", right, "all_reduce")
            if worker.rank in left.ranks:
                yield ("call", left, "all_reduce")

    watched = watch(Job(program), 20)
    assert suspected(watched)[0] == [3]
    assert watched.notes(NoteKind.STALL_SUSPECTED)[0][1].ranks == frozenset({0, 1, 2})


def crossing(worker: Worker) -> Generator[Act, None, None]:
    """Rank 1 uses two groups in the opposite order at one step."""
    rows, columns = worker.job.group(0, 1, 2, 3), worker.job.groups["0"]
    for step in range(1_000):
        yield ("work", "step", STEP_S)
        order = [(rows, "all_reduce"), (columns, "all_gather")]
        if step == AT and worker.rank == 1:
            order.reverse()
        for group, op in order:
            yield ("call", group, op)


def test_a_circle_of_groups_is_confirmed_and_names_the_odd_one() -> None:
    watched = watch(Job(crossing), 20)
    assert (named(watched), charge(watched)) == ([1], "circle_odd")
    assert watched.confirmed[0][0] - 1_005.0 <= 7.0
    orders = [t for t, a in watched.actions if isinstance(a, OrderDump)]
    assert orders[0] < watched.confirmed[0][0]


def test_in_a_circle_who_forgot_its_group_is_the_odd_one() -> None:
    """Rank 1 reduces in the world, where 0 broadcasts; 2, missing there, waits for it in theirs."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        world, mine = worker.job.groups["0"], worker.job.group(1, 2)
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if worker.rank:
                astray = step == AT and worker.rank == 1
                yield ("call", world if astray else mine, "all_reduce")
            yield ("call", world, "broadcast")

    watched = watch(Job(program, world=3), 20)
    assert suspected(watched)[:2] == ([1], "circle_odd")
    assert (named(watched), charge(watched)) == ([1], "circle_odd")


def test_a_circle_in_which_another_thread_may_act_is_only_suspected() -> None:
    """The main threads wait for each other; a thread of rank 1 may send what they wait for."""
    job = Job(crossing)
    job.workers[1].threads = ((FramePlace("/home/u/train.py", 77, "serve"),),)
    watched = watch(job, 60)
    assert suspected(watched)[:2] == ([1], "circle_odd")
    assert not watched.confirmed


def differing(worker: Worker) -> Generator[Act, None, None]:
    """Rank 2 gathers where the others reduce."""
    world = worker.job.groups["0"]
    for step in range(1_000):
        yield ("work", "step", STEP_S)
        odd = step == AT and worker.rank == 2
        yield ("call", world, "all_gather" if odd else "all_reduce")


def test_different_calls_under_one_number_are_seen_in_the_stacks() -> None:
    watched = watch(Job(differing), 20)
    who, what, at_s = suspected(watched)
    assert (who, what) == ([2], "mismatch_odd")
    assert at_s - 1_005.0 <= 6.0
    assert not watched.confirmed  # two functions of torch may make the same call


def two_differ(worker: Worker) -> Generator[Act, None, None]:
    world = worker.job.groups["0"]
    for step in range(1_000):
        yield ("work", "step", STEP_S)
        odd = step == AT and worker.rank == 1
        yield ("call", world, "all_gather" if odd else "all_reduce")


ODD_OF_TWO = DumpsReady(
    number=0,
    cause=Cause.DESYNC,
    strength=Strength.SUPPORTS,
    culprits=frozenset({Rank(1)}),
    fired=("DSY101",),
)


def test_where_two_differ_both_are_named() -> None:
    """Of two ranks either may be wrong; that it is between them is certain."""
    who, what, at_s = suspected(watch(Job(two_differ, world=2), 20))
    assert (who, what) == ([0, 1], "mismatch")
    assert at_s - 1_005.0 <= 10.0


@pytest.mark.parametrize("after_s", [1.5, 3.5, 20.0, 45.0])
def test_nobody_is_accused_beside_the_one_whom_dumps_single_out(after_s: float) -> None:
    """However late these are, and however short the patience."""
    policy = Policy(patience_s=12.0)
    job = Job(two_differ, world=2)
    watched = watch(job, 70, policy=policy, answer=ODD_OF_TWO, answer_after_s=after_s)
    assert (named(watched), charge(watched)) == ([1], "mismatch_odd")
    assert bool(watched.notes(NoteKind.STALL_SUSPECTED)) is (after_s > 4.0)
    assert len([a for _, a in watched.actions if isinstance(a, OrderDump)]) == 2  # and the capture


def test_what_is_captured_with_a_hang_tells_which_of_two_it_is() -> None:
    watched = watch(Job(two_differ, world=2), 80, policy=Policy(patience_s=12.0))
    assert named(watched) == [0, 1]
    number = next(a.dump for _, a in watched.actions if isinstance(a, Capture))
    told = watched.tell(replace(ODD_OF_TWO, number=number), 1_081.0)
    assert [(n.kind, n.culprits) for n in told if isinstance(n, Note)] == [
        (NoteKind.HANG_CONFIRMED, frozenset({1}))
    ]
    standing = watched.monitor.standing(1_081.0)
    assert [s.culprits for s in standing.suspicions if s.stage is Stage.CONFIRMED] == [{1}]
    again = watched.tell(replace(ODD_OF_TWO, number=number), 1_082.0)
    assert not [note for note in again if isinstance(note, Note)]
    end = watched.tell(OutputEnded(host="gn0", exit_code=1), 1_083.0)
    assert [n.culprits for n in end if isinstance(n, Note)] == [{1}]


def together(worker: Worker) -> Generator[Act, None, None]:
    """At one step the call does not complete though all ranks issue the same one."""
    world = worker.job.groups["0"]
    for step in range(1_000):
        yield ("work", "step", STEP_S)
        if step == AT:
            number = world.issued.get(worker.rank, 0) + 1
            world.ops.setdefault(number, {})[-1] = "of nobody"
        yield ("call", world, "all_reduce")


@pytest.mark.parametrize(
    ("cause", "strength", "rule"),
    [
        (Cause.DESYNC, Strength.PROVES, "DSY101"),
        (Cause.UNEVEN_WORK, Strength.SUPPORTS, "DSY103"),
    ],
)
def test_dumps_decide_where_all_wait_in_the_same_call(
    cause: Cause, strength: Strength, rule: str
) -> None:
    answer = DumpsReady(
        number=0,
        cause=cause,
        strength=strength,
        culprits=frozenset({Rank(3)}),
        fired=(rule,),
    )
    watched = watch(Job(together), 15, answer=answer)
    assert (named(watched), charge(watched)) == ([3], "mismatch_odd")
    assert watched.confirmed[0][0] - 1_005.0 <= 6.0


@pytest.mark.parametrize(("after_s", "told"), [(1.5, [[3]]), (9.0, [[], [3]])])
def test_who_is_located_by_recorded_calls_is_suspected_though_all_seem_to_wait(
    after_s: float, told: list[list[int]]
) -> None:
    """A receive by a handle has no number of its own; the recorded calls lack its rank."""
    answer = DumpsReady(
        number=0,
        strength=Strength.PROVES,
        culprits=frozenset({Rank(3)}),
        fired=("LOC101", "LOC201"),
    )
    watched = watch(Job(together), 30, answer=answer, answer_after_s=after_s)
    suspicions = [sorted(n.culprits) for _, n in watched.notes(NoteKind.STALL_SUSPECTED)]
    assert (suspicions, watched.confirmed) == (told, [])


@pytest.mark.parametrize(
    "answer",
    [
        None,
        DumpsReady(number=0),
        DumpsReady(number=0, cause=Cause.DESYNC, strength=Strength.HINTS, fired=("DSY101",)),
        # The logs speak of an earlier start of the job.
        DumpsReady(
            number=0,
            cause=Cause.DESYNC,
            strength=Strength.PROVES,
            culprits=frozenset({Rank(1)}),
            fired=("DSY001",),
        ),
        DumpsReady(
            number=0,
            cause=Cause.RANK_CRASH,
            strength=Strength.PROVES,
            culprits=frozenset({Rank(99)}),
        ),
    ],
)
def test_nobody_is_blamed_where_dumps_do_not_decide(answer: DumpsReady | None) -> None:
    watched = watch(Job(together), 100, answer=answer, policy=MINUTE)
    assert suspected(watched)[:2] == ([], "together")
    assert (named(watched), charge(watched)) == ([], "together")
    assert watched.confirmed[0][0] - 1_005.0 >= 60.0
    orders = [t for t, a in watched.actions if isinstance(a, OrderDump)]
    assert 2 <= len(orders) <= 5


@pytest.mark.parametrize("act", [OTHERS[name][0] for name in OTHERS if name != "frozen busy"])
def test_a_short_limit_of_the_program_ends_nothing_that_may_go_on_by_itself(act: Act) -> None:
    """A sleep, a request, a stop, storage: minutes of it look as for ever does."""
    job = Job(train([(AT, 1, act)]), world=2, limit_ms=15_000)
    watched = watch(job, OUTSIDE_S + 20.0)
    assert OUTSIDE_S <= watched.confirmed[0][0] - job.fault_s <= OUTSIDE_S + 8.0


def test_what_only_the_process_itself_could_end_is_a_hang_after_a_minute() -> None:
    """A main thread waits for a lock; it has no other thread, no child, and nothing moves."""
    job = Job(train([(AT, 1, ("work", "lock", 3_600.0, "idle"))]), world=2)
    watched = watch(job, LONG_S)
    assert named(watched) == [1]
    assert 60.0 <= watched.confirmed[0][0] - job.fault_s <= 68.0


def test_the_program_s_own_limit_is_the_most_patience_with_what_shows_no_life() -> None:
    """Much work would be lost: nothing was saved for an hour."""
    job = Job(train([(AT, 1, ("work", "code", 3_600.0, "idle"))]), world=2, limit_ms=700_000)
    job.age_s = 3_600.0
    watched = watch(job, 720)
    assert 700.0 <= watched.confirmed[0][0] - job.fault_s <= 708.0


@pytest.mark.parametrize(("patience_s", "most_s"), [(20.0, 28.0), (100.0, 108.0)])
def test_patience_that_the_user_asks_for_holds(patience_s: float, most_s: float) -> None:
    job = Job(train([(AT, 2, ("work", "code", 3_600.0, "idle"))]))
    watched = watch(job, 115, policy=Policy(abort=True, patience_s=patience_s))
    assert patience_s <= watched.confirmed[0][0] - job.fault_s <= most_s


def test_work_that_would_be_lost_is_worth_patience() -> None:
    """Nothing was saved for 800 s: while waiting has cost less, the job is not ended."""
    job = Job(train([(AT, 1, ("work", "code", 3_600.0, "idle"))]), world=2)
    job.age_s = 800.0
    watched = watch(job, 840)
    # All ranks stand, so that a second of waiting costs as much as a second of lost work.
    worked_s = 800.0 + job.fault_s - 1_000.0
    assert worked_s <= watched.confirmed[0][0] - job.fault_s <= worked_s + 8.0


HEALTHY_ACTS: dict[str, tuple[Act, ...]] = {
    "save of 60 s": (("work", "save", 60.0, "writes"),),
    "save of 100 s without a sign": (("work", "save", 100.0, "idle"),),
    "evaluation": (("work", "eval", 90.0),),
    "compilation": (("work", "compile", 120.0),),
    "compilation in helpers": (("work", "compile", 120.0, "idle"),),
    "slow code that computes": (("work", "code", 120.0),),
    "helpers that work for a rank": (("work", "lock", 90.0, "idle", "helpers"),),
    "a child process that copies": (("work", "code", 90.0, "idle", "helpers"),),
    "answer of a server": (("work", "server", 150.0, "idle"),),
    "collection of garbage": (("freeze", 4.0, True),),
    "native work that keeps the lock while it prepares data": (
        ("work", "data", 2.0),
        ("freeze", 60.0, True),
    ),
    "short sleep": (("work", "code", 4.0, "idle"),),
    "long sleep": (("work", "code", 150.0, "idle"),),
    "storage that does not answer": (("blocked", 150.0),),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", HEALTHY_ACTS)
def test_work_of_one_rank_is_reported_and_not_condemned(name: str, seed: int) -> None:
    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for step in range(1_000_000):
            yield ("work", "step", STEP_S)
            if worker.rank == 0 and step % 40 == AT:
                yield from HEALTHY_ACTS[name]
            yield ("call", world, "all_reduce")
            yield ("step",)

    watched = watch(Job(program, seed=seed), 300)
    assert named(watched) == []
    assert not watched.confirmed


def test_others_are_told_that_a_working_rank_is_waited_for_in_which_phase() -> None:
    watched = watch(Job(train([(AT, 0, ("work", "save", 60.0, "writes"))])), 90)
    waiting = watched.notes(NoteKind.WAITING)
    assert [n.phase for _, n in waiting] == [Phase.SAVE] * len(waiting)
    assert [sorted(n.culprits) for _, n in waiting] == [[0]] * len(waiting)
    assert 2 <= len(waiting) <= 6
    assert len(watched.notes(NoteKind.RESUMED)) == 1


def test_a_silent_save_is_suspected_and_confirmed_only_after_long() -> None:
    job = Job(train([(AT, 0, ("work", "save", 3_600.0, "idle"))]), world=2)
    watched = watch(job, OUTSIDE_S + 20)
    told = watched.notes(NoteKind.STALL_SUSPECTED)
    assert [(sorted(n.culprits), n.phase) for _, n in told] == [([0], Phase.SAVE)]
    assert told[0][0] - 1_005.0 <= 7.0
    assert named(watched) == [0]
    assert watched.confirmed[0][0] - 1_005.0 >= OUTSIDE_S


def test_a_rank_that_tokenises_before_the_first_step_is_no_hang() -> None:
    watched = watch(Job(train(tokenise_s={0: 120.0}), counted=False), 180)
    assert not watched.confirmed
    assert watched.notes(NoteKind.WAITING)


def stop_all(job: Job) -> None:
    for worker in job.workers:
        worker.stopped = True


def go_on_all(job: Job) -> None:
    for worker in job.workers:
        worker.stopped = False


@pytest.mark.parametrize("for_s", [1.0, 3.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_job_that_is_stopped_as_a_whole_and_goes_on_is_no_hang(for_s: float, seed: int) -> None:
    job = Job(train(), world=8, per_host=4, seed=seed)
    job.inject = [(1_010.0, stop_all), (1_010.0 + for_s, go_on_all)]
    assert not watch(job, 60).confirmed


def test_a_rank_that_stays_stopped_after_the_others_go_on_is_named() -> None:
    job = Job(train())

    def all_but_one(job: Job) -> None:
        for worker in job.workers[1:]:
            worker.stopped = False

    job.inject = [(1_010.0, stop_all), (1_015.0, all_but_one)]
    watched = watch(job, 40, policy=MINUTE)
    assert (suspected(watched)[:2], watched.confirmed) == (([0], "stopped"), [])
    for report in job.run(LONG_S):
        watched.tell(report, job.now_s)
    assert named(watched) == [0]


@pytest.mark.parametrize("gap_s", [5.0, 30.0, 600.0])
def test_a_gap_in_the_reports_condemns_nobody(gap_s: float) -> None:
    """The agent was stopped, or the laptop slept, while rank 0 did what it rightly does."""
    job = Job(train([(40, 0, ("work", "code", 4.0, "idle"))]))
    watched = watch(job, gap_s + 60, drop=lambda r: 1_012.0 <= job.now_s < 1_012.0 + gap_s)
    assert not watched.confirmed


def test_a_host_that_is_not_heard_is_lost_and_not_guilty() -> None:
    job = Job(train(), world=8, per_host=4)
    job.inject = [(1_010.0, lambda job: job.muted.add("gn1"))]
    watched = watch(job, 120)
    assert not watched.confirmed
    lost = [n for _, n in watched.notes(NoteKind.LOST)]
    assert [n.why.key for n in lost] == ["live.host_silent"]
    view = watched.monitor.standing(job.now_s)
    assert {r.condition for r in view.ranks if r.rank >= 4} == {Condition.UNSEEN}


def test_what_could_not_be_seen_is_told_once_with_the_ranks_that_it_concerns() -> None:
    job = Job(train(), world=4, per_host=4)
    watched = Watched(Monitor())
    unread = (Loss.of("probe_recorder_off", why="TORCH_FR_BUFFER_SIZE=0"),)
    for report in job.run(5):
        processes = [replace(p, beat=replace(p.beat, lost=unread)) for p in report.processes]
        lost = (Loss.of("one_node_only", nodes=2),)
        watched.tell(replace(report, lost=lost, processes=tuple(processes)), job.now_s)
    notes = [note for _, note in watched.notes(NoteKind.LOST)]
    assert sorted(r for note in notes for r in note.ranks) == [0, 1, 2, 3]
    assert len(notes) < 4
    for note in notes:
        event = json.loads(json.dumps(event_of(note, "")))
        message = decode(Message, event["message"])
        assert write(message) == event["why"]
        said = "Flight Recorder 已被关闭" if note.ranks else "共有 2 个节点"
        assert write(message, "zh").startswith(f"gn0：{said}")


@pytest.mark.parametrize("seed", range(3))
def test_reports_that_are_dropped_or_late_delay_the_verdict_and_do_not_falsify_it(
    seed: int,
) -> None:
    dice = random.Random(seed)
    job = Job(train([(AT, 1, ("die", 9))]), world=8, per_host=4, seed=seed)
    watched = watch(
        job,
        60,
        drop=lambda _: dice.random() < 0.2,
        delay_s=lambda _: dice.random() * 0.8,
    )
    assert named(watched) == [1]


def test_a_restarted_job_is_judged_afresh() -> None:
    job = Job(train([(AT, 2, ("die", 9))]))
    job.inject = [(1_030.0, lambda job: job.restart_all())]
    watched = watch(job, 60)
    assert [sorted(n.culprits) for _, n in watched.confirmed] == [[2], [2]]
    assert watched.confirmed[1][0] - watched.confirmed[0][0] > 20
    assert watched.monitor.standing(job.now_s).restart == 1


def test_a_restart_after_which_all_is_well_leaves_no_claim() -> None:
    job = Job(train())
    job.inject = [(1_020.0, lambda job: job.restart_all())]
    watched = watch(job, 60)
    assert not watched.confirmed
    assert not watched.monitor.standing(job.now_s).suspicions


def test_what_a_job_failed_of_before_its_launcher_was_started_again_is_over() -> None:
    """A script that starts torchrun anew: its counter of starts begins at 0 again."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for number in range(80):
            yield ("work", "step", STEP_S)
            if number == 20 and worker.rank == 2 and worker.job.now_s < 1_030:
                yield ("die", 7)
            yield ("call", world, "all_reduce")

    job = Job(program)
    job.inject = [(1_040.0, lambda job: job.restart_all(0))]
    watched = watch(job, 120, ends=True)
    watched.tell(OutputEnded(host="gn0", exit_code=0), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert last.culprits == frozenset()
    assert not watched.monitor.standing(job.now_s).suspicions


def test_ranks_that_finish_one_after_another_are_no_hang() -> None:
    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for _ in range(20):
            yield ("work", "step", STEP_S)
            yield ("call", world, "all_reduce")
        yield ("work", "save", 5.0 + 20.0 * worker.rank, "writes")

    watched = watch(Job(program), 120, ends=True)
    assert not watched.confirmed
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert last.culprits == frozenset()


def test_a_rank_with_fewer_steps_that_has_left_is_named() -> None:
    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for _ in range(AT if worker.rank == 3 else 1_000):
            yield ("work", "step", STEP_S)
            yield ("call", world, "all_reduce")

    watched = watch(Job(program), 30)
    assert (named(watched), charge(watched)) == ([3], "left")


def test_a_rank_that_ends_quietly_is_named_when_the_others_fail_by_it() -> None:
    job = Job(train([(AT, 1, ("exit",))]))
    job.inject = [(1_007.5, lambda job: setattr(job, "peers_raise", True))]
    watched = watch(job, 15)
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert (last.culprits, last.why.key) == (frozenset({1}), "live.left_first")
    (held,) = watched.monitor.standing(job.now_s).suspicions
    assert (held.culprits, held.victims) == (frozenset({1}), frozenset({0, 2, 3}))
    assert (held.charge, held.stage) == (SuspicionReason.LEFT, Stage.SUSPECTED)


@pytest.mark.parametrize("exit_code", [0, 143])
def test_nobody_is_to_blame_for_a_wait_after_which_all_ranks_ended_well(exit_code: int) -> None:
    """Its children keep a launcher up, which somebody ends then."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        yield from train([(AT, 1, ("work", "code", 12.0, "idle"))], steps=AT + 2)(worker)
        yield ("work", "code", 2.0)

    job = Job(program)
    watched = watch(job, 30)
    assert watched.notes(NoteKind.STALL_SUSPECTED)
    watched.tell(OutputEnded(host="gn0", exit_code=exit_code), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert not last.culprits
    assert not watched.monitor.standing(job.now_s).suspicions


def test_a_launcher_that_ends_well_although_a_rank_failed_does_not_hide_it() -> None:
    job = Job(train([(AT, 2, ("die", 9))]), peers_raise=True)
    watched = watch(job, 15)
    watched.tell(OutputEnded(host="gn0", exit_code=0), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert last.culprits == frozenset({2})


def test_a_suspect_for_whom_the_others_gave_up_waiting_is_named_at_the_end() -> None:
    """The program's own limit of 30 s ends the job before the judge would have."""

    def give_up(job: Job) -> None:
        for rank in (0, 1, 3):
            job.fail(rank, "RuntimeError", "Timed out waiting 30000ms for recv")

    job = Job(train([(AT, 2, ("work", "code", 3_600.0, "idle"))]))
    job.inject = [(1_035.0, give_up)]
    watched = watch(job, 40)
    assert not watched.confirmed
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert (last.culprits, last.why.key) == (frozenset({2}), "live.hung")
    after = watched.monitor.standing(job.now_s)
    held = [(s.culprits, s.stage) for s in after.suspicions]
    assert held == [(frozenset({Rank(2)}), Stage.SUSPECTED)]
    assert after.snapshot is not None
    assert [set(wait.awaited) for wait in after.snapshot.waits] == [{2}]


@pytest.mark.parametrize("late_s", [0.0, 3.0])
def test_work_is_told_as_it_was_though_the_last_look_meets_it_between_two_calls(
    late_s: float,
) -> None:
    """The others gave up while a rank saved; it ends after them, or soon with them."""
    fault_s = 0.0

    def program(worker: Worker) -> Generator[Act, None, None]:
        nonlocal fault_s
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if step == AT and worker.rank == 0:
                fault_s = worker.job.now_s
                while worker.job.now_s < fault_s + 9.0:
                    yield ("work", "save", 0.7)
                    yield ("work", "between", 0.3)
                yield ("work", "between", 60.0)
            yield ("call", worker.job.groups["0"], "all_reduce")

    job = Job(program)

    def end(job: Job) -> None:
        for rank in (1, 2, 3):
            job.fail(rank, "RuntimeError", "Timed out waiting 9000ms for recv operation")

    def follow(job: Job) -> None:
        job.fail(0, "RuntimeError", "Connection closed by peer [127.0.0.1]:45768")

    job.inject = [(1_015.0, end), (1_015.0 + late_s, follow)]
    watched = watch(job, 20)
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    (told,) = watched.monitor.standing(job.now_s).suspicions
    assert (told.charge, told.phase) == (SuspicionReason.AT_WORK, Phase.SAVE)
    assert sorted(told.culprits) == [0]
    assert not told.by_name
    assert "checkpoint (train.py" in told.place


def test_a_culprit_that_a_capture_has_touched_is_not_shown_at_work() -> None:
    job = Job(train([(AT, 2, ("work", "code", 3_600.0, "idle"))]))
    watched = watch(job, 25, policy=Policy(patience_s=10.0))
    assert named(watched) == [2]
    job.workers[2].cpu_s += 0.5
    for report in job.run(1.5):
        watched.tell(report, job.now_s)
    (culprit,) = [r for r in watched.monitor.standing(job.now_s).ranks if r.rank == 2]
    assert (culprit.condition, culprit.since_s >= 10.0) == (Condition.STILL, True)


def test_where_most_have_ended_nobody_is_named_for_it() -> None:
    """One rank that evaluates on its own may call for the others after their end."""
    job = Job(train([(AT, rank, ("exit",)) for rank in (1, 2, 3)]))
    job.inject = [(1_007.5, lambda job: setattr(job, "peers_raise", True))]
    watched = watch(job, 15)
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert (last.culprits, last.why.key) == (frozenset(), "live.finished")


def test_a_job_that_fails_at_once_names_the_rank_that_failed_first() -> None:
    """Gloo tells the peers at once, so nobody waits; they fail in the same second."""
    job = Job(train([(AT, 2, ("die", 9))]), peers_raise=True)
    watched = watch(job, 15)
    for action in watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s):
        assert getattr(action, "kind", None) is NoteKind.EXITED
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert last.culprits == frozenset({2})
    assert not watched.confirmed


def test_of_ranks_that_are_ended_together_none_is_called_the_first_to_fail() -> None:
    """The launcher sends all away, and reaps one of them before anybody saw its status."""

    def send_away(job: Job) -> None:
        for worker in job.workers:
            worker.alive = False
            worker.signal = None if worker.rank == 0 else 15

    job = Job(train())
    job.inject = [(1_007.5, send_away)]
    watched = watch(job, 12)
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    exits = [note for _, note in watched.notes(NoteKind.EXITED)]
    told = {note.why.key: sorted(note.ranks) for note in exits[:-1]}
    assert told == {"live.vanished": [0], "live.failed": [1, 2, 3]}
    assert (exits[-1].culprits, exits[-1].why.key) == (frozenset(), "live.finished")


def test_victims_that_give_up_do_not_clear_the_culprit() -> None:
    """A limit of 30 s ends the waiting ranks, while the one they waited for sleeps on."""

    def give_up(job: Job) -> None:
        for rank in (0, 1, 3):
            job.fail(rank, "RuntimeError", "Timed out waiting 30000ms for recv")

    job = Job(train([(AT, 2, ("work", "code", 3_600.0, "idle"))]))
    job.inject = [(1_035.0, give_up)]
    watched = watch(job, 50, policy=Policy(patience_s=10.0))
    assert named(watched) == [2]
    assert not watched.notes(NoteKind.RESUMED)
    watched.tell(OutputEnded(host="gn0", exit_code=1), job.now_s)
    (_, last) = watched.notes(NoteKind.EXITED)[-1]
    assert last.culprits == frozenset({2})
    assert watched.monitor.standing(job.now_s).suspicions[0].stage is Stage.CONFIRMED


def test_what_a_suspected_rank_does_again_is_told_and_learnt() -> None:
    """A rank sleeps for 9 s now and then: the first time it is suspected, and then it is usual."""
    act: Act = ("work", "code", 9.0, "idle")
    job = Job(train([(step, 1, act) for step in range(AT, 400, 40)]))
    watched = watch(job, 300)
    assert not watched.confirmed
    assert len(watched.notes(NoteKind.STALL_SUSPECTED)) == 1
    resumed = watched.notes(NoteKind.RESUMED)
    assert resumed[0][0] > suspected(watched)[2]
    assert sorted(resumed[0][1].culprits) == [1]


def test_what_one_rank_was_seen_to_end_by_itself_another_one_is_given_elsewhere() -> None:
    """Each sleeps once, in other functions: only the first is suspected."""
    pauses: list[tuple[int, int, Act]] = [
        (AT, 1, ("work", "code", 9.0, "idle")),
        (2 * AT, 2, ("work", "save", 5.4, "idle")),
    ]
    job = Job(train(pauses))
    watched = watch(job, 40)
    assert [sorted(n.culprits) for _, n in watched.notes(NoteKind.STALL_SUSPECTED)] == [[1]]


def test_a_rank_that_keeps_the_lock_for_some_seconds_and_works_on_is_no_hang_any_more() -> None:
    """It issues no call yet: that it runs again is enough for nobody to end the job."""
    faults: list[tuple[int, int, Act]] = [
        (AT, 1, ("freeze", 9.0, True)),
        (AT, 1, ("work", "code", 60.0)),
    ]
    job = Job(train(faults))
    watched = watch(job, 22, policy=Policy(abort=True))
    back_s = job.fault_s + 9.0
    assert suspected(watched)[0] == [1]
    ((resumed_s, resumed),) = watched.notes(NoteKind.RESUMED)
    assert (sorted(resumed.culprits), resumed_s - back_s < 4.0) == ([1], True)


def test_a_confirmed_hang_is_captured_and_told_and_ends_the_job_if_asked() -> None:
    fault: Act = ("die", 9)
    told = watch(Job(train([(AT, 2, fault)])), 20, policy=Policy(abort=True))
    kinds = [type(a) for t, a in told.actions if t == told.confirmed[0][0]][1:]
    assert kinds == [OrderDump, Capture, Notify, Abort]
    orders = [a.number for _, a in told.actions if isinstance(a, OrderDump)]
    assert [a.dump for _, a in told.actions if isinstance(a, Capture)] == orders[-1:]


def test_the_end_of_a_job_waits_for_a_save_that_moves() -> None:
    """A thread of rank 0 still writes a checkpoint, for 12 s, when rank 2 is killed."""
    job = Job(train([(AT, 2, ("die", 9))]))
    job.inject = [
        (1_000.0 + s, lambda job: setattr(job.workers[0], "stored", job.workers[0].stored + 10**8))
        for s in range(3, 18)
    ]
    watched = watch(job, 40, policy=Policy(abort=True))
    assert named(watched) == [2]
    ((end_s, _),) = [(t, a) for t, a in watched.actions if isinstance(a, Abort)]
    assert watched.confirmed[0][0] < 1_012.0
    assert 1_017.0 <= end_s <= 1_026.0
    (told,) = [n for _, n in watched.notes(NoteKind.WAITING) if n.why.key == "live.saving"]
    assert told.ranks == frozenset({0})


def test_limits_are_governed_until_a_hang_is_confirmed() -> None:
    watched = watch(Job(train([(AT, 2, ("die", 9))])), 20, policy=Policy(timeouts="judge"))
    limits = [a for _, a in watched.actions if isinstance(a, SetTimeouts)]
    assert [a.mode for a in limits] == ["judge", "keep"]
    assert limits[0].limit_ms == 86_400_000


def test_fixed_limits_are_set_once() -> None:
    policy = Policy(timeouts="fixed", limit_ms=7_200_000)
    watched = watch(Job(train([(AT, 2, ("die", 9))])), 20, policy=policy)
    assert [a for _, a in watched.actions if isinstance(a, SetTimeouts)] == [
        SetTimeouts(mode="fixed", limit_ms=7_200_000)
    ]


@pytest.mark.parametrize("program", [train([(AT, 2, ("die", 9))]), crossing, differing, train()])
def test_a_recorded_stream_gives_the_same_actions_again(program: Program) -> None:
    watched = watch(Job(program), 20)
    again = Monitor()
    actions = [(now, a) for now, event in watched.stream for a in again.handle(event, now)]
    assert actions == watched.actions


def test_the_view_shows_classes_edges_and_the_claim() -> None:
    job = Job(train([(AT, 2, ("die", 9))]))
    watched = watch(job, 15)
    view = watched.monitor.standing(job.now_s)
    waiting = view.classes[0]
    assert (waiting.condition, waiting.op) == (Condition.WAITING, "all_reduce")
    assert waiting.ranks == frozenset({0, 1, 3})
    assert view.edges[0].on == frozenset({2})
    assert (view.suspicions[0].charge, view.suspicions[0].stage) == (
        SuspicionReason.GONE,
        Stage.CONFIRMED,
    )
    assert view.groups[0].lacking == frozenset({2})
    assert decode(JobSnapshot, json.loads(json.dumps(encode(view)))) == view


def test_a_helper_process_of_a_rank_is_not_taken_for_it() -> None:
    """A loader's worker inherits the number of its rank, sleeps and is killed: no matter."""
    job = Job(train())
    watched = Watched(Monitor())
    for report in job.run(30):
        rank = report.processes[0]
        beat = rank.beat
        helper = type(rank)(
            beat=type(beat)(
                host=beat.host,
                pid=9_000,
                ppid=beat.pid,
                rank=beat.rank,
                local_rank=beat.local_rank,
                process_started_s=9_000.0,
                mono_s=beat.mono_s,
                stack=waiting_in("all_reduce"),
            ),
            facts=type(rank.facts)(alive=job.now_s < 1_010, signal=9),
            beats=rank.beats,
            beat_age_s=rank.beat_age_s,
        )
        told = NodeReport(
            host=report.host,
            wall_s=report.wall_s,
            mono_s=report.mono_s,
            processes=(helper, *report.processes),
        )
        watched.tell(told, job.now_s)
    assert not watched.confirmed
    assert {r.pid for r in watched.monitor.standing(job.now_s).ranks} == {100, 101, 102, 103}


def test_a_rank_that_freezes_right_after_a_beat_in_its_call_is_no_waiter() -> None:
    """What it told last is too old to say that it still waits there."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for step in range(1_000):
            yield ("work", "step", 0.01)
            if step == AT and worker.rank == 3:
                yield ("freeze", 3_600.0, False)
            if worker.rank == 0:
                yield ("work", "step", 0.6)  # so that the others are seen in their calls
            yield ("backward", world)

    for seed in range(8):
        watched = watch(Job(program, seed=seed), 20)
        assert suspected(watched)[:2] == ([3], "gil_kept")


def test_ranks_that_their_launcher_ends_are_not_blamed_for_a_frozen_one() -> None:
    """A kill of all reaches a frozen process last."""

    def end(job: Job) -> None:
        for worker in job.workers:
            if worker.rank != 3:
                worker.alive, worker.signal = False, 15

    job = Job(train([(AT, 3, ("freeze", 3_600.0, False))]))
    job.inject = [(1_009.0, end)]
    assert not watch(job, 60).confirmed


def test_a_rank_that_sleeps_beside_one_that_works_may_wait_for_that_one() -> None:
    """Rank 1 looks for a file once a second, which rank 0 is about to write."""
    job = Job(
        train(
            [
                (AT, 0, ("work", "code", 15.0, "writes")),
                (AT, 1, ("work", "code", 15.5, "idle")),
            ]
        )
    )
    watched = watch(job, 60)
    assert not watched.confirmed
    assert watched.notes(NoteKind.STALL_SUSPECTED)


def test_two_jobs_under_one_command_are_not_mixed_up() -> None:
    """Both number their ranks from 0; in one of them rank 1 is stopped."""
    one, two = Job(train(), seed=1), Job(train([(AT, 1, ("die", 9))]), seed=2)
    for worker in two.workers:
        worker.pid += 500
    watched = Watched(Monitor())
    for first, second in zip(one.run(30), two.run(30), strict=False):
        told = replace(first, processes=(*first.processes, *second.processes))
        watched.tell(told, one.now_s)
    assert not watched.confirmed
    assert [n.why.key for _, n in watched.notes(NoteKind.LOST)] == ["live.contested"]


def test_a_rank_that_packs_what_it_will_send_is_at_work() -> None:
    """It is in `all_gather_object`, and has not issued a call yet."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        world = worker.job.groups["0"]
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if step == AT and worker.rank == 1:
                yield ("work", "packing", 40.0)
            yield ("call", world, "all_gather_object")

    watched = watch(Job(program), 90)
    assert not watched.confirmed
    assert next(sorted(n.culprits) for _, n in watched.notes(NoteKind.WAITING)) == [1]


FETCH = (
    FramePlace("/env/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", 52, "fetch"),
    MAIN,
)
DRAW = FramePlace("/home/u/data.py", 30, "__getitem__")
LOOPS = {
    "one function": (7.0, (PLACES["code"],)),
    "several functions": (7.0, (PLACES["code"], PLACES["eval"][-2:], PLACES["step"])),
    "the program's code within a library's work": (
        7.0,
        ((DRAW, *FETCH), (FramePlace("/home/u/data.py", 9, "valid"), DRAW, *FETCH)),
    ),
    "a library's work": (120.0, (PLACES["data"], FETCH)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_without_end_is_suspected_and_never_more(name: str) -> None:
    after_s, stacks = LOOPS[name]
    fault_s = 0.0

    def program(worker: Worker) -> Generator[Act, None, None]:
        nonlocal fault_s
        for step in range(1_000):
            yield ("work", "step", STEP_S)
            if step == 40 and worker.rank == 1:  # the first calls may be of what prepares it
                fault_s = worker.job.now_s
                for number in range(100_000):
                    yield ("work", stacks[number % len(stacks)], 0.35)
            yield ("call", worker.job.groups["0"], "all_reduce")

    watched = watch(Job(program), 300)
    (suspected,) = watched.notes(NoteKind.STALL_SUSPECTED)
    assert (sorted(suspected[1].culprits), suspected[1].why.key) == ([1], "live.spinning")
    assert after_s <= suspected[0] - fault_s <= after_s + 8
    assert not watched.confirmed


def test_stacks_that_are_dumped_every_few_seconds_are_no_work() -> None:
    """A sleeping rank writes 6 kB every 3 s, as a drill's own watcher makes it do."""
    job = Job(train([(AT, 2, ("work", "code", 3_600.0, "idle"))]))
    job.inject = [(1_000.0 + s, lambda job: job.wrote(2, 6_000)) for s in range(6, 100, 3)]
    watched = watch(job, LONG_S, policy=MINUTE)
    assert suspected(watched)[0] == [2]
    assert suspected(watched)[2] - job.fault_s <= 6.0
    assert named(watched) == [2]


def random_program(seed: int) -> Program:
    """A healthy job of random work: nothing that stands still for as long as a hang does."""

    def program(worker: Worker) -> Generator[Act, None, None]:
        dice = random.Random(f"{seed}-{worker.rank}")
        plan = random.Random(seed)
        world = worker.job.groups["0"]
        half = worker.job.world // 2
        mine = worker.job.group(*(range(half) if worker.rank < half else range(half, 2 * half)))
        for _ in range(100_000):
            yield ("work", "step", dice.uniform(0.05, 0.6))
            what, who = plan.choice(SOMETHING), plan.randrange(worker.job.world)
            if plan.random() < 0.08 and worker.rank == who:
                yield from what(dice)
            order = [mine, world] if plan.random() < 0.5 else [world, mine]
            for group in order:
                yield ("backward", group) if plan.random() < 0.3 else ("call", group, "all_reduce")
            yield ("step",)

    return program


SOMETHING = (
    lambda dice: [("work", "save", dice.uniform(1, 100), "writes")],
    lambda dice: [("work", "save", dice.uniform(1, 60), "idle")],
    lambda dice: [("work", "eval", dice.uniform(1, 120))],
    lambda dice: [("work", "data", dice.uniform(1, 40), "idle")],
    lambda dice: [("work", "compile", dice.uniform(1, 90), "idle")],
    lambda dice: [("work", "code", dice.uniform(1, 60))],
    lambda dice: [("work", "code", dice.uniform(0.5, 4), "idle")],
    lambda dice: [("freeze", dice.uniform(0.5, 4), True)],
    lambda dice: [("work", "lock", dice.uniform(1, 8), "idle")],
    lambda dice: [("work", "server", dice.uniform(1, 30), "idle")],
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    world=st.sampled_from([2, 4, 8]),
    per_host=st.sampled_from([2, 8]),
    lossy=st.booleans(),
)
def test_no_healthy_job_is_ever_condemned(
    seed: int, world: int, per_host: int, lossy: bool
) -> None:
    dice = random.Random(seed)
    job = Job(random_program(seed), world=world, per_host=per_host, seed=seed)
    watched = watch(
        job,
        240,
        drop=lambda _: lossy and dice.random() < 0.1,
        delay_s=lambda _: dice.random() * (0.9 if lossy else 0.1),
    )
    assert not watched.confirmed


def freeze_now(worker: Worker) -> None:
    worker.frozen, worker.busy, worker.until_s = True, True, float("inf")


def kill_now(worker: Worker) -> None:
    worker.alive, worker.signal = False, 9


def stop_now(worker: Worker) -> None:
    worker.stopped = True


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    world=st.sampled_from([2, 4, 8]),
    happens=st.sampled_from([freeze_now, kill_now, stop_now]),
    at_s=st.floats(5, 60),
)
def test_nobody_but_the_culprit_is_ever_condemned(
    seed: int, world: int, happens: Callable[[Worker], None], at_s: float
) -> None:
    """At any moment of any job, also in the middle of a call."""
    culprit = seed % world
    job = Job(random_program(seed), world=world, per_host=4, seed=seed)
    job.inject = [(1_000.0 + at_s, lambda job: happens(job.workers[culprit]))]
    watched = watch(job, 60 + 120)
    ranks = watched.monitor.standing(job.now_s).ranks
    # Another rank may be at work of its own all the time: then nobody waits for the culprit.
    assume(any(r.condition is Condition.WAITING for r in ranks))
    # A rank that freezes while it compiles or saves is only suspected for some minutes, and so is
    # one that is stopped: who stopped it may let it go on.
    patient = happens is not kill_now
    assert named(watched) in ([[culprit], []] if patient else [[culprit]])
    assert len(watched.confirmed) <= 1
    told = watched.notes(NoteKind.HANG_CONFIRMED, NoteKind.STALL_SUSPECTED)
    assert {culprit} in [set(note.culprits) for _, note in told]


def test_a_healthy_hour_is_quiet() -> None:
    watched = watch(Job(random_program(7), world=4, seed=7), 3_600)
    assert not watched.confirmed
