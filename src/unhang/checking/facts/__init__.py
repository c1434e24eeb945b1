"""The facts of a host, by subject; `FACTS` lists them in the order of a report."""

from __future__ import annotations

from unhang.checking.facts import devices, memory, network, processes, storage, system
from unhang.checking.host import Fact

FACTS: tuple[Fact, ...] = (
    *memory.FACTS,
    *processes.FACTS,
    *storage.FACTS,
    *network.FACTS,
    *devices.FACTS,
    *system.FACTS,
)
"""Every fact."""
