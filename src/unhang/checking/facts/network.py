"""Interfaces, names and RDMA ports: what the job's traffic will take, and in what state it is."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

from unhang.checking.host import Fact, Host, Skip, failed, passed, waited_for_core, warned
from unhang.checking.interfaces import (
    error_counts,
    gloo_takes,
    interfaces,
    nccl_takes,
    own_address,
)
from unhang.model.preflight import Stage

_BETWEEN_S = 1.0
_SLOW_NAME_S = 1.0
_SLOW_MBIT = 10_000
"""Below this a cluster's training waits for the network; a figure of ours."""
_RDMA = "/sys/class/infiniband"
_COUNTERS = (
    *("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors"),
    *("local_link_integrity_errors", "excessive_buffer_overrun_errors"),
)
_RETRIES = ("packet_seq_err", "local_ack_timeout_err", "out_of_sequence", "rnr_nak_retry_err")


def nics(host: Host) -> Iterator[Stage]:
    """State, speed, MTU and errors of the interfaces that gloo and NCCL will take."""
    found = interfaces(host)
    several = host.request.hosts > 1
    taken = {
        "nccl": nccl_takes(found, host.environ),
        "gloo": gloo_takes(found, host.environ, own_address()),
    }
    for who, one in taken.items():
        if one is None and host.environ.get(f"{who.upper()}_SOCKET_IFNAME"):
            yield failed(
                "nic_not_there", who=who, variable=f"{who.upper()}_SOCKET_IFNAME",
                value=host.environ[f"{who.upper()}_SOCKET_IFNAME"],
                names=", ".join(i.name for i in found if i.usable),
            )  # fmt: skip
        elif several and (one is None or one.loopback):
            tell = failed if host.request.backend in ("", who) else warned
            yield tell("nic_loopback", "ProcessGroupGloo, ncclFindInterfaces", who=who,
                       variable=f"{who.upper()}_SOCKET_IFNAME")  # fmt: skip
        elif several and one is not None and one.mbit is not None and one.mbit < _SLOW_MBIT:
            yield warned("nic_slow", who=who, name=one.name, mbit=one.mbit)
    before = error_counts(host)
    time.sleep(_BETWEEN_S)
    for name, count in error_counts(host).items():
        grown = count - before.get(name, count)
        if grown > 0:
            yield warned("nic_errors", name=name, grown=grown, seconds=_BETWEEN_S)
    used = taken["nccl" if host.request.backend == "nccl" else "gloo"]
    measured = {
        **{who: None if one is None else one.name for who, one in taken.items()},
        # For the comparison of hosts: what carries the job.
        **({} if used is None else {"interface_mbit": used.mbit, "interface_mtu": used.mtu}),
        "interfaces": [
            {"name": i.name, "address": i.address, "up": i.up, "mbit": i.mbit, "mtu": i.mtu}
            for i in found
        ],
    }
    yield passed("nics", measured, nccl=_name(taken["nccl"]), gloo=_name(taken["gloo"]))


def _name(one: object) -> str | None:
    return getattr(one, "name", None)


def names(host: Host) -> Iterator[Stage]:
    """Whether the host's own name and the master's resolve, to what, and how fast."""
    name = socket.gethostname()
    address, seconds = _resolved(name)
    several = host.request.hosts > 1
    if address is None:
        yield (failed if several else warned)("name_unknown", name=name)
    elif address.startswith("127.") and several and "GLOO_SOCKET_IFNAME" not in host.environ:
        tell = warned if host.request.backend == "nccl" else failed
        yield tell("name_loopback", "ProcessGroupGloo", name=name, address=address)
    if seconds > _SLOW_NAME_S:
        yield warned("name_slow", name=name, seconds=round(seconds, 2))
    master = host.environ.get("MASTER_ADDR")
    if master and _resolved(master)[0] is None:
        yield failed("master_unknown", name=master)
    yield passed("names", name=name, address=address)


def _resolved(name: str) -> tuple[str | None, float]:
    """Its address, and seconds without those in which the host had no core for this."""
    begun = time.monotonic() - waited_for_core()
    address = None
    with contextlib.suppress(OSError, UnicodeError):
        address = str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
    return address, time.monotonic() - waited_for_core() - begun


def rdma(host: Host) -> Iterator[Stage]:
    """Ports that NCCL will use: state, link layer, rate, GIDs, and counters that grow."""
    ports = [port for port in _ports(host) if _used(port, host.environ.get("NCCL_IB_HCA"))]
    if not host.names(_RDMA):
        raise Skip("no_device", what="RDMA")
    if not ports:
        yield failed("rdma_none", filter=host.environ.get("NCCL_IB_HCA", ""))
        return
    before = _counts(host, ports)
    for port in ports:
        yield from _port(host, port)
    rates = {port: host.find(f"{_place(port)}/rate") or "?" for port in ports}
    if len(set(rates.values())) > 1:
        yield warned("rdma_rates", rates=", ".join(f"{p} {r}" for p, r in rates.items()))
    time.sleep(_BETWEEN_S)
    for name, count in _counts(host, ports).items():
        if count > before.get(name, count):
            yield warned("rdma_counter", name=name, grown=count - before[name])
    devices = sorted({port.partition(":")[0] for port in ports})
    measured = {
        "rates": rates,
        "rdma_rates": sorted(rates.values()),
        "rdma_firmware": sorted(
            f"{host.find(f'{_RDMA}/{name}/hca_type')} {host.find(f'{_RDMA}/{name}/fw_ver')}"
            for name in devices
        ),
    }
    yield passed("rdma", measured, ports=", ".join(ports))


def _ports(host: Host) -> list[str]:
    return [
        f"{device}:{port}"
        for device in host.names(_RDMA)
        for port in host.names(f"{_RDMA}/{device}/ports")
    ]


def _place(port: str) -> str:
    device, _, number = port.partition(":")
    return f"{_RDMA}/{device}/ports/{number}"


def _used(port: str, wanted: str | None) -> bool:
    """By NCCL_IB_HCA: `device[:port]` as prefixes, `=` exact, `^` all but those."""
    if not wanted:
        return True
    inverse = wanted.startswith("^")
    rest = wanted.lstrip("^")
    exact = rest.startswith("=")
    device, _, number = port.partition(":")
    for word in rest.lstrip("=").split(","):
        name, _, one = word.partition(":")
        hit = device == name if exact else device.startswith(name)
        if name and hit and one in ("", number):
            return not inverse
    return inverse


def _port(host: Host, port: str) -> Iterator[Stage]:
    place = _place(port)
    state, physical = host.find(f"{place}/state") or "", host.find(f"{place}/phys_state") or ""
    if "ACTIVE" not in state:
        if "Disabled" not in physical:
            yield failed("rdma_down", port=port, state=state, physical=physical)
        return
    if host.find(f"{place}/link_layer") == "Ethernet":
        kinds = (
            host.find(f"{place}/gid_attrs/types/{name}") or ""
            for name in host.names(f"{place}/gid_attrs/types")
        )
        if not any("v2" in kind for kind in kinds):
            yield failed("rdma_no_gid", "NCCL_IB_GID_INDEX: RoCE v2 is needed to route", port=port)


def _counts(host: Host, ports: list[str]) -> dict[str, int]:
    found = {}
    for port in ports:
        for folder, counters in (("counters", _COUNTERS), ("hw_counters", _RETRIES)):
            for counter in counters:
                value = host.number(f"{_place(port)}/{folder}/{counter}")
                if value is not None:
                    found[f"{port} {counter}"] = value
    return found


FACTS = (
    Fact(name="nics", look=nics, limit_s=8.0),
    Fact(name="names", look=names, limit_s=9.0),
    Fact(name="rdma", look=rdma, limit_s=9.0),
)
