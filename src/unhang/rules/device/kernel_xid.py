"""The kernel log of a host reports a fault of a GPU or of an NVSwitch.

## What it finds
`NVRM: Xid` numbers that accuse the hardware (ECC, off the bus, NVLink, GSP, power), fatal `SXid` of
an NVSwitch, uncorrected PCIe errors and thermal shutdowns; and Xid 13, 31 and 43, which accuse a
kernel of the program. Errors that the GPU corrected (Xid 63 and 92) say nothing.

## Why it hangs
A GPU that stops answering leaves its kernels unfinished; every collective with it waits. The
process often hangs inside the driver, so its watchdog ends late or not at all.

## When it stays quiet
Xid 45 is the clean-up of something else: the Xid that it names counts. The process named in a line
is whoever touched the GPU. Errors of a link beside a killed peer are its echo: a hint. An Xid long
before the failure, or before the job's first work, is a hint, where clocks can be compared.

## How to confirm
`nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT`, `nvidia-smi nvlink -e`, `dcgmi diag -r 3` on
that host.

## What to do
Drain the host, reset or replace the GPU (`nvidia-smi --gpu-reset`, a reboot for 79 and 119), and
open a case with the vendor.

## References
NVIDIA, "XID Errors"; NVIDIA Fabric Manager user guide (SXid).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import KernelEvent, KernelProblem
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import ranks_of
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.device import dating, xids
from unhang.rules.shared import consequences, rivals, speakers

_ORDER = (Strength.HINTS, Strength.SUPPORTS, Strength.PROVES)
_OTHER_FAULTS = frozenset({KernelProblem.PCIE_ERROR, KernelProblem.THERMAL})


@rule("DEV001", "kernel-reports-gpu-fault", cause=Cause.GPU_HARDWARE, needs={Fact.KERNEL_LOG})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the hardware, else one for the program's kernels."""
    log = incident.all(KernelEvent)
    hardware = [k for k in log if xids.number(k) in xids.HARDWARE or _is_broken(k)]
    others = [k for k in log if k.problem in _OTHER_FAULTS]
    program = [k for k in log if xids.number(k) in xids.PROGRAM]
    if hardware:
        yield _finding(incident, hardware, Cause.GPU_HARDWARE, Strength.PROVES)
    elif program:
        yield _finding(incident, program, Cause.GPU_KERNEL_FAULT, Strength.SUPPORTS)
    elif others:
        yield _finding(incident, others, Cause.GPU_HARDWARE, Strength.HINTS)


def _is_broken(event: KernelEvent) -> bool:
    """Whether a driver that counts no Xid reports hardware that failed: of a GPU or a switch."""
    if event.problem is KernelProblem.GPU_FAULT:
        return True
    return event.problem is KernelProblem.NVSWITCH and not event.detail.lower().startswith("non")


def _finding(
    incident: Incident, found: Sequence[KernelEvent], cause: Cause, sure: Strength
) -> Finding:
    ordered = speakers.in_order(found)
    first = ordered[0]
    against = _against(incident, ordered)
    if against is None and dating.is_undated(incident, ordered):
        # Another process failed by itself, and no clock tells whether that was before.
        sure = min(sure, Strength.SUPPORTS, key=_ORDER.index)
    hardware = cause is Cause.GPU_HARDWARE
    return check.finding(
        sure,
        cause=cause,
        claim=say(
            "DEV001.claim",
            "GPU {device} on {hosts} failed: {what}",
            device=first.device or "?",
            hosts=speakers.hosts(found) or "this host",
            what=xids.meaning(first),
        )
        if hardware
        else say(
            "DEV001.claim_program",
            "a kernel of the program failed on GPU {device} of {hosts}: {what}",
            device=first.device or "?",
            hosts=speakers.hosts(found) or "this host",
            what=xids.meaning(first),
        ),
        why=say(
            "DEV001.why",
            "The kernel log reports a fault of the hardware, its firmware or its links.",
        )
        if hardware
        else say(
            "DEV001.why_program",
            "These Xid numbers come from the program's own kernels, rarely from a failing GPU.",
        ),
        rival=against,
        culprits=_owners(incident, found),
        culprit_hosts=speakers.hosts(found),
        explains=consequences.OF_FAILED_HARDWARE if hardware else consequences.OF_A_LOST_GPU,
        at=first.at,
        evidence=ordered,
    )


def _against(incident: Incident, found: Sequence[KernelEvent]) -> Message | None:
    """A killed peer breaks links; an old Xid belongs to another job."""
    first = found[0]
    if xids.number(first) in xids.LINKS and rivals.lost_rank(incident, found) is not None:
        return rivals.of_errors(incident, found)
    gap = dating.seconds_before_failure(incident, first)
    if gap is not None:
        return say(
            "DEV001.against_old", "It happened {before:s} before the job failed.", before=gap
        )
    gap = dating.seconds_before_work(incident, first)
    if gap is not None:
        return say(
            "DEV001.against_before",
            "It happened {before:s} before the job's first work.",
            before=gap,
        )
    return None


def _owners(incident: Incident, found: Sequence[KernelEvent]) -> Ranks:
    """The rank whose process was on the GPU, if exactly one is known."""
    pids = {k.pid for k in found if k.pid is not None}
    owners = frozenset(f.rank for f in incident.roster.values() if f.pids & pids)
    owners |= ranks_of([f for f in incident.failures if f.pid in pids])
    tied = [k.origin.rank for k in found if k.pid is not None or k.device is not None]
    owners |= {rank for rank in tied if rank is not None}
    return owners if len(owners) == 1 else NO_RANKS
