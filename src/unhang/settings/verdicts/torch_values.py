"""What PyTorch makes of a value of its variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.lint import Severity
from unhang.settings.lookup import find_setting, timeout_knobs
from unhang.settings.tables import Library
from unhang.settings.verdicts.base import Check, Given, SettingVerdict, say
from unhang.settings.versions import covers

_BOOLEANS = frozenset({"0", "1", "true", "false", "t", "f", "yes", "no", "y", "n"})
_TRUE = frozenset({"1", "true", "t", "yes", "y"})
_ON = frozenset({"on", "enable", "enabled"})
_OFF = frozenset({"off", "disable", "disabled"})
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_NODE_RANKS = frozenset({"node_rank", "machine_rank"})


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge the value of a variable of PyTorch."""
    setting = find_setting(given.name)
    if setting is None or setting.library is not Library.TORCH:
        return
    if setting.kind == "bool" and given.value.strip().lower() not in _BOOLEANS:
        word = given.value.strip().lower()
        meant = "0" if word in _OFF else "1"
        yield say(
            given,
            "CFG108",
            Severity.ERROR,
            "boolean_word",
            replacement=f"{given.name}={meant}",
            mechanical=word in _OFF | _ON,
        )
        return
    own = _CHECKS.get(given.name)
    if own is not None:
        yield from own(given)


def _blocking_wait(given: Given) -> Iterator[SettingVerdict]:
    if given.value.lower() in _TRUE:
        yield say(given, "CFG111", Severity.WARNING, "blocking_wait", futile=True)


def _async_handling(given: Given) -> Iterator[SettingVerdict]:
    if given.value in ("0", "2"):
        yield say(
            given,
            "CFG111",
            Severity.ERROR,
            f"async_handling_{given.value}",
            replacement="TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
        )


def _monitoring(given: Given) -> Iterator[SettingVerdict]:
    if given.value.lower() not in _TRUE:
        yield say(
            given,
            "CFG111",
            Severity.WARNING,
            "monitoring_off",
            replacement="TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1800",
        )


def _heartbeat(given: Given) -> Iterator[SettingVerdict]:
    context = given.context
    own = timeout_knobs(context.framework or "", context.framework_version)
    number = given.number
    taken = next((knob for knob in own if knob.key == given.name), None)
    if taken is not None:
        # The framework takes it as the timeout of the world group.
        default = taken.default_in(context.framework_version)
        if number is not None and default is not None and number < default:
            yield say(
                given, "CFG120", Severity.WARNING, "heartbeat_limit", framework=taken.framework,
                default=default,
            )  # fmt: skip
        return
    if number is not None and number > 600:
        yield say(given, "CFG116", Severity.INFO, "heartbeat", futile=True)


def _recorder_old(given: Given) -> Iterator[SettingVerdict]:
    """Releases 2.8 to 2.10 read the size under two names in two places."""
    if covers(given.context.torch, "2.8", "2.10") is True and not _beside(
        given, "TORCH_FR_BUFFER_SIZE"
    ):
        yield say(
            given,
            "CFG112",
            Severity.WARNING,
            "recorder_both",
            other="TORCH_FR_BUFFER_SIZE",
            replacement=f"TORCH_FR_BUFFER_SIZE={given.value}",
        )


def _recorder_new(given: Given) -> Iterator[SettingVerdict]:
    if covers(given.context.torch, "2.8", "2.10") is True and not _beside(
        given, "TORCH_NCCL_TRACE_BUFFER_SIZE"
    ):
        yield say(
            given,
            "CFG112",
            Severity.WARNING,
            "recorder_both",
            other="TORCH_NCCL_TRACE_BUFFER_SIZE",
            replacement=f"TORCH_NCCL_TRACE_BUFFER_SIZE={given.value}",
        )


def _beside(given: Given, name: str) -> bool:
    return given.context.others.get(name, "0") not in ("", "0")


def _gloo_interface(given: Given) -> Iterator[SettingVerdict]:
    if given.value.startswith(("^", "=")):
        yield say(given, "CFG108", Severity.ERROR, "gloo_exact")
    elif given.value in ("lo", "docker0") and (given.context.nodes or 1) > 1:
        yield say(given, "CFG117", Severity.ERROR, "interface_local", nodes=given.context.nodes)


def _detail(given: Given) -> Iterator[SettingVerdict]:
    if given.value.upper() == "DETAIL":
        yield say(given, "CFG126", Severity.WARNING, "detail_left")


def _record_streams(given: Given) -> Iterator[SettingVerdict]:
    if covers(given.context.torch, "2.8", None) is not False:
        yield say(given, "CFG104", Severity.INFO, "record_streams_default")


def local_address(given: Given) -> Iterator[SettingVerdict]:
    """An address that only its own host reaches, in a job of several: the first is that host."""
    nodes = given.context.nodes
    host = given.value.lower().rpartition(":")[0] if ":" in given.value else given.value.lower()
    first = any(
        value == "0" and name.lstrip("-").replace("-", "_").lower() in _NODE_RANKS
        for name, value in given.context.others.items()
    )
    if host in _LOCAL and nodes is not None and nodes > 1 and not first:
        yield say(given, "CFG117", Severity.ERROR, "address_local", nodes=nodes)


_CHECKS: Mapping[str, Check] = {
    "TORCH_NCCL_BLOCKING_WAIT": _blocking_wait,
    "NCCL_BLOCKING_WAIT": _blocking_wait,
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": _async_handling,
    "TORCH_NCCL_ENABLE_MONITORING": _monitoring,
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": _heartbeat,
    "TORCH_NCCL_TRACE_BUFFER_SIZE": _recorder_old,
    "TORCH_FR_BUFFER_SIZE": _recorder_new,
    "GLOO_SOCKET_IFNAME": _gloo_interface,
    "MASTER_ADDR": local_address,
    "TORCH_DISTRIBUTED_DEBUG": _detail,
    "TORCH_NCCL_AVOID_RECORD_STREAMS": _record_streams,
}
