"""The words of a remedy: what can be done, and how one framework writes it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from unhang.model.diagnosis import FixKind
from unhang.remedies.context import RemedyContext

Value: TypeAlias = "bool | int | float | str | list[str] | Mapping[str, Value] | None"
"""What a setting can be set to; None is a flag without a value (command line), or null."""


class Cure(enum.Enum):
    """One thing to do. The value is the key of its sentences: `fix.<value>.title` and others."""

    LONGER_TIMEOUT = "longer_timeout"
    # Frameworks write these each in their own way.
    SHARDED_SAVE = "sharded_save"
    ASYNC_SAVE = "async_save"
    SMALLER_SAVE = "smaller_save"
    SAVE_RARELY = "save_rarely"
    SAVE_OFTEN = "save_often"
    EVAL_SMALLER = "eval_smaller"
    EVAL_LESS_MEMORY = "eval_less_memory"
    EVAL_RARELY = "eval_rarely"
    PREPARE_DATA = "prepare_data"
    FASTER_DATA = "faster_data"
    SMALLER_BATCH = "smaller_batch"
    RECOMPUTE = "recompute"
    FEWER_LOADERS = "fewer_loaders"
    LEAN_LOAD = "lean_load"
    EVEN_STEPS = "even_steps"
    UNUSED_PARAMETERS = "unused_parameters"
    NO_COMPILE = "no_compile"
    # Only servers of models have it.
    FEWER_REQUESTS = "fewer_requests"
    # These are the same for everybody, but for the way a variable reaches the ranks.
    FIX_EXCEPTION = "fix_exception"
    RECORD_ERRORS = "record_errors"
    STOP_TOGETHER = "stop_together"
    SHARED_GPU = "shared_gpu"
    ALLOCATOR = "allocator"
    MORE_HOST_MEMORY = "more_host_memory"
    FAULT_HANDLER = "fault_handler"
    EXCLUDE_NODE = "exclude_node"
    DETAIL = "detail"
    OUT_OF_BRANCH = "out_of_branch"
    LAUNCH_ORDER = "launch_order"
    SAME_ORDER = "same_order"
    ONE_QUEUE = "one_queue"
    FAST_PATH = "fast_path"
    TRANSPORT_CHECK = "transport_check"
    INTERFACE = "interface"
    MEMLOCK = "memlock"
    GID_INDEX = "gid_index"
    IB_PATIENCE = "ib_patience"
    IB_OFF = "ib_off"
    P2P_OFF = "p2p_off"
    ACS_OFF = "acs_off"
    MORE_SHM = "more_shm"
    GPU_CHECK = "gpu_check"
    FABRIC_MANAGER = "fabric_manager"
    BLOCKING_LAUNCH = "blocking_launch"
    OWN_STORE = "own_store"
    FREE_PORT = "free_port"
    ONE_ENDPOINT = "one_endpoint"
    LONGER_RENDEZVOUS = "longer_rendezvous"
    SET_DEVICE = "set_device"
    SAME_VERSIONS = "same_versions"
    CHANGE_VERSION = "change_version"
    WARM_CACHE = "warm_cache"
    LONGER_LIMIT = "longer_limit"
    KEEP_SESSION = "keep_session"
    REQUEUE = "requeue"
    FEWER_PROCESSES = "fewer_processes"
    EFA_CHECK = "efa_check"
    CONSUMER_GPU = "consumer_gpu"
    DRIVER_LIBRARY = "driver_library"
    NEWER_DRIVER = "newer_driver"
    FREE_DISK = "free_disk"
    WHY_NO_WRITE = "why_no_write"
    MAP_COUNT = "map_count"
    SHARE_BY_FILES = "share_by_files"
    GLOO_BACKEND = "gloo_backend"
    LATE_RANK = "late_rank"
    RANK0_WORK = "rank0_work"
    LOOK_AT_RANK = "look_at_rank"


BY_FRAMEWORK = (
    Cure.SHARDED_SAVE,
    Cure.ASYNC_SAVE,
    Cure.SMALLER_SAVE,
    Cure.SAVE_RARELY,
    Cure.SAVE_OFTEN,
    Cure.EVAL_SMALLER,
    Cure.EVAL_LESS_MEMORY,
    Cure.EVAL_RARELY,
    Cure.PREPARE_DATA,
    Cure.FASTER_DATA,
    Cure.SMALLER_BATCH,
    Cure.RECOMPUTE,
    Cure.FEWER_LOADERS,
    Cure.LEAN_LOAD,
    Cure.EVEN_STEPS,
    Cure.UNUSED_PARAMETERS,
    Cure.NO_COMPILE,
)
"""What every framework's file answers, if only with no recipe: it has no setting for it."""

OF_SERVERS = (Cure.FEWER_REQUESTS,)
"""What only the files of programs that serve models answer."""

PROBES = frozenset(
    {
        Cure.RECORD_ERRORS,
        Cure.SHARED_GPU,
        Cure.FAULT_HANDLER,
        Cure.DETAIL,
        Cure.TRANSPORT_CHECK,
        Cure.IB_OFF,
        Cure.GPU_CHECK,
        Cure.BLOCKING_LAUNCH,
        Cure.CHANGE_VERSION,
        Cure.NO_COMPILE,
        Cure.LATE_RANK,
        Cure.LOOK_AT_RANK,
    }
)
"""They find out more, and cure nothing by themselves."""

WORKAROUNDS = frozenset(
    {
        Cure.LONGER_TIMEOUT,
        Cure.SMALLER_SAVE,
        Cure.SAVE_RARELY,
        Cure.EVAL_RARELY,
        Cure.STOP_TOGETHER,
        Cure.ALLOCATOR,
        Cure.IB_PATIENCE,
        Cure.P2P_OFF,
        Cure.EXCLUDE_NODE,
        Cure.UNUSED_PARAMETERS,
        Cure.FREE_PORT,
        Cure.LONGER_RENDEZVOUS,
        Cure.SAVE_OFTEN,
        Cure.REQUEUE,
        Cure.ONE_QUEUE,
        Cure.CONSUMER_GPU,
        Cure.RANK0_WORK,
    }
)
"""They go around the cause."""


def kind_of(cure: Cure) -> FixKind:
    """What a cure is, where the case does not say otherwise."""
    if cure in PROBES:
        return FixKind.PROBE
    return FixKind.WORKAROUND if cure in WORKAROUNDS else FixKind.CURE


class PatchLanguage(enum.Enum):
    """In what language a patch is written. The value is `where` in the JSON contract."""

    YAML = "yaml"
    JSON = "json"
    CLI = "cli"
    HYDRA = "hydra"
    PYTHON = "python"
    ENV = "env"
    SHELL = "shell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a cure that is the same for every framework is written for a case.

    Attributes:
        form: language of the patch.
        settings: names and values that `form` spells.
        text: the patch itself, where it is more than settings.
        place: where the user writes it, in technical words.
        told: what the evidence names, for the title `fix.<cure>.title.named`.
        risk: the sentence `fix.<cure>.risk.<risk>`, where the general one does not fit.
        kind: where it is not what the cure mostly is.
        device_only: it changes nothing where ranks talk by Gloo.
    """

    form: PatchLanguage
    settings: Mapping[str, Value] = field(default_factory=dict)
    text: str = ""
    place: str = ""
    told: Mapping[str, object] = field(default_factory=dict)
    risk: str | None = None
    kind: FixKind | None = None
    device_only: bool = False


GeneralCure: TypeAlias = Callable[[RemedyContext], "Recipe | None"]
"""A cure that is the same for everybody; None where the case does not call for it."""
