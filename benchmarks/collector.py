"""What one collector costs: simulated nodes of 8 ranks report to the judge of a real run folder.

    python -m benchmarks.collector [--nodes 128] [--seconds 30]

The judging process is the one of `unhang run`: collector, monitor, standings and history. The nodes
are simulated in another process: connections, reports and their rhythm are real, the ranks are not.
Each rank trains: its counters rise, its stack changes from beat to beat, four groups are reported.
Prints the share of one core that the judging process takes, and its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import random
import resource
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import zstandard

from unhang.live.agent.agent import collect_rarely
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.changes import ReportSender
from unhang.live.messages.inputs import Tick
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
)
from unhang.live.nodes import signing
from unhang.live.nodes.collector import Collector
from unhang.live.nodes.leader import Leader
from unhang.live.run_folder.journal import RunJournal
from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import Rank

RANKS_PER_NODE = 8
FRAMES = 18
TOKEN = "bench"
_KEY = signing.key_of(TOKEN)


@dataclass(frozen=True, slots=True)
class Cost:
    """What the judging process took, by the report of a node; and how often one is wanted."""

    report_s: float
    rss_mib: float
    ranks: int
    interval_s: float


class _Counting(Collector):
    """On a machine that is busy the nodes report less often than they should."""

    handed_out = 0

    def reports(self) -> list[NodeReport]:
        found = super().reports()
        self.handed_out += len(found)
        return found


def judge(
    folder: Path,
    seconds: float,
    port: multiprocessing.Queue[int],
    cost: multiprocessing.Queue[Cost],
) -> None:
    """Be the agent of the first node, as far as others report to it."""
    collect_rarely()
    run = RunFolder(folder)
    run.make()
    hub = _Counting(run, "127.0.0.1", 0, TOKEN)
    port.put(hub.port)
    leader, desk = Leader(Monitor(), hub), RunJournal(run)
    began = used = 0.0
    deadline = time.monotonic() + 2 * seconds
    while time.monotonic() < deadline:
        time.sleep(1.0)
        now = time.monotonic()
        leader.handle(Tick(), now)
        if desk.wants_view:
            desk.show(partial(leader.standing, now))
        if began == 0.0 and now > deadline - seconds:  # all nodes have come, and are known
            began, used, hub.handed_out = now, time.process_time(), 0
    report_s = (time.process_time() - used) / max(1, hub.handed_out)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    last = leader.standing(time.monotonic())
    ranks = 0 if last is None else len(last.ranks)
    cost.put(Cost(report_s, rss, ranks, leader.interval_s))
    desk.close()
    hub.close()


async def node(number: int, nodes: int, port: int) -> None:
    """Come as one agent does: again, where too many come from one address at a time."""
    while True:
        await asyncio.sleep(random.random())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await _reports(number, nodes, port)


async def _reports(number: int, nodes: int, port: int) -> None:
    """Report in the rhythm that the answers ask for."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    packer, sender = zstandard.ZstdCompressor(level=1), ReportSender()
    while True:
        told = json.dumps(sender.tell(report(number, nodes)), separators=(",", ":"))
        body = packer.compress(told.encode())
        writer.write(
            b"POST /v1/report HTTP/1.1\r\nHost: bench\r\n%s"
            b"Content-Encoding: zstd\r\nContent-Length: %d\r\n\r\n%s"
            % (_signed(number, body), len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.rpartition(b"Content-Length: ")[2].split()[0])
        answer = json.loads(await reader.readexactly(length))
        sender.arrived()
        await asyncio.sleep(answer["interval_s"])


def _signed(number: int, body: bytes) -> bytes:
    """Headers of a request, as an agent signs it."""
    headers = signing.headers_for(_KEY, "/v1/report", f"node{number:03}", body)
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()


def report(number: int, nodes: int) -> NodeReport:
    """What a node that trains reports now."""
    first = number * RANKS_PER_NODE
    world = nodes * RANKS_PER_NODE
    return NodeReport(
        host=f"node{number:03}",
        wall_s=time.time(),
        mono_s=time.monotonic(),
        processes=tuple(
            process(first + n, n, world, f"node{number:03}") for n in range(RANKS_PER_NODE)
        ),
    )


def process(rank: int, local_rank: int, world: int, host: str) -> ProcessReport:
    """A rank that trains."""
    now = time.monotonic()
    step = int(now * 3)
    teams = {
        "0": tuple(range(world)),
        "1": tuple(range(rank % 8, world, 8)),
        "2": tuple(range(rank - rank % 8, rank - rank % 8 + 8)),
        "3": tuple(range(rank % 64, world, 64)),
    }
    groups = {
        name: GroupBeat(
            name=name,
            desc=f"mesh_{name}",
            ranks=tuple(map(Rank, ranks)),
            backend="nccl",
            timeout_ms=600_000,
            user_timeout_ms=600_000,
            enqueued=40 * step + int(name),
            started=40 * step,
            completed=40 * step,
            since_s=now - 0.1,
        )
        for name, ranks in teams.items()
    }
    depth = random.randint(0, 3)
    stack = tuple(
        FramePlace(
            f"/opt/venv/lib/python3.11/site-packages/package/module_{n}.py", 100 + n, f"call_{n}"
        )
        for n in range(depth, FRAMES + depth)
    )
    beat = Beat(
        host=host,
        pid=4000 + local_rank,
        process_started_s=1.0,
        rank=Rank(rank),
        local_rank=local_rank,
        world_size=world,
        restart=0,
        argv=("python", "train.py"),
        wall_s=time.time(),
        mono_s=now,
        torch="2.9.0",
        device="cuda",
        groups=groups,
        stack=stack,
        stack_since_s=now - 0.1,
        steps=step,
        step_wall_s=time.time(),
        cpu_s=now,
        rss_bytes=20 << 30,
        read_bytes=int(now * 1e6),
        write_bytes=int(now * 1e4),
        gpu_bytes=70 << 30,
    )
    facts = ProcessFacts(
        alive=True, state="R", cpu_s=now, read_bytes=int(now * 1e6), write_bytes=int(now * 1e4)
    )
    return ProcessReport(beat=beat, facts=facts, beats=int(now), beat_age_s=0.2)


async def simulate(nodes: int, port: int, seconds: float) -> None:
    """All nodes, for so long."""
    tasks = [asyncio.create_task(node(number, nodes, port)) for number in range(nodes)]
    await asyncio.wait(tasks, timeout=seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def measure(nodes: int, seconds: float) -> Cost:
    """Run both for twice as long as is measured; the first half is for all to come."""
    context = multiprocessing.get_context("spawn")
    port: multiprocessing.Queue[int] = context.Queue()
    cost: multiprocessing.Queue[Cost] = context.Queue()
    with tempfile.TemporaryDirectory(prefix="unhang-bench-") as folder:
        judging = context.Process(target=judge, args=(Path(folder), seconds, port, cost))
        judging.start()
        asyncio.run(simulate(nodes, port.get(timeout=60), 2 * seconds - 0.5))
        result = cost.get(timeout=60)
        judging.join(60)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    cost = measure(options.nodes, options.seconds)
    share = 100 * cost.report_s * options.nodes / cost.interval_s
    print(
        f"{cost.ranks} ranks on {options.nodes} nodes: {1e3 * cost.report_s:.2f} ms a report,"
        f" {share:.1f} % of one core with one every {cost.interval_s:.1f} s,"
        f" {cost.rss_mib:.0f} MiB"
    )


if __name__ == "__main__":
    main()
