"""From `ibstat` and `ibv_devinfo` to ports that are down, or slower than the others of a host.

Reads::

    CA 'mlx5_3'                                                        (ibstat)
            Port 1:
                    State: Down
                    Physical state: Polling
                    Rate: 10
                    Link layer: InfiniBand
    hca_id: mlx5_3                                                     (ibv_devinfo)
                    state:                  PORT_DOWN (1)
                    phys_state:             POLLING (2)

Traps: hosts have ports without a cable, so one that is down is no fault by itself; Ethernet ports
and storage adapters rightly run at other rates than those of the compute fabric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import Event, HostProblem, HostReport
from unhang.parsers.base import EventFields, LineParser, place
from unhang.sources.line import Line

_ADAPTER = re.compile(r"^\s*(?:CA '(?P<ca>[\w.-]{1,40})'|hca_id:\s*(?P<hca>[\w.-]{1,40}))\s*$")
_FIELD = re.compile(
    r"^\s*(?P<key>State|state|Physical state|phys_state|Rate|Link layer|link_layer):\s*"
    r"(?P<value>\S.{0,60}?)\s*$"
)
_DOWN = re.compile(r"Down|PORT_DOWN|PORT_INIT|Initializing|Armed|PORT_ARMED")
_LAYER = {"Link layer", "link_layer"}


@dataclass(slots=True)
class _Port:
    where: EventFields
    device: str
    state: str | None = None
    physical: str | None = None
    rate: int | None = None
    layer: str | None = None


class PortReportParser(LineParser, name="port-report", needles=("CA '", "hca_id:"), after=40):
    """Parser of reports on InfiniBand and RoCE ports."""

    def __init__(self) -> None:
        self._device: str | None = None
        self._ports: list[_Port] = []

    def feed(self, line: Line) -> Iterator[Event]:
        """Collect the ports."""
        adapter = _ADAPTER.match(line.text)
        if adapter is not None:
            self._device = adapter["ca"] or adapter["hca"]
            return iter(())
        found = _FIELD.match(line.text)
        if found is not None and self._device is not None:
            self._take(line, found["key"], found["value"])
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say which are down, and which are slow among their like."""
        for port in self._ports:
            rates = [p.rate for p in self._ports if p.rate is not None and _alike(p, port)]
            fastest = max(rates, default=None)
            if port.state is not None and _DOWN.search(port.state) is not None:
                state = " / ".join(s for s in (port.state, port.physical) if s is not None)
                yield _report(port, HostProblem.PORT_DOWN, state)
            elif port.rate is not None and fastest is not None and port.rate < fastest:
                text = f"rate {port.rate}, others {fastest}"
                yield _report(port, HostProblem.PORT_SLOW, text)

    def _take(self, line: Line, key: str, value: str) -> None:
        if key in {"State", "state"}:
            assert self._device is not None
            self._ports.append(_Port(place(line), self._device, state=value))
            return
        if not self._ports:
            return
        port = self._ports[-1]
        if key in {"Physical state", "phys_state"}:
            port.physical = value
        elif key == "Rate" and value.isdigit():
            port.rate = int(value)
        elif key in _LAYER:
            port.layer = value


def _alike(one: _Port, other: _Port) -> bool:
    """Ports in use of the same layer."""
    return one.rate is not None and one.layer == other.layer and "Active" in (one.state or "")


def _report(port: _Port, problem: HostProblem, detail: str) -> HostReport:
    return HostReport(**port.where, problem=problem, device=port.device, detail=detail)
