"""What it costs to read the reports of a large job and to judge them, once a second.

`python -m benchmarks.live_reports` prints it; `measure` is for other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from unhang.live.judge.monitor import Monitor
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
)
from unhang.live.messages.wire import node_from_json, node_to_json
from unhang.model.ids import Rank

_PER_HOST = 8
_TORCH = "/opt/env/lib/python3.11/site-packages/torch"
_DEPTH = 25


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds per second of the job, that is shares of one core.

    Attributes:
        reading: JSON of the agents to reports.
        judging: reports to actions.
        wire_bytes: that arrive in a second.
    """

    reading: float
    judging: float
    wire_bytes: float


def measure(ranks: int, seconds: int, *, late: int | None = None) -> Cost:
    """Watch a training job of many ranks.

    Args:
        ranks: of the job, eight on each host.
        seconds: of the job's time.
        late: a rank that saves while all others wait, or None.
    """
    texts = list(reports(ranks, seconds, late=late))
    monitor = Monitor()
    reading = judging = 0.0
    for now, text in texts:
        began = time.process_time()
        report = node_from_json(json.loads(text))
        read = time.process_time()
        assert report is not None
        monitor.handle(report, now)
        reading += read - began
        judging += time.process_time() - read
    size = sum(len(text) for _, text in texts)
    return Cost(reading / seconds, judging / seconds, size / seconds)


def reports(ranks: int, seconds: int, *, late: int | None = None) -> Iterator[tuple[float, str]]:
    """Yield what the agents of all hosts send, as text, with the time of arrival in seconds."""
    hosts = range((ranks + _PER_HOST - 1) // _PER_HOST)
    for second in range(seconds):
        for host in hosts:
            now = second + host / len(hosts)
            first = host * _PER_HOST
            mine = range(first, min(first + _PER_HOST, ranks))
            processes = tuple(_process(r, ranks, second, now, late) for r in mine)
            report = NodeReport(
                host=f"gn{host:04}", wall_s=1.7e9 + now, mono_s=now, processes=processes
            )
            yield now, json.dumps(node_to_json(report), separators=(",", ":"))


def _process(rank: int, ranks: int, second: int, now: float, late: int | None) -> ProcessReport:
    stuck = late is not None and second >= 5
    calls = 5 * 40 if stuck else second * 40
    waits = stuck and rank != late
    group = GroupBeat(
        name="0",
        desc="default_pg",
        ranks=tuple(Rank(r) for r in range(ranks)),
        backend="nccl",
        timeout_ms=600_000,
        enqueued=calls + waits,
        started=calls + waits,
        completed=calls,
        since_s=5.0 if stuck else now,
    )
    beat = Beat(
        host=f"gn{rank // _PER_HOST:04}",
        pid=1_000 + rank,
        process_started_s=1.7e9,
        rank=Rank(rank),
        local_rank=rank % _PER_HOST,
        world_size=ranks,
        wall_s=1.7e9 + now,
        mono_s=now,
        device="cuda",
        groups={"0": group},
        stack=_stack("distributed_c10d" if waits else "tensor", line=second % 7),
        steps=calls // 10,
        cpu_s=float(second),
        rss_bytes=1 << 33,
        read_bytes=second * 1_000,
        write_bytes=second * 1_000,
    )
    facts = ProcessFacts(alive=True, state="R", cpu_s=float(second), read_bytes=0, write_bytes=0)
    return ProcessReport(beat=beat, facts=facts, beats=second + 1, beat_age_s=0.4)


def _stack(module: str, line: int) -> tuple[FramePlace, ...]:
    """As deep as that of a trainer; the innermost frame of a rank that works changes."""
    inner = FramePlace(f"{_TORCH}/{module}.py", 100 + line, "all_reduce")
    outer = (FramePlace(f"{_TORCH}/trainer.py", 10 + i, f"loop_{i}") for i in range(_DEPTH))
    return (inner, *outer)


def main() -> None:
    """Print the cost of a job that trains and of one that waits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1_024)
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    for what, late in (("trains", None), ("waits for one rank", 3)):
        cost = measure(options.ranks, options.seconds, late=late)
        print(
            f"{options.ranks} ranks, the job {what}: reading {cost.reading:.1%} and judging"
            f" {cost.judging:.1%} of one core, {cost.wire_bytes / 1e6:.1f} MB/s"
        )


if __name__ == "__main__":
    main()
