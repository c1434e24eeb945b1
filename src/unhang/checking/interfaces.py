"""Network interfaces of a host, and which of them gloo and NCCL will take."""

from __future__ import annotations

import fcntl
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unhang.checking.host import Host

_SIOCGIFADDR = 0x8915
_NET = "/sys/class/net"
_LOOPBACK, _UP = 0x8, 0x1
ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors")
"""Counters that do not move on a sound link (a drop may be of a frame that nobody wanted)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One interface.

    Attributes:
        address: its IPv4 address; None where it has none.
        mbit: its speed in Mbit/s; None where it has none (virtual), or does not tell.
    """

    name: str
    up: bool
    carrier: bool
    loopback: bool
    address: str | None
    mbit: int | None
    mtu: int | None

    @property
    def usable(self) -> bool:
        """It is up and has an address."""
        return self.up and self.address is not None


def interfaces(host: Host) -> list[Interface]:
    """All interfaces, in the kernel's order."""
    names = host.names(_NET)
    order = {name: index for index, name in socket.if_nameindex()}
    return [_interface(host, name) for name in sorted(names, key=lambda n: order.get(n, 1 << 30))]


def error_counts(host: Host) -> dict[str, int]:
    """Counters of errors by interface and name."""
    found = {}
    for name in host.names(_NET):
        for counter in ERRORS:
            value = host.number(f"{_NET}/{name}/statistics/{counter}")
            if value is not None:
                found[f"{name}/{counter}"] = value
    return found


def nccl_takes(found: Sequence[Interface], environ: Mapping[str, str]) -> Interface | None:
    """The first interface that NCCL's bootstrap takes; None where it finds none.

    As `ncclFindInterfaces` (src/misc/socket.cc): by NCCL_SOCKET_IFNAME (prefixes; `=` exact, `^`
    all but those), else the first named `ib*`, else one that is neither docker nor lo, else docker,
    else lo.
    """
    usable = [one for one in found if one.usable]
    asked = environ.get("NCCL_SOCKET_IFNAME")
    orders = [asked] if asked else ["ib", "^docker,lo,virbr", "docker", "lo"]
    for order in orders:
        fitting = [one for one in usable if _fits(one.name, order)]
        if fitting:
            return fitting[0]
    return None


def gloo_takes(
    found: Sequence[Interface], environ: Mapping[str, str], own_address: str | None
) -> Interface | None:
    """The interface that torch's gloo takes; None = it falls back to loopback, or fails.

    As ProcessGroupGloo: by GLOO_SOCKET_IFNAME (exact names), else the one with the address that the
    host's own name resolves to.
    """
    asked = environ.get("GLOO_SOCKET_IFNAME")
    if asked:
        names = asked.split(",")
        return next((one for one in found if one.usable and one.name in names), None)
    if own_address is not None and own_address.startswith("127."):
        return next((one for one in found if one.loopback), None)
    return next((one for one in found if one.usable and one.address == own_address), None)


def own_address() -> str | None:
    """The IPv4 address that this host's own name resolves to."""
    try:
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
    except OSError:
        return None
    return str(found[0][4][0]) if found else None


def _fits(name: str, order: str) -> bool:
    inverse = order.startswith("^")
    rest = order[1:] if inverse else order
    exact = rest.startswith("=")
    words = [word for word in (rest[1:] if exact else rest).split(",") if word]
    hit = any(name == word if exact else name.startswith(word) for word in words)
    return hit is not inverse


def _interface(host: Host, name: str) -> Interface:
    folder = f"{_NET}/{name}"
    flags = int(host.find(f"{folder}/flags") or "0", 16)
    # A virtual pair tells a speed that nothing stands for; a bond tells that of its hardware.
    real = any(one == "device" or one.startswith("lower_") for one in host.names(folder))
    speed = host.number(f"{folder}/speed") if real else None
    return Interface(
        name=name,
        up=bool(flags & _UP),
        carrier=host.find(f"{folder}/carrier") == "1",
        loopback=bool(flags & _LOOPBACK),
        address=_address(name),
        mbit=speed if speed is not None and speed > 0 else None,
        mtu=host.number(f"{folder}/mtu"),
    )


def _address(name: str) -> str | None:
    request = struct.pack("256s", name.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket.fileno(), _SIOCGIFADDR, request)
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])
