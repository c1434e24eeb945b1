"""What schedulers answer about jobs that are over."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import ProcessEnded, StopKind, StopSeen
from unhang.parsers.schedulers_asked import SchedulersAskedParser

HEAD = "JobID           JobName      User          State ExitCode               Start          End"
RULE = "------------ ---------- --------- -------------- -------- ------------------- ----------"
TIMES = "0:0 2026-01-14T11:19:02 2026-01-14T12:12:31   00:53:29"


def slurm(state: str, *, step: str = "", job: int = 60218) -> str:
    return f"{job}{step}    halo_fit   ann   {state}   {TIMES}"


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("TIMEOUT", StopKind.TIME_LIMIT),
        ("PREEMPTED", StopKind.PREEMPTED),
        ("CANCELLED by 0", StopKind.CANCELLED),
        ("CANCELLED+", StopKind.CANCELLED),
        ("NODE_FAIL", StopKind.NODE_FAILED),
    ],
)
def test_the_state_of_a_job(state: str, kind: StopKind) -> None:
    step = slurm("CANCELLED", step=".batch")
    event = only(StopSeen, feed(SchedulersAskedParser, HEAD, RULE, slurm(state), step))
    assert (event.kind, event.told_later) == (kind, True)
    assert event.at is not None


@pytest.mark.parametrize(
    "lines",
    [
        (HEAD, RULE, slurm("COMPLETED")),
        (HEAD, RULE, slurm("FAILED")),
        (HEAD, RULE, slurm("TIMEOUT"), slurm("CANCELLED", job=60219)),
        (slurm("TIMEOUT"),),
        ("JobState=COMPLETED Reason=None",),
    ],
)
def test_states_that_tell_nothing_of_one_job(lines: tuple[str, ...]) -> None:
    assert feed(SchedulersAskedParser, *lines) == []


def test_memory_that_a_step_used() -> None:
    told = feed(SchedulersAskedParser, HEAD, RULE, slurm("OUT_OF_ME+", step=".0"))
    assert only(ProcessEnded, told).oom


def test_the_job_that_is_shown() -> None:
    lines = ("   JobState=TIMEOUT Reason=TimeLimit", "   EndTime=2026-01-14T12:12:31 Deadline=N/A")
    event = only(StopSeen, feed(SchedulersAskedParser, *lines))
    assert event.kind is StopKind.TIME_LIMIT
    assert event.at is not None


def account(*, ran: str, failed: str = "100 : assumedly after job") -> list[StopKind]:
    lines = (
        "end_time     Tue Jul  3 23:10:03 2018",
        f"failed       {failed}",
        "exit_status  137                  (Killed)",
        f"ru_wallclock {ran}",
        "category     -u yu -q gpu.q -l h_rt=1:00:00,h_vmem=32G,gpu=1 -pe smp 4",
    )
    told = feed(SchedulersAskedParser, *lines)
    return [event.kind for event in told if isinstance(event, StopSeen)]


def test_grid_engine_ends_who_ran_as_long_as_allowed() -> None:
    assert account(ran="3601s") == [StopKind.TIME_LIMIT]
    assert account(ran="2205s") == []
    assert account(ran="3601s", failed="0") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            '[Jul30 01:22] exception type="timeout" severity=0 note="allocation expired"',
            StopKind.TIME_LIMIT,
        ),
        (
            '{"timestamp":1.5,"name":"exception","context":{"type":"cancel","severity":0}}',
            StopKind.CANCELLED,
        ),
        ('  "statusReason": "Host EC2 (instance i-0b7d) terminated.",', StopKind.REMOVED),
        (
            '  "message": "Pod was terminated in response to imminent node shutdown.",',
            StopKind.REMOVED,
        ),
    ],
)
def test_other_answers(text: str, kind: StopKind) -> None:
    assert only(StopSeen, feed(SchedulersAskedParser, text)).kind is kind


@pytest.mark.parametrize(
    "text",
    [
        '[Jul30 01:22] exception type="timeout" severity=2 note="soon"',
        'a user wrote: "statusReason": "Host EC2 (instance i-0b7d) terminated."',
        '  "message": "the pod runs",',
    ],
)
def test_what_is_no_answer(text: str) -> None:
    assert feed(SchedulersAskedParser, text) == []


def test_condor_s_log_of_a_job() -> None:
    held = "012 (902211.003.000) 2026-09-06 09:16:44 Job was held."
    why = "\tError from slot1: Job has gone over cgroup memory limit of 24576 megabytes."
    event = only(ProcessEnded, feed(SchedulersAskedParser, held, why, "\tCode 34 Subcode 102"))
    assert (event.oom, event.task) == (True, 3)
    assert event.at is not None
    assert feed(SchedulersAskedParser, held, "\tvia condor_hold (by user ann)") == []
    gone = held.replace("012", "009").replace("held", "aborted")
    event_of_user = only(StopSeen, feed(SchedulersAskedParser, gone, "\tvia condor_rm (by user a)"))
    assert event_of_user.kind is StopKind.CANCELLED


def test_notebooks_that_ran_out_of_memory() -> None:
    text = "Your notebook tried to allocate more memory than is available. It has restarted."
    assert only(ProcessEnded, feed(SchedulersAskedParser, text)).oom
