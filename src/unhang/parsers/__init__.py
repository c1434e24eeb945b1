"""From lines to events: one file per format; `PARSERS` lists them."""

from __future__ import annotations

from unhang.parsers.base import Parser
from unhang.parsers.cuda import CudaParser
from unhang.parsers.debug_server import DebugServerParser
from unhang.parsers.desync_report import DesyncReportParser
from unhang.parsers.device_guess import DeviceGuessParser
from unhang.parsers.dropped_lines import DroppedLinesParser
from unhang.parsers.dumps import DumpsParser
from unhang.parsers.elastic import ElasticParser
from unhang.parsers.endings import EndingsParser
from unhang.parsers.error_file import ErrorFileParser
from unhang.parsers.fatal_signals import FatalSignalsParser
from unhang.parsers.frameworks import FrameworkParser
from unhang.parsers.gloo import GlooParser
from unhang.parsers.gpu_names import GpuNamesParser
from unhang.parsers.gpu_report import GpuReportParser
from unhang.parsers.gpu_table import GpuTableParser
from unhang.parsers.inspector import InspectorParser
from unhang.parsers.json_stacks import JsonStacksParser
from unhang.parsers.kernel_log import KernelLogParser
from unhang.parsers.kernel_stacks import KernelStacksParser
from unhang.parsers.kubernetes import KubernetesParser
from unhang.parsers.launchers import LaunchersParser
from unhang.parsers.membership import MembershipParser
from unhang.parsers.model_mismatch import ModelMismatchParser
from unhang.parsers.native_stacks import NativeStacksParser
from unhang.parsers.native_threads import NativeThreadsParser
from unhang.parsers.nccl_error import NcclErrorParser
from unhang.parsers.nccl_info import NcclInfoParser
from unhang.parsers.nccl_tests import NcclTestsParser
from unhang.parsers.nccl_warn import NcclWarnParser
from unhang.parsers.phase_marks import PhaseMarkParser
from unhang.parsers.port_report import PortReportParser
from unhang.parsers.progress import ProgressParser
from unhang.parsers.python_stacks import PythonStacksParser
from unhang.parsers.ras import RasParser
from unhang.parsers.ras_json import RasJsonParser
from unhang.parsers.ray_actors import RayActorsParser
from unhang.parsers.run_record import RunRecordParser
from unhang.parsers.settings_seen import SettingParser
from unhang.parsers.slurm import SlurmParser
from unhang.parsers.spawn import SpawnParser
from unhang.parsers.stacks_seen import StackParser
from unhang.parsers.stops import StopsParser
from unhang.parsers.store import StoreParser
from unhang.parsers.topology import TopologyParser
from unhang.parsers.torch_version import TorchVersionParser
from unhang.parsers.torch_voices import TorchVoicesParser
from unhang.parsers.traceback import TracebackParser
from unhang.parsers.versions import VersionParser
from unhang.parsers.watchdog import WatchdogParser
from unhang.parsers.wrapper import WrapperParser

PARSERS: tuple[type[Parser], ...] = (
    CudaParser,
    DebugServerParser,
    DesyncReportParser,
    DeviceGuessParser,
    DroppedLinesParser,
    DumpsParser,
    ElasticParser,
    EndingsParser,
    ErrorFileParser,
    FatalSignalsParser,
    FrameworkParser,
    GlooParser,
    GpuNamesParser,
    GpuReportParser,
    GpuTableParser,
    InspectorParser,
    JsonStacksParser,
    KernelLogParser,
    KernelStacksParser,
    KubernetesParser,
    LaunchersParser,
    MembershipParser,
    ModelMismatchParser,
    NativeStacksParser,
    NativeThreadsParser,
    NcclErrorParser,
    NcclInfoParser,
    NcclTestsParser,
    NcclWarnParser,
    PhaseMarkParser,
    PortReportParser,
    ProgressParser,
    PythonStacksParser,
    RasParser,
    RasJsonParser,
    RayActorsParser,
    RunRecordParser,
    SettingParser,
    SlurmParser,
    SpawnParser,
    StackParser,
    StopsParser,
    StoreParser,
    TopologyParser,
    TorchVersionParser,
    TorchVoicesParser,
    TracebackParser,
    VersionParser,
    WatchdogParser,
    WrapperParser,
)
"""Every parser, in alphabetical order of module."""
