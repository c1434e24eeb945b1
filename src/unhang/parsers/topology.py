"""From `nvidia-smi topo -m` to how the GPUs and adapters of a host reach each other.

Reads::

            GPU0    GPU1    GPU2    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
    GPU0     X      NV12    SYS     PXB     0-31            0               N/A
    GPU1    NV12     X      SYS     SYS     0-31            0               N/A
    GPU2    SYS     SYS      X      SYS     32-63           1               N/A
    NIC0    PXB     SYS     SYS      X
    NIC Legend:
      NIC0: mlx5_0

Older versions name the adapters (`mlx5_0`) in the matrix itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import DeviceLink, Event, TopologySeen
from unhang.parsers.base import EventFields, LineParser, place
from unhang.sources.line import Line

_DEVICE = re.compile(r"GPU\d{1,3}|NIC\d{1,3}|[a-z][a-z0-9_]{2,30}\d{1,3}")
_KIND = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV\d{1,2}|C2C|N/A")
_GPU = re.compile(r"GPU(\d{1,3})")
_ALIAS = re.compile(r"^\s*(?P<short>NIC\d{1,3}):\s*(?P<name>[\w.-]{1,40})\s*$")
_MOST_DEVICES = 64


class TopologyParser(LineParser, name="topology", needles=("CPU Affinity",), after=100):
    """Parser of the matrix of connections."""

    def __init__(self) -> None:
        self._place: EventFields | None = None
        self._columns: list[str] = []
        self._links: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a matrix when the next one begins."""
        words = line.text.split()
        if "CPU Affinity" in line.text and words[:1] == ["GPU0"]:
            yield from self._close()
            self._place = place(line)
            self._columns = [w for w in words if _DEVICE.fullmatch(w)][:_MOST_DEVICES]
            return
        alias = _ALIAS.match(line.text)
        if alias is not None:
            self._names[alias["short"]] = alias["name"]
        elif words and _DEVICE.fullmatch(words[0]):
            self._row(words[0], words[1:])

    def finish(self) -> Iterator[Event]:
        """Say the last matrix."""
        yield from self._close()

    def _row(self, device: str, cells: list[str]) -> None:
        """Take the cells of one device; those of a cut row are left out."""
        if len(cells) < len(self._columns):
            return
        for column, kind in zip(self._columns, cells, strict=False):
            known = (column, device) in self._links
            if _KIND.fullmatch(kind) and kind not in {"X", "N/A"} and not known:
                self._links[device, column] = kind

    def _close(self) -> Iterator[Event]:
        where, columns, links, names = self._place, self._columns, self._links, self._names
        self._place, self._columns, self._links, self._names = None, [], {}, {}
        gpus = [int(found[1]) for column in columns if (found := _GPU.fullmatch(column))]
        if where is None or not links:
            return
        yield TopologySeen(
            **where,
            gpus=tuple(gpus),
            links=tuple(
                DeviceLink(names.get(one, one), names.get(other, other), kind)
                for (one, other), kind in links.items()
            ),
        )
