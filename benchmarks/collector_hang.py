"""How soon a hang is named where thousands of ranks report, and what it costs to hear them.

    python -m benchmarks.collector_hang [--nodes 2048] [--seconds 60]

As `benchmarks.collector`: the judging process is that of `unhang run` (collector, leader, monitor),
the nodes are simulated in another process, and their connections and reports are real. After some
seconds one rank is stopped, and the others wait for it in the next all_reduce of the whole job.
Prints when it was named, the CPU time of the judging process from the hang on, and its memory. On
two cores the nodes themselves take most of the time: a report then comes later than asked.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from benchmarks import collector
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.inputs import Tick
from unhang.live.messages.reports import FramePlace, GroupBeat, Issued, ProcessReport
from unhang.live.nodes.leader import Leader
from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import format_ranks

LATE = 5
_WORK = (FramePlace("/home/u/train.py", 40, "augment"), FramePlace("/home/u/train.py", 10, "main"))
_WAIT = (
    FramePlace(
        "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
        2800,
        "all_reduce",
    ),
    FramePlace("/home/u/train.py", 50, "train_step"),
    FramePlace("/home/u/train.py", 10, "main"),
)
_NAMES = {NoteKind.STALL_SUSPECTED, NoteKind.HANG_CONFIRMED}
_trains = collector.process


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the judging process did."""

    ranks: int
    reports: int
    cpu_s: float
    wall_s: float
    rss_mib: float
    interval_s: float
    notes: tuple[str, ...]


def hanging(at_s: float, world: int, rank: int, local_rank: int, host: str) -> ProcessReport:
    """A rank of a job that trains until then."""
    now = time.monotonic()
    report = _trains(rank, local_rank, world, host)
    if now < at_s:
        return report
    assert report.beat is not None
    step, waits = int(at_s * 3), rank != LATE

    def stands(group: GroupBeat) -> GroupBeat:
        more = int(waits and group.name == "0")
        done = 40 * step
        return group._replace(
            enqueued=done + more, started=done + more, completed=done, since_s=at_s
        )

    beat = replace(
        report.beat,
        groups={name: stands(group) for name, group in report.beat.groups.items()},
        stack=_WAIT if waits else _WORK,
        stack_since_s=at_s,
        call=Issued(op="all_reduce") if waits else None,
        steps=step,
        cpu_s=now if waits else at_s,
        read_bytes=int(at_s * 1e6),
        write_bytes=int(at_s * 1e4),
    )
    facts = replace(
        report.facts, state="S", cpu_s=beat.cpu_s, read_bytes=beat.read_bytes, write_bytes=0
    )
    if waits:
        return replace(report, beat=beat, facts=facts)
    beat = replace(beat, mono_s=at_s)
    facts = replace(facts, state="T")  # somebody stopped it: its probe is silent, too
    return replace(report, beat=beat, facts=facts, beats=int(at_s), beat_age_s=now - at_s)


def judge(
    folder: Path,
    seconds: float,
    ready: multiprocessing.Queue[tuple[int, float]],
    told: multiprocessing.Queue[Named],
) -> None:
    """Be the agent of the first node, as far as others report to it."""
    run = RunFolder(folder)
    run.make()
    hub = collector._Counting(run, "127.0.0.1", 0, collector.TOKEN)
    leader = Leader(Monitor(), hub)
    began = time.monotonic()
    at_s = began + seconds
    ready.put((hub.port, at_s))
    notes: list[str] = []
    used = 0.0
    while (now := time.monotonic()) < at_s + seconds and not notes:
        time.sleep(1.0)
        if used == 0.0 and now > at_s:
            used, hub.handed_out = time.process_time(), 0
        for action in leader.handle(Tick(), time.monotonic()):
            if isinstance(action, Note) and action.kind in _NAMES:
                who = format_ranks(action.culprits)
                notes.append(f"{action.kind.value} {who} after {time.monotonic() - at_s:.1f} s")
    last = leader.standing(time.monotonic())
    told.put(
        Named(
            ranks=0 if last is None else len(last.ranks),
            reports=hub.handed_out,
            cpu_s=time.process_time() - used,
            wall_s=time.monotonic() - at_s,
            rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            interval_s=leader.interval_s,
            notes=tuple(notes),
        )
    )
    hub.close()


def measure(nodes: int, seconds: float) -> Named:
    """Train for so long, then hang for as long at most."""
    context = multiprocessing.get_context("spawn")
    ready: multiprocessing.Queue[tuple[int, float]] = context.Queue()
    told: multiprocessing.Queue[Named] = context.Queue()
    with tempfile.TemporaryDirectory(prefix="unhang-bench-") as folder:
        judging = context.Process(target=judge, args=(Path(folder), seconds, ready, told))
        judging.start()
        port, at_s = ready.get(timeout=120)
        collector.process = lambda rank, local_rank, world, host: hanging(
            at_s, world, rank, local_rank, host
        )
        asyncio.run(_until(collector.simulate(nodes, port, 4 * seconds), judging))
        judging.join(60)
        return told.get(timeout=120)


async def _until(nodes: Coroutine[None, None, None], judging: BaseProcess) -> None:
    """Let the nodes report until the judging process has seen enough."""
    task = asyncio.ensure_future(nodes)
    while judging.is_alive() and not task.done():
        await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=2_048)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    named = measure(options.nodes, options.seconds)
    print(
        f"{named.ranks} ranks on {options.nodes} nodes (load {load:.1f}):"
        f" {named.reports} reports in {named.wall_s:.1f} s of the hang,"
        f" {named.cpu_s:.1f} s of CPU, {named.rss_mib:.0f} MiB,"
        f" one report of a node every {named.interval_s:.1f} s; " + "; ".join(named.notes)
    )


if __name__ == "__main__":
    main()
