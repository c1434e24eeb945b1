"""Small Flight Recorder dumps of one group, written by hand, for tests."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


def dumps(folder: Path, **last: int) -> Path:
    """Dumps of four ranks, each with all-reduces up to a number; `r3=7` for another than nine."""
    folder.mkdir(exist_ok=True)
    for rank in range(4):
        count = last.get(f"r{rank}", 9)
        if count == 0:
            continue
        entries = [_entry(seq, done=seq < 7) for seq in range(1, count + 1)]
        group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}
        tree = {
            "version": "2.10",
            "entries": entries,
            "pg_config": {"0": group},
            "pg_status": {
                "0": {
                    "last_enqueued_collective": count,
                    "last_started_collective": min(count, 7),
                    "last_completed_collective": 6,
                }
            },
        }
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(tree, protocol=2))
    return folder


def _entry(seq: int, *, done: bool) -> dict[str, Any]:
    return {
        "record_id": seq,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "is_p2p": False,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[64]],
        "output_sizes": [[64]],
        "input_dtypes": ["Float"],
        "output_dtypes": ["Float"],
        "state": "completed" if done else "scheduled",
        "retired": done,
        "time_created_ns": 1_700_000_000_000_000_000 + seq * 1_000_000_000,
        "frames": [{"name": "step", "filename": "/job/train.py", "line": 8}],
    }
