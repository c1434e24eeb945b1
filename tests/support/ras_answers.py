"""Answers of NCCL's RAS in JSON, as NCCL writes them, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

WELL = {
    "init_state": 0,
    "async_error": 0,
    "finalize_called": False,
    "destroy_flag": False,
    "abort_flag": False,
}


def member(
    rank: int, count: int = 640, *, of: int | None = None, **status: int | bool
) -> dict[str, Any]:
    """A rank of a communicator that has launched `count` all-reduces; `of` is its global rank."""
    number = rank if of is None else of
    return {
        "rank": rank,
        "host": f"10.0.0.{number // 8}",
        "pid": 4000 + number,
        "cuda_dev": number % 8,
        "nvml_dev": number % 8,
        "status": {**WELL, **status},
        "collective_counts": {"Broadcast": 1, "Reduce": 0, "AllGather": 7, "AllReduce": count},
    }


def missing(rank: int, *, of: int | None = None, **status: bool) -> dict[str, Any]:
    """A rank that did not answer."""
    told = member(rank, of=of)
    del told["collective_counts"]
    told["status"] = {"unresponsive": True, "considered_dead": False, **status}
    return told


def communicator(
    *members: Mapping[str, Any], lost: Sequence[Mapping[str, Any]] = (), name: str = "ae94423c"
) -> dict[str, Any]:
    """A communicator with the ranks that answered and those that did not."""
    return {
        "hash": f"0x{name}",
        "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
        "size": len(members) + len(lost),
        "ranks_count": len(members),
        "missing_ranks_count": len(lost),
        "ranks": list(members),
        "missing_ranks": list(lost),
    }


def answer(
    *communicators: Mapping[str, Any], at: str = "2025-11-21 01:31:00", indent: int | None = 2
) -> str:
    """A whole answer."""
    document = {
        "nccl_version": "2.29.1",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": at,
        "communicators_count": len(communicators),
        "communicators": list(communicators),
        "ras": {"collection_time_sec": 0.0, "timeouts_count": 0},
    }
    return json.dumps(document, indent=indent)
