"""From NCCL INFO lines to init stages, interfaces, transports, settings and versions.

Reads::

    node1:4711:4790 [2] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>
    node1:4711:4790 [2] NCCL INFO NET/IB : No device found.
    node1:4711:4790 [2] NCCL INFO Using network Socket
    node1:4711:4790 [2] NCCL INFO comm 0x55d rank 2 nranks 8 cudaDev 2 … commId 0x5ae7 - Init START
    node1:4711:4790 [2] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA
    node1:4711:4790 [2] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1
    node1:4711:4790 [2] NCCL INFO [Service thread] Connection closed by localRank 2
    NCCL version 2.27.7+cuda12.9

The blank before the colon of `Bootstrap` went away in 2.24. A job prints thousands of channel
lines: of each process only the first of each kind of transport is said. Lines of several processes
may be glued or cut in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import (
    CommunicatorStage,
    Event,
    InitStage,
    InterfaceUsed,
    NcclFailure,
    NcclReason,
    SettingSeen,
    TransportUsed,
    VersionSeen,
)
from unhang.model.forms import named
from unhang.model.provenance import Origin
from unhang.parsers.base import EventFields, LineParser
from unhang.parsers.vocabulary import nccl_header
from unhang.parsers.vocabulary.nccl_header import NcclText
from unhang.sources.line import Line

_VERSION = re.compile(r"NCCL\s*version\s*:?\s*(?P<version>\d+\.\d+(?:\.\d{1,9})*)")
_DRIVER = re.compile(r"cudaDriverVersion\s*(?P<major>\d{1,3})0(?P<minor>\d)0\b")
_PATTERNS = named("unhang.parsers", "data/nccl_info.toml")
_BOOTSTRAP = _PATTERNS["bootstrap"]
_NETWORK = re.compile(r"Using\s*(?:internal\s*)?[nN]etwork\s*(?P<name>[A-Za-z][\w /.\-]{0,60})")
_HCAS = re.compile(r"NET/IB\s*:\s*Using\s*(?P<list>\[\d+\].{0,300}?)(?:;|$)")
_NO_DEVICE = re.compile(r"NET/(?:IB|OFI)\s*:?\s*No\s*(?:device|eligible)")
_CHANNEL = _PATTERNS["channel"]
_COUNT = re.compile(r"(?P<count>\d{1,9})\s*coll\s*channels")
_BEST = re.compile(r"System\s*:\s*maxBw\s*(?P<gbps>\d+(?:\.\d{1,9})?)")
_STAGE = _PATTERNS["stage"]
_LAYOUT = _PATTERNS["layout"]
_STAGES = {
    "initstart": InitStage.START,
    "initcomplete": InitStage.COMPLETE,
    "abortcomplete": InitStage.ABORT,
    "destroycomplete": InitStage.DESTROY,
}
_DEVICE = re.compile(r"cudaDev\s*(?P<device>\d{1,9})")
_NVML = re.compile(r"nvmlDev\s*(?P<index>\d{1,9})")
_BUS = re.compile(r"busId\s*(?P<bus>[0-9a-f]+)")
_COMM_ID = re.compile(r"commId\s*(?P<id>0x[0-9a-f]+)")
_SETTING = _PATTERNS["setting"]
_CLOSED = re.compile(r"Connection\s*closed\s*by\s*localRank\s*(?P<local>\d{1,9})")
_VIA_KINDS = (("P2P", "P2P"), ("SHM", "SHM"), ("direct shared memory", "SHM"))


class NcclInfoParser(LineParser, name="nccl-info"):
    """Parser of NCCL's INFO lines."""

    def __init__(self) -> None:
        self._said: set[tuple[object, ...]] = set()
        self._without_device: set[tuple[str | None, int | None]] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what the messages on this line tell, each fact once for each process."""
        yield from self._versions(line)
        for message in nccl_header.messages(line.text):
            if message.level != "INFO":
                continue
            origin = message.origin(line.origin)
            if " via " in message.body:  # by far the most lines
                yield from self._channel(line, origin, message)
                continue
            where = EventFields(source=line.provenance(), origin=origin, at=line.at)
            yield from self._stages(where, message)
            yield from self._networks(where, message)
            yield from self._topology(where, message)
            yield from self._settings(where, message)

    def _once(self, origin: Origin, *fact: object) -> bool:
        """Whether this process says `fact` for the first time."""
        key = (origin.host, origin.pid, origin.rank, *fact)
        if key in self._said:
            return False
        self._said.add(key)
        return True

    def _versions(self, line: Line) -> Iterator[Event]:
        if "ersion" not in line.text:  # in both; most lines are seen to hold none at once
            return
        version = _VERSION.search(line.text)
        driver = _DRIVER.search(line.text)
        if version is None and driver is None:
            return
        message = next(nccl_header.messages(line.text), None)
        origin = line.origin if message is None else message.origin(line.origin)
        where = EventFields(source=line.provenance(), origin=origin, at=line.at)
        if (
            version is not None
            and "NCCL error" not in line.text
            and self._once(origin, "nccl", version["version"])
        ):
            yield VersionSeen(
                **where, component="nccl", version=version["version"], basis="NCCL version banner"
            )
        if driver is not None and self._once(origin, "driver", driver[0]):
            yield VersionSeen(
                **where,
                component="cuda-driver",
                version=f"{driver['major']}.{driver['minor']}",
                basis="cudaDriverVersion",
            )

    def _stages(self, where: EventFields, message: NcclText) -> Iterator[Event]:
        for match in _STAGE.finditer(message.body):
            rest = match["rest"]
            device, bus, comm = _DEVICE.search(rest), _BUS.search(rest), _COMM_ID.search(rest)
            nvml = _NVML.search(rest)
            yield CommunicatorStage(
                **where,
                stage=_STAGES["".join(match["stage"].split()).lower()],
                comm_id=None if comm is None else comm["id"],
                comm_rank=int(match["rank"]),
                size=int(match["size"]),
                device=None if device is None else int(device["device"]),
                bus_id=None if bus is None else bus["bus"],
                nvml=None if nvml is None else int(nvml["index"]),
            )
        for match in _LAYOUT.finditer(message.body):
            yield CommunicatorStage(
                **where,
                stage=InitStage.LAID_OUT,
                comm_rank=int(match["rank"]),
                size=int(match["size"]),
                device=int(match["local"]),
            )
        closed = _CLOSED.search(message.body)
        if closed is not None:
            yield NcclFailure(
                **where,
                reason=NcclReason.LOCAL_PEER_CLOSED,
                detail=message.body[:200],
                warning=True,
                device=message.device,
                peer=f"localRank {closed['local']}",
            )

    def _networks(self, where: EventFields, message: NcclText) -> Iterator[Event]:
        process = (where["origin"].host, where["origin"].pid)
        if _NO_DEVICE.search(message.body):
            self._without_device.add(process)
        used = _BOOTSTRAP.search(message.body)
        if used is not None and self._once(where["origin"], "interface", used["name"]):
            yield InterfaceUsed(**where, interface=used["name"], address=used["address"])
        hcas = _HCAS.search(message.body)
        if hcas is not None and self._once(where["origin"], "hcas", hcas["list"]):
            yield TransportUsed(**where, transport="IB", via=hcas["list"].strip())
        network = _NETWORK.search(message.body)
        if network is not None and self._once(where["origin"], "network", network["name"]):
            name = network["name"].strip()
            yield TransportUsed(
                **where,
                transport=name,
                via=f"network {name}",
                fallback=name == "Socket" and process in self._without_device,
            )

    def _channel(self, line: Line, origin: Origin, message: NcclText) -> Iterator[Event]:
        channel = _CHANNEL.search(message.body)
        if channel is not None:
            kind = _kind(channel["via"])
            if self._once(origin, "via", kind):
                yield TransportUsed(
                    source=line.provenance(),
                    origin=origin,
                    at=line.at,
                    transport=kind,
                    via=channel["via"].strip(),
                    sender=int(channel["sender"]),
                    receiver=None if channel["receiver"] is None else int(channel["receiver"]),
                )

    def _topology(self, where: EventFields, message: NcclText) -> Iterator[Event]:
        count = _COUNT.search(message.body)
        if count is not None and self._once(where["origin"], "channels", count["count"]):
            yield TransportUsed(**where, transport="channels", channels=int(count["count"]))
        best = _BEST.search(message.body)
        if best is not None and self._once(where["origin"], "best", best["gbps"]):
            yield TransportUsed(**where, transport="topology", link_gbps=float(best["gbps"]))

    def _settings(self, where: EventFields, message: NcclText) -> Iterator[Event]:
        for match in _SETTING.finditer(message.body):
            value = match["value"].rstrip(".,;")
            if self._once(where["origin"], match["name"], value):
                yield SettingSeen(**where, name=match["name"], value=value, basis="NCCL_DEBUG=INFO")


def _kind(via: str) -> str:
    """`NET/IB`, `NET/Socket`, `P2P`, `SHM` … from the text behind `via`."""
    if via.startswith("NET/"):
        return "/".join(via.split("/")[:2])
    return next(
        (kind for text, kind in _VIA_KINDS if via.startswith(text)), via.split("/", maxsplit=1)[0]
    )
