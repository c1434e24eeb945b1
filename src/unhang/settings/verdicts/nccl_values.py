"""What NCCL makes of a value: refused, ignored, dangerous, slow, or the default anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.lint import Severity
from unhang.settings.verdicts.base import Check, Given, Verdict, say
from unhang.settings.versions import at_least, at_most, covers

_DEBUG_LEVELS = frozenset({"version", "warn", "info", "abort", "trace", "none"})
_LEVELS = frozenset({"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "PORT", "SYS"})
_SLOW_PATHS = {
    "NCCL_IB_DISABLE": ("1",),
    "NCCL_P2P_DISABLE": ("1",),
    "NCCL_SHM_DISABLE": ("1",),
    "NCCL_PXN_DISABLE": ("1",),
    "NCCL_NET_GDR_LEVEL": ("0", "LOC"),
}
_LOOPBACKS = frozenset({"lo", "docker0", "virbr0"})
_DEFAULT_BUFFER = 4 * 1024 * 1024


def check(given: Given) -> Iterator[Verdict]:
    """Judge the value of an NCCL variable."""
    own = _CHECKS.get(given.name)
    if own is not None:
        yield from own(given)


def is_slow_path(name: str, value: str) -> bool:
    """Whether a setting takes NCCL off its fast way."""
    return value in _SLOW_PATHS.get(name, ())


def _debug(given: Given) -> Iterator[Verdict]:
    if given.value and given.value.lower() not in _DEBUG_LEVELS:
        yield say(given, "CFG108", Severity.ERROR, "debug_word", replacement="NCCL_DEBUG=WARN")


def _algo(given: Given) -> Iterator[Verdict]:
    """Tree alone leaves AllGather and ReduceScatter without an algorithm in many releases."""
    if given.value.strip().lower() != "tree":
        return
    version = given.context.nccl
    fails = covers(version, "2.24", None) is True or covers(version, "2.17", "2.18") is True
    harmless = covers(version, "2.7", "2.16") is True or covers(version, "2.19", "2.23") is True
    use = "NCCL_ALGO=ring,tree;allreduce:tree" if at_least(version, "2.24") else None
    if not harmless:
        severity = Severity.ERROR if fails else Severity.WARNING
        yield say(given, "CFG115", severity, "algo_tree", replacement=use)


def _proto(given: Given) -> Iterator[Verdict]:
    if given.value.strip().lower() == "ll128":
        yield say(given, "CFG123", Severity.WARNING, "proto_ll128", replacement="NCCL_PROTO=^LL128")


def _ib_timeout(given: Given) -> Iterator[Verdict]:
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


def _slow_path(given: Given) -> Iterator[Verdict]:
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


def _level(given: Given) -> Iterator[Verdict]:
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


def _nvls(given: Given) -> Iterator[Verdict]:
    if given.value == "1" and at_most(given.context.nccl, "2.17") is not True:
        yield say(given, "CFG110", Severity.INFO, "nvls_on", futile=True)


def _buffsize(given: Given) -> Iterator[Verdict]:
    number = given.number
    if number is not None and 0 < number < _DEFAULT_BUFFER:
        yield say(given, "CFG122", Severity.INFO, "buffsize_small", futile=True)


def _launch_mode(given: Given) -> Iterator[Verdict]:
    if given.value.upper() == "PARALLEL":
        yield say(given, "CFG110", Severity.INFO, "same_as_default", futile=True)


def _interface(given: Given) -> Iterator[Verdict]:
    names = {name.strip() for name in given.value.lstrip("=").split(",")}
    if names & _LOOPBACKS and given.context.nodes is not None and given.context.nodes > 1:
        yield say(given, "CFG117", Severity.ERROR, "interface_local", nodes=given.context.nodes)


def _hca(given: Given) -> Iterator[Verdict]:
    value = given.value.strip()
    if value in ("mlx5", "mlx4"):
        yield say(given, "CFG110", Severity.INFO, "hca_all", futile=True)
    elif not value.startswith(("=", "^")) and any(
        name.strip().split(":")[0] in ("mlx5_1", "mlx5_2") for name in value.split(",")
    ):
        yield say(given, "CFG122", Severity.INFO, "hca_prefix", replacement=f"NCCL_IB_HCA=={value}")


def _gid(given: Given) -> Iterator[Verdict]:
    if given.value != "-1" and at_least(given.context.nccl, "2.21") is True:
        yield say(given, "CFG122", Severity.INFO, "gid_index")


def _traffic_class(given: Given) -> Iterator[Verdict]:
    if given.value not in ("0", "-1"):
        yield say(given, "CFG116", Severity.INFO, "traffic_class")


_CHECKS: Mapping[str, Check] = {
    "NCCL_DEBUG": _debug,
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
