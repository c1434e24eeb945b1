"""Stops from outside: orphans, echoes, and jobs that had hung before somebody ended them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import by, incident, source, timeout
from support.crashes import closing, raised, stopped, store, work
from support.job_text import judge_text
from unhang.model.causes import Cause
from unhang.model.events import (
    Event,
    ExceptionKind,
    Finished,
    StopKind,
    StoreProblem,
    WorldSeen,
)
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.rules.crash.job_stopped import check

WORK = (work(1, when=0, line=1), work(2, when=60, line=2), work(3, when=120, line=3))


def findings(*events: Event) -> list[Finding]:
    return list(check(incident(*events)))


def only(*events: Event) -> Finding:
    (finding,) = findings(*events)
    return finding


@pytest.mark.parametrize(
    "kind",
    [
        StopKind.INTERRUPT,
        StopKind.TIME_LIMIT,
        StopKind.TERMINATED,
        StopKind.HANGUP,
        StopKind.PREEMPTED,
        StopKind.EVICTED,
    ],
)
def test_a_working_job_is_stopped(kind: StopKind) -> None:
    finding = only(*WORK, stopped(kind, when=150, line=9))
    assert (finding.cause, finding.strength) == (Cause.EXTERNAL_STOP, Strength.PROVES)
    assert Cause.RANK_EXCEPTION in finding.explains


def test_orphans_time_out_afterwards() -> None:
    finding = only(
        *WORK,
        stopped(StopKind.TERMINATED, when=150, line=4),
        *(timeout(r, global_rank=r, when=751, line=5 + r) for r in (0, 4)),
    )
    assert finding.strength is Strength.PROVES
    assert finding.culprits == frozenset()


def test_ranks_that_waited_long_before_the_stop() -> None:
    finding = only(
        *WORK,
        stopped(StopKind.INTERRUPT, when=600, line=4),
        timeout(0, global_rank=0, when=751, line=5),
    )
    assert finding.strength is Strength.HINTS


def test_exceptions_after_an_interrupt_are_echoes() -> None:
    finding = only(
        *WORK,
        stopped(StopKind.INTERRUPT, when=150, line=4),
        raised(1, "RuntimeError", when=151, line=5),
    )
    assert finding.strength is Strength.PROVES


def test_a_failure_before_the_stop_is_the_cause() -> None:
    finding = only(*WORK, raised(1, when=130, line=4), stopped(when=150, line=5))
    assert finding.strength is Strength.HINTS
    assert finding.explains == frozenset()


def test_start_up_trouble_before_the_stop_is_the_cause() -> None:
    finding = only(store(StoreProblem.CLIENTS_MISSING, line=1), stopped(line=5))
    assert finding.strength is Strength.HINTS


def test_broken_channels_before_an_interrupt_is_logged_are_its_echo() -> None:
    finding = only(
        *WORK,
        raised(None, "ConnectionResetError", kind=ExceptionKind.COLLECTIVE, when=149, line=4),
        stopped(when=150, line=5),
    )
    assert finding.strength is Strength.PROVES


def test_a_long_silence_looks_like_a_hang() -> None:
    assert only(*WORK, stopped(when=5000, line=9)).strength is Strength.HINTS


def test_a_job_that_never_showed_work() -> None:
    assert only(stopped(line=9)).strength is Strength.HINTS
    assert only(stopped(StopKind.TIME_LIMIT, line=9)).strength is Strength.HINTS


def test_sigterm_at_the_launcher_needs_no_sign_of_work() -> None:
    assert only(stopped(StopKind.TERMINATED, line=9)).strength is Strength.SUPPORTS


def test_an_interrupt_without_times() -> None:
    """Who presses Ctrl-C often does so because nothing has moved for long."""
    bars = (work(1, line=1), work(2, line=2))
    assert only(*bars, stopped(line=9)).strength is Strength.HINTS


def test_an_interrupt_that_finds_a_rank_in_a_collective() -> None:
    wait = "/v/site-packages/torch/distributed/distributed_c10d.py"
    found = raised(1, "KeyboardInterrupt", kind=ExceptionKind.INTERRUPTED, line=8, innermost=wait)
    bars = (work(1, line=1), work(2, line=2))
    assert only(*bars, found, stopped(line=9)).strength is Strength.HINTS


def test_a_cancellation_alone_says_nothing() -> None:
    assert only(*WORK, stopped(StopKind.CANCELLED, when=150, line=9)).strength is Strength.HINTS


def test_a_cancellation_while_steps_are_still_printed() -> None:
    finding = only(*WORK, stopped(StopKind.CANCELLED, line=9), work(9, line=12))
    assert finding.strength is not Strength.HINTS


def test_a_cancellation_before_the_next_step_was_due() -> None:
    """At a steady pace nothing had hung; what comes late may have."""
    steps = [work(n, when=30 * n, line=n + 1) for n in range(6)]
    for when, hangs in ((155, False), (205, False), (260, True)):
        found = only(*steps, stopped(StopKind.CANCELLED, when=when, line=90))
        assert (found.strength is Strength.HINTS) is hangs


def test_whoever_was_in_touch_with_a_stopped_rank_loses_it_at_once() -> None:
    hit = raised(1, "KeyboardInterrupt", kind=ExceptionKind.INTERRUPTED, when=150, line=4)
    lost = raised(0, "RuntimeError", kind=ExceptionKind.COLLECTIVE, when=156, line=9)
    late = raised(0, "RuntimeError", kind=ExceptionKind.COLLECTIVE, when=900, line=9)
    stop = stopped(when=150, line=3)
    assert only(stop, hit, lost).strength is Strength.SUPPORTS
    assert only(stop, hit, late).strength is Strength.HINTS


def test_a_closed_session_needs_no_sign_of_work() -> None:
    assert only(stopped(StopKind.HANGUP, line=9)).strength is Strength.PROVES


def test_a_shell_s_word_before_everything_ends_an_earlier_run() -> None:
    late = store(StoreProblem.CLIENTS_MISSING, joined=3, expected=4, line=9)
    assert findings(stopped(StopKind.TERMINATED, line=1), late) == []


def test_sigterm_from_the_launcher_is_no_stop() -> None:
    assert findings(closing(7, line=1), stopped(StopKind.TERMINATED, line=2)) == []


def test_a_lost_node_is_no_stop() -> None:
    assert findings(stopped(StopKind.NODE_FAILED)) == []


def test_an_eviction_that_is_told_afterwards() -> None:
    told = replace(stopped(StopKind.EVICTED, line=9), told_later=True)
    assert only(*WORK, told).strength is Strength.PROVES
    assert only(*WORK, told, timeout(0, line=4)).strength is Strength.SUPPORTS
    heard = stopped(StopKind.EVICTED, line=9)
    assert only(*WORK, heard, timeout(0, line=4)).strength is Strength.HINTS


def on_hosts(*hosts: str | None) -> list[WorldSeen]:
    """Ranks that announce themselves, each from its host; the first lines of a log."""
    return [
        WorldSeen(
            source=source(line),
            origin=by() if host is None else by(host=host),
            rank=Rank(line - 1),
        )
        for line, host in enumerate(hosts, 1)
    ]


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        ((None, "n1", "n2"), {2}),
        ((None, "n1", "n1", "n2"), set()),
        ((None, None, "n1", "n2"), set()),
        ((None, "n2"), set()),
    ],
)
def test_a_host_that_the_cloud_took_is_the_one_that_was_missed(
    hosts: tuple[str | None, ...], named: set[int]
) -> None:
    taken = stopped(StopKind.REMOVED, line=10)
    missed = stopped(StopKind.NODE_FAILED, line=11)
    missed = replace(missed, origin=by(host="n2"))
    (finding,) = check(incident(*on_hosts(*hosts), taken, missed))
    assert set(finding.culprits) == named


@pytest.mark.parametrize(
    ("kind", "artifact", "told"),
    [
        (StopKind.PREEMPTED, "job.log", 1),
        (StopKind.PREEMPTED, "job.1.log", 0),
        (StopKind.CANCELLED, "job.1.log", 1),
    ],
)
def test_who_was_queued_again_and_came_to_his_end_was_not_stopped(
    kind: StopKind, artifact: str, told: int
) -> None:
    end = Finished(source=source(1, artifact), origin=by(), whole_job=True)
    assert len(findings(*WORK, stopped(kind, when=150, line=9), end)) == told


REQUEUED = (
    "slurmstepd: error: *** JOB 7 ON sg1 CANCELLED AT 2026-06-06T02:00:01 DUE TO JOB REQUEUE ***"
)
STEPS = [f"Epoch 4:  {n}0%|█         | {n}0/300 [00:15<00:55, 5.83it/s]" for n in range(1, 6)]
LOADED = "Restoring states from the checkpoint path at /w/a.ckpt"
GOOD = "`Trainer.fit` stopped: `max_epochs=8` reached."


def test_a_job_that_was_queued_again_in_one_log() -> None:
    assert not judge_text(check, *STEPS, REQUEUED, LOADED, *STEPS, GOOD)
    assert judge_text(check, *STEPS, REQUEUED, LOADED, *STEPS)
    assert judge_text(check, *STEPS, REQUEUED, GOOD)


REBOOT = "May 05 09:12:01 pg2 systemd-logind[17]: The system will reboot now!\n"
LOST = "[rank3]:[W505 09:12:52.100 TCPStore.cpp:122] [c10d] recvValue failed on SocketImpl(fd=6,"
CLOSED = f"{LOST} addr=[a]:5, remote=[b]:29): Connection reset by peer"


def test_a_host_that_was_shut_down() -> None:
    steps = [f"step {n}/900 loss 2.0" for n in range(9)]
    (finding,) = judge_text(check, *steps, CLOSED, **{"pg2.journal": REBOOT})
    assert finding.strength is Strength.PROVES
    before = CLOSED.replace("09:12:52", "08:41:07")
    (finding,) = judge_text(check, *steps, before, **{"pg2.journal": REBOOT})
    assert finding.strength is Strength.HINTS
    undated = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x'
    (finding,) = judge_text(check, *steps, undated, **{"pg2.journal": REBOOT})
    assert finding.strength is Strength.HINTS
