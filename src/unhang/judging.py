"""From an incident to the findings of all rules that can run, and what the others lacked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unhang.model.events import (
    BandwidthMeasured,
    BarrierMissing,
    ClosingSignal,
    CollectivesMeasured,
    CollectiveTimeout,
    CommunicatorStage,
    DesyncReported,
    DeviceFault,
    DeviceGuessed,
    DumpRead,
    DumpSignal,
    DumpUnusable,
    FingerprintMismatch,
    GlooFault,
    GpuProcess,
    GpuState,
    GroupStatus,
    HoldUp,
    HostReport,
    InterfaceUsed,
    KernelEvent,
    ModelMismatch,
    NcclFailure,
    PhaseMark,
    ProcessEnded,
    Progress,
    PythonException,
    RasReport,
    Seen,
    StackRefused,
    StackSeen,
    StopSeen,
    StoreFault,
    ThreadStack,
    TopologySeen,
    TransportUsed,
    VersionSeen,
    WatchdogStuck,
    WorldSeen,
)
from unhang.model.finding import Finding
from unhang.model.incident import Incident
from unhang.model.provenance import Problem
from unhang.model.rule import Fact
from unhang.rules import RULES

_SHOWN_BY: Mapping[Fact, tuple[type[Seen], ...]] = {
    Fact.TIMEOUTS: (CollectiveTimeout,),
    Fact.STATUS: (GroupStatus, DumpSignal, WatchdogStuck),
    Fact.DESYNC_REPORT: (DesyncReported,),
    Fact.FINGERPRINTS: (FingerprintMismatch, ModelMismatch),
    Fact.BARRIERS: (BarrierMissing,),
    Fact.EXCEPTIONS: (PythonException,),
    Fact.EXITS: (ProcessEnded, ClosingSignal),
    Fact.KERNEL_LOG: (KernelEvent,),
    Fact.DEVICE_ERRORS: (DeviceFault,),
    Fact.NCCL_WARNINGS: (NcclFailure,),
    Fact.NCCL_INFO: (CommunicatorStage, InterfaceUsed, TransportUsed),
    Fact.STORE: (StoreFault,),
    Fact.GLOO: (GlooFault,),
    Fact.PHASES: (PhaseMark, Progress),
    Fact.STOPS: (StopSeen,),
    Fact.STACKS: (StackRefused, StackSeen, ThreadStack),
    Fact.RAS: (RasReport,),
    Fact.HOST_REPORTS: (HostReport,),
    Fact.DUMPS: (DumpRead,),
    Fact.UNUSABLE_DUMPS: (DumpUnusable,),
    Fact.ANNOUNCEMENTS: (WorldSeen,),
    Fact.GUESSES: (DeviceGuessed,),
    Fact.VERSIONS: (VersionSeen,),
    Fact.BANDWIDTH: (BandwidthMeasured,),
    Fact.INSPECTOR: (CollectivesMeasured,),
    Fact.GPU_TABLE: (GpuProcess, GpuState, TopologySeen),
    Fact.LIVE: (HoldUp,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the rules say, which of them broke, and which could not run."""

    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...]
    missing_facts: Mapping[str, tuple[str, ...]]


def judge(incident: Incident) -> Judgement:
    """Run every rule whose facts are there; a rule that breaks costs only itself."""
    shown = {type(event) for event in incident.events}
    present = {fact for fact, kinds in _SHOWN_BY.items() if shown.intersection(kinds)}
    findings: list[Finding] = []
    problems: list[Problem] = []
    missing: dict[str, tuple[str, ...]] = {}
    for rule in RULES:
        if rule.needs and not rule.needs & present:
            missing[rule.code] = tuple(sorted(fact.value for fact in rule.needs))
            continue
        try:
            findings.extend(rule(incident))
        except Exception as error:
            problems.append(
                Problem(
                    artifact="",
                    component=rule.code,
                    message=f"rule {rule.code} failed ({type(error).__name__}: {error});"
                    " the other rules were run",
                )
            )
    return Judgement(findings=tuple(findings), problems=tuple(problems), missing_facts=missing)
