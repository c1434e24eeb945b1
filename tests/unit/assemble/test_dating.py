"""Times that are not told, and events of another time."""

from pathlib import Path

import pytest

import unhang
from support.builders import at, ended, incident, timeout
from support.crashes import raised
from support.job_text import incident_of
from unhang.model.events import BarrierMissing, Event, PythonException
from unhang.model.finding import Strength
from unhang.rules.crash.rank_raised import check


def test_the_abort_of_a_rank_dates_its_time_out() -> None:
    found = incident(timeout(0, line=1), ended(0, signal=6, when=600, line=9))
    (dated,) = found.timeouts
    assert dated.at is not None
    assert dated.at.seconds == at(600).seconds


def test_the_head_of_a_traceback_dates_what_its_last_line_tells() -> None:
    job = incident_of(
        "[2026-09-10 08:12:48 TP2] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/srv/run.py", line 41, in load_model',
        "    dist.monitored_barrier(timeout=limit)",
        "RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors while"
        " waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
    )
    (barrier,), (error,) = job.all(BarrierMissing), job.all(PythonException)
    assert barrier.at == error.at
    assert barrier.at is not None


def test_what_has_a_time_keeps_it() -> None:
    found = incident(timeout(0, when=10, line=1), ended(0, signal=6, when=600, line=9))
    assert found.timeouts[0].at == at(10)


def test_another_rank_or_another_end_dates_nothing() -> None:
    ends = (ended(1, signal=6, when=600, line=9), ended(0, signal=15, when=600, line=10))
    assert incident(timeout(0, line=1), *ends).timeouts[0].at is None


def test_the_table_orders_an_exception_that_is_printed_later() -> None:
    events: list[Event] = [
        timeout(0, line=1),
        raised(3, line=50),
        ended(3, exit_code=1, when=0, line=60),
        ended(0, signal=6, when=600, line=61),
    ]
    (finding,) = check(incident(*events))
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {3}
    together = [*events[:3], ended(0, signal=6, when=1, line=61)]
    (finding,) = check(incident(*together))
    assert finding.strength is Strength.HINTS


_KERNEL = (
    "gpu-07 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.",
    "gpu-07 kernel: NVRM: Xid (PCI:0000:9b:00): 31, pid=1, name=python, MMU Fault",
    "gpu-07 kernel: mlx5_core 0000:3b:00.0: Port: 1 Link DOWN",
    "gpu-07 kernel: Out of memory: Killed process 812 (python3) total-vm:9kB, anon-rss:8kB",
)


@pytest.mark.parametrize("said", _KERNEL)
def test_what_the_kernel_logged_weeks_before_the_work_is_of_no_rule(
    said: str, tmp_path: Path
) -> None:
    """The same line of the day of the work is evidence."""

    work = [f"2026-11-21 10:4{n}:00 INFO host gpu-07 step {n}/90 loss 2.{n}" for n in range(9)]

    def told(day: str) -> bool:
        waited = (
            "[rank0]:[E1121 11:00:00.0 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught "
            "collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=1, "
            "NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
        )
        (tmp_path / "job.log").write_text("\n".join([*work, waited]) + "\n")
        (tmp_path / "kern.log").write_text(f"{day} 10:49:00 {said}\n")
        found = unhang.diagnose(str(tmp_path))
        lines = [e.artifact for c in found.candidates for e in c.evidence]
        return any(str(artifact).endswith("kern.log") for artifact in lines)

    assert not told("Oct 28")
    assert told("Nov 21")


def test_trouble_below_work_of_a_later_day_is_shown_there(tmp_path: Path) -> None:
    work = [f"2026-05-01 10:00:{n:02},123 INFO step {n}/60 loss 2.0" for n in range(1, 30)]
    ended = "2026-0{day} 10:01:00,123 ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to"
    log = tmp_path / "train.log"
    for day, outcome in (("4-29", "undetermined"), ("5-01", "cause")):
        log.write_text("\n".join([*work, ended.format(day=day)]) + " allocate 2.00 GiB.\n")
        assert unhang.diagnose(str(log)).outcome.value == outcome
