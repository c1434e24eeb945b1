"""Who uses the GPUs of a host by nvidia-smi's table, as several rules read it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from unhang.model.events import GpuProcess
from unhang.model.ids import Rank
from unhang.model.incident import Incident

Gpu = tuple[str, str | None, int]
"""The report, the host, the index."""

MUCH_MIB = 1024
"""More than the bare context of a process that only looks at the GPU."""


def processes(incident: Incident) -> Mapping[Gpu, Sequence[GpuProcess]]:
    """Processes that hold much of a GPU, or of which that is not told, by GPU; each once."""
    found: dict[Gpu, dict[int, GpuProcess]] = defaultdict(dict)
    for event in incident.all(GpuProcess):
        if event.used_mib is None or event.used_mib >= MUCH_MIB:
            gpu = (event.source.artifact, event.origin.host, event.gpu)
            found[gpu].setdefault(event.pid, event)
    return {gpu: tuple(by_pid.values()) for gpu, by_pid in found.items()}


def ranks_by_pid(incident: Incident) -> Mapping[int, Rank]:
    """Ranks by process id, where one rank only has it."""
    owners: dict[int, set[Rank]] = defaultdict(set)
    for facts in incident.roster.values():
        for pid in facts.pids:
            owners[pid].add(facts.rank)
    return {pid: next(iter(ranks)) for pid, ranks in owners.items() if len(ranks) == 1}
