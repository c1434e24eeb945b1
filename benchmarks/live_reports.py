"""What it costs to read the reports of a large job and to judge them, once a second.

`python -m benchmarks.live_reports` prints it; `measure` is for other benchmarks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
)
from unhang.live.messages.wire import node_from_json, node_to_json
from unhang.live.nodes.leader import Leader
from unhang.model.ids import Rank

_PER_HOST = 8
_SAMPLED = 64
"""Nodes whose reports are read from their text: what reading costs is by the report."""
_STALLS_S = 5.0
_TORCH = "/opt/env/lib/python3.11/site-packages/torch"
_DEPTH = 25


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds per second of the job, that is shares of one core.

    Attributes:
        every_s: between two reports of a node, as the leader wants it.
        reading: JSON of the agents to reports; measured on some of the nodes.
        judging: reports to actions.
        wire_bytes: that arrive in a second.
        named_s: from the standstill until the rank that all wait for is named.
    """

    every_s: float
    reading: float
    judging: float
    wire_bytes: float
    named_s: float | None


def measure(ranks: int, seconds: int, *, late: int | None = None) -> Cost:
    """Watch a training job of many ranks.

    Args:
        ranks: of the job, eight on each host.
        seconds: of the job's time.
        late: a rank that is killed, so that all others wait, or None.
    """
    leader = Leader(Monitor())
    leader._ranks = {"all": ranks}
    hosts = (ranks + _PER_HOST - 1) // _PER_HOST
    sampled = -(-hosts // _SAMPLED)
    reading = judging = size = 0.0
    named_s = None
    told = reports(ranks, seconds, leader.interval_s, late=late)
    for number, (now, sent) in enumerate(told):
        report: NodeReport | None = sent
        if number % sampled == 0:
            text = json.dumps(node_to_json(sent), separators=(",", ":"))
            size += sampled * len(text)
            began = time.process_time()
            report = node_from_json(json.loads(text))
            reading += sampled * (time.process_time() - began)
        assert report is not None
        began = time.process_time()
        actions = leader._ask(report, now)
        judging += time.process_time() - began
        if named_s is None and any(
            isinstance(a, Note)
            and a.kind in {NoteKind.STALL_SUSPECTED, NoteKind.HANG_CONFIRMED}
            and (late is None or a.culprits == {late})
            for a in actions
        ):
            named_s = now - _STALLS_S
    cost = reading / seconds, judging / seconds, size / seconds
    return Cost(leader.interval_s, *cost, named_s)


def reports(
    ranks: int, seconds: int, every_s: float, *, late: int | None = None
) -> Iterator[tuple[float, NodeReport]]:
    """Yield what the agents of all hosts send, with the time of arrival in seconds."""
    hosts = range((ranks + _PER_HOST - 1) // _PER_HOST)
    for round_ in range(int(seconds / every_s)):
        for host in hosts:
            now = every_s * (round_ + host / len(hosts))
            first = host * _PER_HOST
            mine = range(first, min(first + _PER_HOST, ranks))
            processes = tuple(_process(r, ranks, now, late) for r in mine)
            yield (
                now,
                NodeReport(
                    host=f"gn{host:04}", wall_s=1.7e9 + now, mono_s=now, processes=processes
                ),
            )


@cache
def _all(ranks: int) -> tuple[Rank, ...]:
    return tuple(map(Rank, range(ranks)))


def _process(rank: int, ranks: int, now: float, late: int | None) -> ProcessReport:
    stuck = late is not None and now >= _STALLS_S
    second = int(_STALLS_S if stuck else now)
    calls = 40 * int(min(now, _STALLS_S) if late is not None else now)
    waits = stuck and rank != late
    group = GroupBeat(
        name="0",
        desc="default_pg",
        ranks=_all(ranks),
        backend="nccl",
        timeout_ms=600_000,
        enqueued=calls + waits,
        started=calls + waits,
        completed=calls,
        since_s=_STALLS_S if stuck else now,
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
    killed = stuck and rank == late
    facts = ProcessFacts(
        alive=not killed,
        signal=9 if killed else None,
        state="R",
        cpu_s=float(second),
        read_bytes=0,
        write_bytes=0,
    )
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
    for what, late in (("trains", None), ("waits for a killed rank", 3)):
        cost = measure(options.ranks, options.seconds, late=late)
        named = "" if cost.named_s is None else f", named after {cost.named_s:.1f} s"
        print(
            f"{options.ranks} ranks, a report every {cost.every_s:.0f} s, the job {what}: reading"
            f" {cost.reading:.1%} and judging {cost.judging:.1%} of one core,"
            f" {cost.wire_bytes / 1e6:.1f} MB/s{named}",
            flush=True,
        )


if __name__ == "__main__":
    main()
