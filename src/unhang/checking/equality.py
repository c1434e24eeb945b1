"""The stage that compares hosts and ranks: releases, sizes, settings and clocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from unhang.checking.agreement import SETTINGS, Difference, differences, offsets
from unhang.checking.pair_tests import Ask
from unhang.checking.results import RampResults
from unhang.model.ids import format_ranks
from unhang.model.preflight import Status
from unhang.model.provenance import Message

_CLOCK_ROUNDS = 5
_CLOCK_S = 1.0
"""Logs of hosts whose clocks differ by more are told in the wrong order."""
_SAME = {
    "releases": ("torch", "nccl", "driver", "kernel", "python", "unhang"),
    "cores": ("there",),
    "memory": ("total_bytes",),
    "nics": ("interface_mbit", "interface_mtu"),
    "rdma": ("rdma_rates", "rdma_firmware"),
    "gpus": ("names", "gpu_firmware"),
}
"""By fact, what must be the same on all hosts."""


def compare_facts(results: RampResults) -> int:
    """Tell whose releases and sizes differ from those of the other hosts; how many were compared.

    Args:
        results: with the facts of each host; the differences are added.
    """
    values: dict[str, dict[str, object]] = {}
    for stage in results.stages:
        if stage.host and stage.name in _SAME:
            own = values.setdefault(stage.host, {})
            same = (name for name in _SAME[stage.name] if name in stage.measured)
            own |= {name: stage.measured[name] for name in same}
    for own in values.values():  # firmware keeps back a little, not the same everywhere
        size = own.pop("total_bytes", None)
        if isinstance(size, int):
            own["memory_gib"] = round(size / (8 << 30)) * 8
    for found in differences(values):
        _tell(results, found, lambda host: host)
    return len(values)


def compare_settings(results: RampResults, settings: Mapping[int, Mapping[str, object]]) -> None:
    """Tell whose settings differ from those of the other ranks.

    Args:
        results: the differences are added.
        settings: of each rank, by name.
    """
    by_rank = {
        format_ranks([rank]): {
            name: value
            for name, value in own.items()
            if name in SETTINGS and name not in ("MASTER_ADDR", "MASTER_PORT")
        }
        for rank, own in settings.items()
    }
    host_of = {str(rank): host for host, ranks in results.ranks.items() for rank in ranks}
    for found in differences(by_rank):
        _tell(results, found, host_of.__getitem__)


def compare_clocks(results: RampResults, ask: Ask, leaders: Mapping[str, int]) -> None:
    """Tell whose clock differs from the others'.

    Args:
        results: the differences are added.
        ask: the ranks.
        leaders: the first rank of each host.
    """
    asked: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(_CLOCK_ROUNDS):
        for host, rank in leaders.items():
            begun = time.time()
            answer: Mapping[str, Any] = ask({rank: {"do": "clock"}}, 5.0).get(rank, {})
            if isinstance(answer.get("now"), float):
                asked.setdefault(host, []).append((begun, answer["now"], time.time()))
    found = offsets(asked)
    usual = median(found.values()) if found else 0.0
    for host, offset in found.items():
        if abs(offset - usual) > _CLOCK_S:
            values = {"host": host, "seconds": round(offset - usual, 3)}
            results.failed("equal", "clock_off", values, status=Status.WARN, host=host)
            why = Message(key="stage.clock_off", values=values)
            results.suspect("equal", host, why, Status.WARN)


def _tell(results: RampResults, found: Difference, host_of: Callable[[str], str]) -> None:
    others = {host_of(member): text for member, text in found.others.items()}
    listed = ", ".join(f"{host}: {text}" for host, text in sorted(others.items())[:8])
    values = {"name": found.name, "usual": found.usual, "others": listed}
    sentence = "differs" if found.usual is not None else "disagree"
    results.failed("equal", sentence, values, status=found.status)
    if found.usual is not None:
        for host, text in others.items():
            why = Message(key="stage.differs", values={**values, "others": text})
            results.suspect("equal", host, why, found.status)
