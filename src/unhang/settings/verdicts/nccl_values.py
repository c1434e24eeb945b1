"""What NCCL makes of a value: refused, ignored, dangerous, slow, or the default anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang import lazy_re as re
from unhang.model.lint import Severity
from unhang.settings.lookup import find_setting
from unhang.settings.tables import Library
from unhang.settings.verdicts.base import Check, Given, SettingVerdict, say
from unhang.settings.versions import at_least, at_most, covers

_DEBUG_LEVELS = frozenset({"version", "warn", "info", "abort", "trace", "none"})
_DEBUG_WORDS = frozenset({"warning", "error", "critical", "fatal"})
"""Words of other loggers that mean "tell me what goes wrong"."""

_LEVELS = frozenset({"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "PORT", "SYS"})
_SLOW_PATHS = {
    "NCCL_IB_DISABLE": ("1",),
    "NCCL_P2P_DISABLE": ("1",),
    "NCCL_SHM_DISABLE": ("1",),
    "NCCL_PXN_DISABLE": ("1",),
    "NCCL_NET_GDR_LEVEL": ("0", "LOC"),
}
_SUBSYSTEMS = frozenset(
    {
        *("ALL", "INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL"),
        *("PROXY", "NVLS", "BOOTSTRAP", "REG", "PROFILE", "RAS"),
    }
)
_ALGORITHMS = frozenset(
    {"tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"}
)
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)")
_LOOPBACKS = frozenset({"lo", "docker0", "virbr0"})
_DEFAULT_BUFFER = 4 * 1024 * 1024
_EXPANDED = re.compile(r"%\w|%%")


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge the value of an NCCL variable."""
    own = _CHECKS.get(given.name)
    if own is not None:
        yield from own(given)
    setting = find_setting(given.name)
    if setting is not None and setting.library is Library.NCCL and setting.kind == "int":
        yield from _number(given)


def _number(given: Given) -> Iterator[SettingVerdict]:
    """NCCL takes its default in place of a value that is no whole number."""
    plain = given.value and given.name.startswith("NCCL_") and given.name not in _SLOW_PATHS
    if plain and _NUMBER.fullmatch(given.value) is None:
        yield say(given, "CFG109", Severity.WARNING, "no_number")


_BETWEEN_NODES = frozenset({"NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_PXN_DISABLE"})
"""On one node nothing goes over the network."""


def is_slow_path(name: str, value: str) -> bool:
    """Whether a setting takes NCCL off its fast way."""
    return value in _SLOW_PATHS.get(name, ())


def _debug(given: Given) -> Iterator[SettingVerdict]:
    if given.value and given.value.lower() not in _DEBUG_LEVELS:
        yield say(
            given,
            "CFG108",
            Severity.ERROR,
            "debug_word",
            replacement="NCCL_DEBUG=WARN",
            mechanical=given.value.lower() in _DEBUG_WORDS,
        )
    elif given.value.lower() == "trace":
        yield say(given, "CFG126", Severity.INFO, "trace_left", replacement="NCCL_DEBUG=WARN")


def _debug_file(given: Given) -> Iterator[SettingVerdict]:
    """Of what may follow a percent sign NCCL knows the host and the process."""
    words = _EXPANDED.findall(given.value)
    unknown = [word for word in words if word not in ("%%", "%h", "%p")]
    if unknown and "%p" not in words:
        use = f"NCCL_DEBUG_FILE={given.value.replace(unknown[0], '%h.%p', 1)}"
        told = ", ".join(dict.fromkeys(unknown))
        yield say(given, "CFG108", Severity.WARNING, "debug_file", replacement=use, words=told)


def _algo(given: Given) -> Iterator[SettingVerdict]:
    """Tree alone leaves AllGather and ReduceScatter without an algorithm in many releases."""
    version = given.context.nccl
    if given.value.strip().lower() != "tree":
        yield from _algo_words(given, version)
        return
    fails = covers(version, "2.24", None) is True or covers(version, "2.17", "2.18") is True
    harmless = covers(version, "2.7", "2.16") is True or covers(version, "2.19", "2.23") is True
    use = "NCCL_ALGO=ring,tree;allreduce:tree" if at_least(version, "2.24") else None
    if not harmless:
        severity = Severity.ERROR if fails else Severity.WARNING
        yield say(given, "CFG115", severity, "algo_tree", replacement=use)


def _algo_words(given: Given, version: str | None) -> Iterator[SettingVerdict]:
    """From 2.24 on algorithms may be named by function, and unknown words are refused."""
    by_function = ":" in given.value
    if by_function and at_least(version, "2.24") is False:
        yield say(given, "CFG106", Severity.WARNING, "algo_by_function", version=version)
    elif at_least(version, "2.24") is True:
        lists = (part.rpartition(":")[2].lstrip("^") for part in given.value.lower().split(";"))
        words = [word.strip() for words in lists for word in words.split(",")]
        unknown = [word for word in words if word and word not in _ALGORITHMS]
        if unknown:
            yield say(given, "CFG108", Severity.ERROR, "algo_word", words=", ".join(unknown))
        elif by_function and given.value.startswith("allreduce:") and _proto_for_all(given):
            use = f"NCCL_ALGO=ring,tree;{given.value}"
            yield say(given, "CFG115", Severity.WARNING, "algo_unnamed", replacement=use)


def _proto_for_all(given: Given) -> bool:
    """From 2.31 on a protocol for all functions leaves unnamed ones without an algorithm."""
    proto = given.context.others.get("NCCL_PROTO", "")
    return at_least(given.context.nccl, "2.31") is True and proto != "" and ":" not in proto


def _proto(given: Given) -> Iterator[SettingVerdict]:
    if given.context.others.get("FI_PROVIDER", "").lower() == "efa":
        yield say(given, "CFG122", Severity.WARNING, "efa_forced")
    if given.value.strip().lower() == "ll128":
        yield say(given, "CFG123", Severity.WARNING, "proto_ll128", replacement="NCCL_PROTO=^LL128")


def _ib_timeout(given: Given) -> Iterator[SettingVerdict]:
    number = given.number
    if number is None:
        return
    if number <= 0 or number >= 32:
        yield say(
            given, "CFG114", Severity.ERROR, "ib_timeout_forever", replacement="NCCL_IB_TIMEOUT=20"
        )
    elif number >= 22:
        yield say(given, "CFG116", Severity.INFO, "ib_timeout_long", seconds=_fault_s(number))


def _fault_s(exponent: float) -> float:
    """Seconds for one lost packet: 4.096 µs doubled `exponent` times, with seven retries."""
    return round(4.096e-6 * 2**exponent * 7, 1)


def _slow_path(given: Given) -> Iterator[SettingVerdict]:
    if given.context.nodes == 1 and given.name in _BETWEEN_NODES:
        return
    if is_slow_path(given.name, given.value):
        together = [
            n for n, v in given.context.others.items() if n != given.name and is_slow_path(n, v)
        ]
        topic = "slow_paths" if together else "slow_path"
        also = ", ".join(sorted(together))
        yield say(given, "CFG113", Severity.WARNING, topic, also=also)
    elif given.name == "NCCL_P2P_DISABLE":
        yield say(given, "CFG109", Severity.INFO, "only_one_counts", futile=True)
    else:
        yield from _level(given)


def _level(given: Given) -> Iterator[SettingVerdict]:
    value = given.value.strip()
    if given.name.endswith("_LEVEL") and value not in _LEVELS and value.upper() in _LEVELS:
        yield say(
            given,
            "CFG109",
            Severity.WARNING,
            "lower_case",
            replacement=f"{given.name}={value.upper()}",
            futile=True,
        )


def _nvls(given: Given) -> Iterator[SettingVerdict]:
    if given.value == "1" and at_most(given.context.nccl, "2.17") is not True:
        yield say(given, "CFG110", Severity.INFO, "nvls_on", futile=True)


def _buffsize(given: Given) -> Iterator[SettingVerdict]:
    number = given.number
    if number is not None and 0 < number < _DEFAULT_BUFFER:
        yield say(given, "CFG122", Severity.INFO, "buffsize_small", futile=True)


def _launch_mode(given: Given) -> Iterator[SettingVerdict]:
    if given.value.upper() == "PARALLEL":
        yield say(given, "CFG110", Severity.INFO, "same_as_default", futile=True)


def _interface(given: Given) -> Iterator[SettingVerdict]:
    if given.value.startswith("^"):
        yield from _excluded(given)
        return
    names = {name.strip() for name in given.value.lstrip("=").split(",")}
    if names & _LOOPBACKS and given.context.nodes is not None and given.context.nodes > 1:
        yield say(given, "CFG117", Severity.ERROR, "interface_local", nodes=given.context.nodes)


def _excluded(given: Given) -> Iterator[SettingVerdict]:
    """A list of exclusions takes the place of NCCL's own, which leaves out `lo` and `docker`.

    NCCL src/misc/socket.cc: only without NCCL_SOCKET_IFNAME it looks for `^docker,lo`; names in the
    list are prefixes.
    """
    left_out = [name.strip() for name in given.value[1:].split(",")]
    if given.context.nodes != 1 and not any(name and "lo".startswith(name) for name in left_out):
        use = f"{given.name}={given.value},lo"
        yield say(given, "CFG117", Severity.WARNING, "interface_keeps_lo", replacement=use)


def _hca(given: Given) -> Iterator[SettingVerdict]:
    value = given.value.strip()
    if value in ("mlx5", "mlx4"):
        yield say(given, "CFG110", Severity.INFO, "hca_all", futile=True)
    elif not value.startswith(("=", "^")) and any(
        name.strip().split(":")[0] in ("mlx5_1", "mlx5_2") for name in value.split(",")
    ):
        yield say(given, "CFG122", Severity.INFO, "hca_prefix", replacement=f"NCCL_IB_HCA=={value}")


def _gid(given: Given) -> Iterator[SettingVerdict]:
    if given.value != "-1" and at_least(given.context.nccl, "2.21") is True:
        yield say(given, "CFG122", Severity.INFO, "gid_index")


def _traffic_class(given: Given) -> Iterator[SettingVerdict]:
    if given.value not in ("0", "-1"):
        yield say(given, "CFG116", Severity.INFO, "traffic_class")


def _subsystems(given: Given) -> Iterator[SettingVerdict]:
    words = [word.strip().lstrip("^").upper() for word in given.value.split(",")]
    unknown = [word for word in words if word and word not in _SUBSYSTEMS]
    if unknown:
        yield say(given, "CFG109", Severity.WARNING, "subsystem_word", words=", ".join(unknown))
    if words == ["ALL"] and given.context.others.get("NCCL_DEBUG", "").upper() in ("INFO", "TRACE"):
        yield say(given, "CFG126", Severity.INFO, "subsystems_all")


_CHECKS: Mapping[str, Check] = {
    "NCCL_DEBUG": _debug,
    "NCCL_DEBUG_FILE": _debug_file,
    "NCCL_DEBUG_SUBSYS": _subsystems,
    "NCCL_ALGO": _algo,
    "NCCL_PROTO": _proto,
    "NCCL_IB_TIMEOUT": _ib_timeout,
    "NCCL_IB_DISABLE": _slow_path,
    "NCCL_P2P_DISABLE": _slow_path,
    "NCCL_SHM_DISABLE": _slow_path,
    "NCCL_PXN_DISABLE": _slow_path,
    "NCCL_NET_GDR_LEVEL": _slow_path,
    "NCCL_P2P_LEVEL": _level,
    "NCCL_NVLS_ENABLE": _nvls,
    "NCCL_BUFFSIZE": _buffsize,
    "NCCL_LAUNCH_MODE": _launch_mode,
    "NCCL_SOCKET_IFNAME": _interface,
    "NCCL_IB_HCA": _hca,
    "NCCL_IB_GID_INDEX": _gid,
    "NCCL_IB_TC": _traffic_class,
}
