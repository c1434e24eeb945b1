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
from unhang.model.events.course import (
    FrameworkSeen,
    LinesDropped,
    PhaseMark,
    Progress,
    SettingSeen,
    StackSeen,
    UnreadLine,
    VersionSeen,
    WorldSeen,
)
from unhang.model.events.gpus import DeviceLink, GpuProcess, GpuState, TopologySeen
from unhang.model.events.index import EventIndex
from unhang.model.events.live import Charge, HoldUp, Stage
from unhang.model.events.measures import CollectivesMeasured, Pace
from unhang.model.events.process import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    ExceptionKind,
    Finished,
    KernelEvent,
    KernelProblem,
    ProcessEnded,
    PythonException,
    Reporter,
    Restarted,
    StopKind,
    StopSeen,
)
from unhang.model.events.recorder import DumpFlaw, DumpRead, DumpUnusable
from unhang.model.events.reports import (
    HostProblem,
    HostReport,
    RasGroup,
    RasProblem,
    RasReport,
)
from unhang.model.events.stacks import StackKind, StackRefused, ThreadStack
from unhang.model.frames import Frame

Event: TypeAlias = (
    CollectiveTimeout
    | GroupStatus
    | DumpSignal
    | WatchdogStuck
    | WatchdogAborted
    | DesyncReported
    | BarrierMissing
    | FingerprintMismatch
    | ModelMismatch
    | NcclFailure
    | CommunicatorStage
    | InterfaceUsed
    | TransportUsed
    | BandwidthMeasured
    | DeviceGuessed
    | StoreFault
    | GlooFault
    | PythonException
    | DeviceFault
    | KernelEvent
    | ProcessEnded
    | ClosingSignal
    | StopSeen
    | Restarted
    | Finished
    | PhaseMark
    | Progress
    | VersionSeen
    | FrameworkSeen
    | SettingSeen
    | WorldSeen
    | LinesDropped
    | UnreadLine
    | StackRefused
    | StackSeen
    | ThreadStack
    | RasReport
    | HostReport
    | CollectivesMeasured
    | GpuProcess
    | GpuState
    | TopologySeen
    | DumpRead
    | DumpUnusable
    | HoldUp
)
"""Closed union of everything that a parser may say."""

__all__ = [
    "BandwidthMeasured",
    "BarrierMissing",
    "Charge",
    "ClosingSignal",
    "CollectiveTimeout",
    "CollectivesMeasured",
    "CommunicatorStage",
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
    "Event",
    "EventIndex",
    "ExceptionKind",
    "Fingerprint",
    "FingerprintMismatch",
    "Finished",
    "Frame",
    "FrameworkSeen",
    "GlooFault",
    "GlooProblem",
    "GpuProcess",
    "GpuState",
    "GroupRef",
    "GroupStatus",
    "HoldUp",
    "HostProblem",
    "HostReport",
    "InitStage",
    "InterfaceUsed",
    "KernelEvent",
    "KernelProblem",
    "LinesDropped",
    "ModelDifference",
    "ModelMismatch",
    "NcclClass",
    "NcclFailure",
    "NcclReason",
    "Pace",
    "PhaseMark",
    "ProcessEnded",
    "Progress",
    "PythonException",
    "RasGroup",
    "RasProblem",
    "RasReport",
    "Reporter",
    "Restarted",
    "Seen",
    "SettingSeen",
    "StackKind",
    "StackRefused",
    "StackSeen",
    "Stage",
    "StopKind",
    "StopSeen",
    "StoreFault",
    "StoreProblem",
    "Teardown",
    "ThreadStack",
    "TopologySeen",
    "TransportUsed",
    "UnreadLine",
    "VersionSeen",
    "WatchdogAborted",
    "WatchdogStuck",
    "WorldSeen",
]
