"""Whether a setting of torchrun does what it is meant to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.lint import Severity
from unhang.settings.verdicts.base import Check, Given, SettingVerdict, say
from unhang.settings.verdicts.torch_values import local_address
from unhang.settings.versions import at_least

_OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
_SHARES_SINCE = "2.5"


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge a setting of the launcher."""
    own = _CHECKS.get(given.name)
    if own is not None:
        yield from own(given)


def _restarts(given: Given) -> Iterator[SettingVerdict]:
    """All starts share one store, in which the next finds the addresses of the last.

    Measured with torch 2.13 on Gloo: with a shared store 6 of 21 restarts connected, the others
    failed or hung; with one for each start 12 of 12 did (pytorch issue 135712).
    """
    shares = at_least(given.context.torch, _SHARES_SINCE)
    if given.context.torchrun is False:
        return  # Another launcher makes its own rendezvous.
    if not given.number or shares is False or given.context.others.get(_OWN_STORE) == "1":
        return
    severity = Severity.WARNING if shares else Severity.INFO
    yield say(given, "CFG125", severity, "restarts_share_store", replacement=f"{_OWN_STORE}=1")


def _agent_store(given: Given) -> Iterator[SettingVerdict]:
    """Only torchrun itself may set it: by hand it points at a store that is not there."""
    if given.value.lower() in ("1", "true") and "TORCHELASTIC_RUN_ID" not in given.context.others:
        yield say(given, "CFG117", Severity.ERROR, "agent_store")


def _blocking_launch(given: Given) -> Iterator[SettingVerdict]:
    if given.value not in ("", "0"):
        yield say(given, "CFG126", Severity.WARNING, "launch_blocking_left")


_CHECKS: Mapping[str, Check] = {
    "max-restarts": _restarts,
    "max_restarts": _restarts,
    "master_addr": local_address,
    "master-addr": local_address,
    "rdzv_endpoint": local_address,
    "rdzv-endpoint": local_address,
    "main_process_ip": local_address,
    "CUDA_LAUNCH_BLOCKING": _blocking_launch,
    "TORCHELASTIC_USE_AGENT_STORE": _agent_store,
}
