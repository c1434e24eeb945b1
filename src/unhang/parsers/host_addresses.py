"""From `ip addr`, `ifconfig`, `ibstat`, NCCL and others to whose an address is.

Reads::

    lxcbr0           UP             10.0.3.1/24                        (ip -br addr)
        inet 10.50.1.3/24 brd 10.50.1.255 scope global enxb827eb       (ip addr)
    enp3s0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500       (ifconfig)
            inet 10.50.1.3  netmask 255.255.255.0
    Base lid: 44                                                       (ibstat)
    ipaddr:29.7.1.34                                                   (hccn_tool)
    127.0.1.1       STREAM lovelace                                    (getent ahosts $(hostname))
    node1:47:49 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB ; OOB eno1:10.0.5.1<0>

Whose answer it is tell the prompt, the command, or the prefix of the line (`sources.terminals`);
what nobody answers for tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, HostAddress
from unhang.model.forms import named
from unhang.model.host_lists import short_host
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import nccl_header
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/host_addresses.toml")
_INTERFACE = _PATTERNS["interface"]
_FORMS = tuple(_PATTERNS[name] for name in ("brief", "inet", "lid", "device", "resolved"))
_OOB = re.compile(r"\bOOB\s*(?P<interface>[\w.@-]{1,40}):(?P<address>[^\s<]{3,60})<")
_EVERYBODYS = re.compile(r"127\.0\.0\.1$|::1$|fe80:")


class HostAddressesParser(
    LineParser,
    name="host-addresses",
    needles=(
        "inet ",
        "inet6 ",
        "Base lid",
        "ipaddr:",
        "STREAM",
        " UP  ",
        "OOB ",
        "getent",
        "<UP,",
        "pid=",
        "NCCL INFO Using network",
    ),
    after=6,
    sampled=True,
):
    """Parser of addresses of hosts."""

    def __init__(self) -> None:
        self._interface = ""
        self._said: set[tuple[str, str]] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say each address of a host once."""
        for message in nccl_header.messages(line.text) if "NCCL" in line.text else ():
            oob = _OOB.search(message.body)
            host = message.host
            if host is not None and line.origin.host not in {None, host}:
                yield from self._say(line, host, line.origin.host or "", "")
            if oob is not None and host is not None:
                yield from self._say(line, host, oob["address"], oob["interface"])
        interface = _INTERFACE.match(line.text)
        if interface is not None:
            self._interface = interface["name"]
        if line.origin.host is None:
            return
        for form in _FORMS:
            found = form.match(line.text)
            if found is None:
                continue
            told = found.groupdict()
            by_name = "name" in told
            if by_name and short_host(told["name"]) != short_host(line.origin.host):
                return
            named_by = told.get("interface") or (self._interface if "inet" in line.text else "")
            address = f"lid {told['lid']}" if "lid" in told else told["address"]
            yield from self._say(line, line.origin.host, address, named_by, by_name)
            return

    def _say(
        self, line: Line, host: str, address: str, interface: str, by_name: bool = False
    ) -> Iterator[Event]:
        if (host, address) not in self._said and not _EVERYBODYS.match(address):
            self._said.add((host, address))
            yield HostAddress(
                **place(line), host=host, address=address, interface=interface, by_name=by_name
            )
