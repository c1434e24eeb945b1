"""What `unhang fleet` costs by the job, and whether it names exactly the bad hosts.

    python -m benchmarks.fleet [--jobs 10000] [--hosts 500]

Writes a folder of Slurm's output, one file for each job, and the table that `sacct` would print. A
job takes 1 to 16 hosts of 8 GPUs. One in nine fails: most by the program's own mistakes, which say
nothing of a host; a few by a GPU of any host; and one in five of those at five bad hosts by a GPU
of theirs. Surveys it twice, and prints the seconds of each and the hosts that are named.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import run

_UNHANG = str(Path(sys.executable).with_name("unhang"))
_BAD = 5
_START = datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc)
_STEPS = 400
_MISTAKE, _CHANCE, _AT_BAD = 0.08, 0.002, 0.2


def write(folder: Path, jobs: int, hosts: int) -> set[str]:
    """Write `jobs` jobs on `hosts` hosts, and return the bad ones.

    `folder` gets `logs/slurm-N.out` and `sacct.txt`.
    """
    dice = random.Random(18)
    pool = [f"gpu-{number:04d}" for number in range(hosts)]
    bad = set(dice.sample(pool, _BAD))
    (folder / "logs").mkdir()
    table = ["JobID|NodeList|Start|Elapsed|AllocTRES"]
    for number in range(100_000, 100_000 + jobs):
        nodes = sorted(dice.sample(pool, dice.choice((1, 2, 4, 8, 16))))
        at = _START + datetime.timedelta(minutes=6 * (number - 100_000))
        guilty = _guilty(nodes, bad, dice)
        lines = _job(nodes, at, guilty, dice)
        (folder / f"logs/slurm-{number}.out").write_text("\n".join(lines) + "\n", encoding="utf-8")
        table.append(
            f"{number}|{','.join(nodes)}|{at:%Y-%m-%dT%H:%M:%S}|0{dice.randint(1, 9)}:00:00"
            f"|gres/gpu={8 * len(nodes)}"
        )
    (folder / "sacct.txt").write_text("\n".join(table) + "\n", encoding="utf-8")
    return bad


def _guilty(nodes: list[str], bad: set[str], dice: random.Random) -> str | None:
    """The host whose GPU ends the job, if one does."""
    odds = ((node, _AT_BAD if node in bad else _CHANCE) for node in nodes)
    return next((node for node, chance in odds if dice.random() < chance), None)


def _job(
    nodes: list[str], at: datetime.datetime, guilty: str | None, dice: random.Random
) -> Iterator[str]:
    world = 8 * len(nodes)
    for rank in range(world):
        host = nodes[rank // 8]
        yield (
            f"{host}:{4100 + rank}:{4100 + rank} [{rank % 8}] NCCL INFO comm 0x55{rank:06x} rank"
            f" {rank} nranks {world} cudaDev {rank % 8} nvmlDev {rank % 8} busId {rank % 8}b000"
            " commId 0x8d1e4f - Init COMPLETE"
        )
    steps = dice.randint(_STEPS // 2, _STEPS)
    for step in range(steps):
        now = at + datetime.timedelta(seconds=12 * step)
        loss = 2 + dice.random()
        yield f"{now:%Y-%m-%d %H:%M:%S} - INFO - step {step}/{steps} loss {loss:.4f} lr 1.0e-05"
    end = f"{at + datetime.timedelta(seconds=12 * steps):%Y-%m-%d %H:%M:%S}"
    if guilty is not None:
        rank = 8 * nodes.index(guilty) + dice.randint(0, 7)
        yield (
            f"{end} {guilty} kernel: NVRM: Xid (PCI:0000:{rank % 8}b:00): 79, pid={4100 + rank},"
            " GPU has fallen off the bus."
        )
        yield from _raised(rank, "torch.AcceleratorError: CUDA error: unspecified launch failure")
    elif dice.random() < _MISTAKE:
        rank = dice.randrange(world)
        yield from _raised(rank, f"KeyError: 'sample {dice.randint(1, 9_999)} has no label'")
    else:
        yield f"{end} - INFO - training finished after {steps} steps"


def _raised(rank: int, error: str) -> Iterator[str]:
    yield f"[rank{rank}]: Traceback (most recent call last):"
    yield f'[rank{rank}]:   File "/job/train.py", line 412, in <module>'
    yield f"[rank{rank}]:     main()"
    yield f'[rank{rank}]:   File "/job/train.py", line 388, in main'
    yield f"[rank{rank}]:     loss = step(batch)"
    yield f"[rank{rank}]: {error}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--hosts", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unhang-fleet-") as name:
        folder = Path(name)
        bad = write(folder, options.jobs, options.hosts)
        cores = len(os.sched_getaffinity(0))
        found = folder / "fleet.json"
        command = [_UNHANG, "fleet", f"{name}/logs", "--sacct", f"{name}/sacct.txt", "--format"]
        command += ["json", "--store", f"{name}/store", "--output", str(found)]
        for which in ("first", "second"):
            load = os.getloadavg()[0]
            used = run(command)
            print(
                f"{which} run of {options.jobs:,} jobs: {used.seconds:.1f} s,"
                f" {used.cpu_seconds:.1f} CPU s ({1000 * used.cpu_seconds / options.jobs:.1f} ms a"
                f" job), {used.peak_mib:.0f} MiB, {cores} cores, load {load:.1f} before",
                flush=True,
            )
        told = json.loads(found.read_text(encoding="utf-8"))
        named = {host["name"] for host in told["hosts"]}
        print(f"causes: {[(each['cause'], each['jobs']) for each in told['causes']]}")
        print(f"bad: {sorted(bad)}; named: {sorted(named)}; exactly: {named == bad}")


if __name__ == "__main__":
    main()
