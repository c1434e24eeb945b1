"""Events: everything that a parser may say. The union is closed."""

from __future__ import annotations

from typing import TypeAlias

from unhang.model.events.base import GroupRef, Seen
from unhang.model.events.collective import (
    BarrierMissing,
    CollectiveTimeout,
    DesyncReported,
    DumpReason,
    DumpSignal,
    Fingerprint,
    FingerprintMismatch,
    GroupStatus,
    ModelDifference,
    ModelMismatch,
    Teardown,
    Waiter,
    WatchdogAborted,
    WatchdogStuck,
)
from unhang.model.events.communication import (
    BandwidthMeasured,
    CommunicatorStage,
    DeviceGuessed,
    GlooFault,
    GlooProblem,
    InitStage,
    InterfaceUsed,
    NcclClass,
    NcclFailure,
    NcclReason,
    StoreFault,
    StoreProblem,
    TransportUsed,
)
from unhang.model.events.gpus import (
    DeviceLink,
    GpuProcess,
    GpuState,
    GpuUuid,
    PeerPathMeasured,
    TopologySeen,
)
from unhang.model.events.hosts import HostAddress, HostsDiffer, LinkMeasured, SharedMemorySeen
from unhang.model.events.index import EventIndex
from unhang.model.events.lifecycle import (
    ApartKind,
    FrameworkSeen,
    LastLine,
    LinesDropped,
    LoopEnd,
    LoopLeft,
    OneDiffers,
    PhaseMark,
    Progress,
    RanksApart,
    RankWork,
    SettingSeen,
    SettingTried,
    StackSeen,
    StepsPlanned,
    UnreadLine,
    VersionSeen,
    WorldSeen,
)
from unhang.model.events.live import HoldUp, Stage, SuspicionReason, WaitsSeen
from unhang.model.events.meaning import TROUBLE, Fact, Role, Witness
from unhang.model.events.measures import (
    CollectivesMeasured,
    LinkLoad,
    Pace,
    Part,
    RankTimed,
    StepParts,
    StepsTimed,
)
from unhang.model.events.process import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    Finished,
    HostMemoryUsed,
    KernelEvent,
    KernelProblem,
    MemoryKillsCounted,
    ProcessEnded,
    PythonException,
    Reporter,
    Restarted,
    StopKind,
    StopSeen,
)
from unhang.model.events.recorder import DumpFlaw, DumpRead, DumpUnusable
from unhang.model.events.reports import (
    CheckFault,
    HostProblem,
    HostReport,
    RasGroup,
    RasProblem,
    RasReport,
)
from unhang.model.events.stacks import LoopStood, StackKind, StackRefused, ThreadStack
from unhang.model.frames import Frame

Alarm: TypeAlias = (
    CollectiveTimeout
    | GroupStatus
    | DumpSignal
    | WatchdogStuck
    | WatchdogAborted
    | DesyncReported
    | BarrierMissing
)
"""Somebody gave up waiting for others."""

Fault: TypeAlias = (
    FingerprintMismatch
    | ModelMismatch
    | NcclFailure
    | StoreFault
    | GlooFault
    | PythonException
    | DeviceFault
    | KernelEvent
)
"""Something failed."""

End: TypeAlias = ProcessEnded | ClosingSignal | StopSeen | Finished
"""A process or the job ended."""

Connection: TypeAlias = CommunicatorStage | InterfaceUsed | TransportUsed | DeviceGuessed
"""Ranks connect to each other."""

Setup: TypeAlias = VersionSeen | FrameworkSeen | SettingSeen | WorldSeen | StepsPlanned
"""What the job is made of."""

Report: TypeAlias = (
    SettingTried
    | LoopLeft
    | LastLine
    | LinesDropped
    | OneDiffers
    | RanksApart
    | UnreadLine
    | LoopStood
    | StackRefused
    | StackSeen
    | RankTimed
    | RankWork
    | StepsTimed
    | ThreadStack
    | RasReport
    | HostReport
    | CheckFault
    | GpuProcess
    | GpuState
    | GpuUuid
    | TopologySeen
    | PeerPathMeasured
    | LinkLoad
    | HostAddress
    | HostsDiffer
    | LinkMeasured
    | SharedMemorySeen
    | StepParts
    | CollectivesMeasured
    | BandwidthMeasured
    | DumpRead
    | DumpUnusable
    | HoldUp
    | WaitsSeen
    | HostMemoryUsed
    | MemoryKillsCounted
)
"""What somebody reports who was asked or looks on."""

Event: TypeAlias = (
    Alarm | Fault | End | Restarted | Progress | PhaseMark | Connection | Setup | Report
)
"""Closed union of everything that a parser may say, each in the union of its role."""

__all__ = [
    "TROUBLE",
    "Alarm",
    "ApartKind",
    "BandwidthMeasured",
    "BarrierMissing",
    "CheckFault",
    "ClosingSignal",
    "CollectiveTimeout",
    "CollectivesMeasured",
    "CommunicatorStage",
    "Connection",
    "DesyncReported",
    "DeviceFault",
    "DeviceGuessed",
    "DeviceLink",
    "DeviceProblem",
    "DumpFlaw",
    "DumpRead",
    "DumpReason",
    "DumpSignal",
    "DumpUnusable",
    "End",
    "Event",
    "EventIndex",
    "ExceptionKind",
    "Fact",
    "Fault",
    "Fingerprint",
    "FingerprintMismatch",
    "Finished",
    "Frame",
    "FrameworkSeen",
    "GlooFault",
    "GlooProblem",
    "GpuProcess",
    "GpuState",
    "GpuUuid",
    "GroupRef",
    "GroupStatus",
    "HoldUp",
    "HostAddress",
    "HostMemoryUsed",
    "HostProblem",
    "HostReport",
    "HostsDiffer",
    "InitStage",
    "InterfaceUsed",
    "KernelEvent",
    "KernelProblem",
    "LastLine",
    "LinesDropped",
    "LinkLoad",
    "LinkMeasured",
    "LoopEnd",
    "LoopLeft",
    "LoopStood",
    "MemoryKillsCounted",
    "ModelDifference",
    "ModelMismatch",
    "NcclClass",
    "NcclFailure",
    "NcclReason",
    "OneDiffers",
    "Pace",
    "Part",
    "PeerPathMeasured",
    "PhaseMark",
    "ProcessEnded",
    "Progress",
    "PythonException",
    "RankTimed",
    "RankWork",
    "RanksApart",
    "RasGroup",
    "RasProblem",
    "RasReport",
    "Report",
    "Reporter",
    "Restarted",
    "Role",
    "Seen",
    "SettingSeen",
    "SettingTried",
    "Setup",
    "SharedMemorySeen",
    "StackKind",
    "StackRefused",
    "StackSeen",
    "Stage",
    "StepParts",
    "StepsPlanned",
    "StepsTimed",
    "StopKind",
    "StopSeen",
    "StoreFault",
    "StoreProblem",
    "SuspicionReason",
    "Teardown",
    "ThreadStack",
    "TopologySeen",
    "TransportUsed",
    "UnreadLine",
    "VersionSeen",
    "Waiter",
    "WaitsSeen",
    "WatchdogAborted",
    "WatchdogStuck",
    "Witness",
    "WorldSeen",
]
