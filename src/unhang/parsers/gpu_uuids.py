"""From lines that name a GPU by its UUID to the index or the address that it has.

Reads::

    GPU 0: NVIDIA H20 (UUID: GPU-…)
    NVRM: GPU at PCI:0000:03:00: GPU-…

The first is of `nvidia-smi -L`, the second of NVIDIA's driver, before what it says of that GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, GpuUuid
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_UUID = r"(?P<uuid>GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_LISTED = re.compile(rf"GPU (?P<index>\d{{1,3}}): .{{1,80}}\(UUID: {_UUID}\)")
_DRIVER = re.compile(rf"NVRM: GPU at PCI:(?P<bus>[0-9a-fA-F:]{{5,13}}): {_UUID}")


class GpuUuidsParser(LineParser, name="gpu-uuids", needles=("UUID: GPU-", "NVRM: GPU at PCI:")):
    """Parser of UUIDs of GPUs."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what the UUID on this line belongs to."""
        listed = _LISTED.search(line.text)
        if listed is not None:
            yield GpuUuid(**place(line), uuid=listed["uuid"], index=int(listed["index"]))
            return
        driver = _DRIVER.search(line.text)
        if driver is not None:
            yield GpuUuid(**place(line), uuid=driver["uuid"], bus_id=driver["bus"])
