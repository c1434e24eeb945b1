"""Logs of NCCL Inspector, as its plugin writes them, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable

START_US = 1_763_688_000_000_000
"""2025-11-21 01:20:00 UTC."""


def record(
    rank: int,
    seq: int,
    *,
    us: float = 200.0,
    gbps: float = 180.0,
    op: str = "AllReduce",
    size: int = 64 << 20,
    ranks: int = 4,
    comm: str = "7f8c496ae9f661",
    **coll: object,
) -> str:
    """One line: a rank of a communicator has finished a collective."""
    document = {
        "header": {"id": f"0x{comm}", "rank": rank, "n_ranks": ranks, "nnodes": 1},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "git_rev": "",
            "rec_mechanism": "nccl_profiler_interface",
            "dump_timestamp_us": START_US + 1_000_000 * seq + rank,
            "hostname": "node1",
            "pid": 4000 + rank,
        },
        "coll_perf": {
            "coll": op,
            "coll_sn": seq,
            "coll_msg_size_bytes": size,
            "coll_exec_time_us": us,
            "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": gbps * 0.57,
            "coll_busbw_gbs": gbps,
            **coll,
        },
    }
    return json.dumps(document, separators=(",", ":"))


def log(lines: Iterable[str]) -> str:
    """A whole log."""
    return "".join(f"{line}\n" for line in lines)
