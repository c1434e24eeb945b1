"""Checks and fleets that pages are made of."""

from __future__ import annotations

from unhang.model.comparison import Interval
from unhang.model.fleet import CauseCount, Fleet, JobRecord, Recurrence, Week
from unhang.model.preflight import CheckReport, Stage, Status, Suspect
from unhang.model.provenance import Message, Problem

HOSTILE = "</title><script>alert(1)</script>\"'\x1b[31m\u202e"


def fleet(count: int) -> Fleet:
    """So many failed jobs, with hostile text in every field that a job's files can fill."""
    jobs = tuple(
        JobRecord(
            name=f"job-{number}",
            paths=(),
            fingerprint="",
            outcome="cause",
            cause="gpu_oom",
            summary=f"{HOSTILE} {'x' * 300}",
            started=1.7e9 + number,
        )
        for number in range(count)
    )
    ratio = Interval(estimate=9.5, low=2.1, high=float("inf"))
    here = Recurrence(name="gpu-07", failures=9, jobs=10, expected=1.2, ratio=ratio, p=0.001)
    return Fleet(
        jobs=jobs,
        judged=count,
        causes=(CauseCount(cause="gpu_oom", jobs=count, gpu_hours=120.0, waited_gpu_hours=4.5),),
        weeks=(
            Week(week="2026-W46", jobs=count, failed=9),
            Week(week="2026-W47", jobs=9, failed=9),
        ),
        by="jobs",
        hosts=(here,),
        hosts_tested=16,
        settings=(),
        settings_tested=3,
        problems=(Problem(artifact=HOSTILE, component="fleet", message=HOSTILE),),
    )


def check_report(text: str = HOSTILE) -> CheckReport:
    """A cluster of two hosts of which one is slow; the text stands where a kernel log is quoted."""
    said = Message(key="fact.kernel_mce", values={"text": text})
    stages = tuple(
        Stage(name="kernel", status=status, message=said, do=said, host=f"gpu-0{number}")
        for number, status in enumerate(Status, start=5)
    )
    return CheckReport(
        hosts=("gpu-07", "gpu-08"),
        world=16,
        verdict=Message(key="fact.limits"),
        stages=stages,
        suspects=(Suspect(stage="pairs", why=said, host="gpu-07"),),
        seconds=12.5,
    )
