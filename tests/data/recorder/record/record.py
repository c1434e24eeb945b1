"""Runs small Gloo jobs that hang, or do not, and keeps the Flight Recorder dumps that they leave.

    OMP_NUM_THREADS=1 python tests/data/recorder/record/record.py FOLDER [NAME ...]

Torch is imported once; every rank of every job is a fork of that process. A rank dumps when the
time of the job is over, wherever its program stands then; `truth.json` says which ranks hold the
others up. `../gloo.tar.xz` holds what this wrote with torch 2.13.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")

import torch
import torch.distributed as dist

TIMEOUT_S = 1.0
DUMP_AFTER_S = 2.2


class Place(NamedTuple):
    """Who a process is in its job."""

    rank: int
    world: int
    odd: int

    @property
    def is_odd(self) -> bool:
        """Whether this is the rank that the fault is in."""
        return self.rank == self.odd


def reduce(size: int = 1000, dtype: torch.dtype = torch.float32, group: Any = None) -> None:
    """Sum over the ranks."""
    dist.all_reduce(torch.ones(size, dtype=dtype), group=group)


def spread(size: int = 1000, src: int = 0, group: Any = None) -> None:
    """Send from one to all."""
    dist.broadcast(torch.ones(size), src=src, group=group)


def collect(size: int = 100) -> None:
    """Gather from all on all."""
    dist.all_gather([torch.ones(size) for _ in range(dist.get_world_size())], torch.ones(size))


def steps(count: int) -> None:
    """A loop of equal steps."""
    for _ in range(count):
        reduce()
        spread()


def sleep() -> None:
    """Stay away for good."""
    time.sleep(60)


def healthy(_at: Place) -> None:
    """All is well, and a barrier ends it."""
    steps(4)
    dist.barrier()


def healthy_open_end(_at: Place) -> None:
    """All is well; the program ends with a step."""
    steps(5)


def missing_one(at: Place) -> None:
    """One rank never comes to a step."""
    steps(4)
    if at.is_odd:
        sleep()
    reduce()


def missing_at_barrier(at: Place) -> None:
    """One rank writes a file before a barrier, for ever."""
    steps(2)
    if at.is_odd:
        save_checkpoint()
    dist.barrier()


def save_checkpoint() -> None:
    """What the stack of the late rank shows."""
    sleep()


def missing_one_ahead(at: Place) -> None:
    """One rank leaves out a call and is one ahead."""
    steps(3)
    if not at.is_odd:
        reduce()
    spread()
    reduce(500)
    collect()
    dist.barrier()


def one_too_many(at: Place) -> None:
    """One rank issues a call that no other issues."""
    steps(3)
    if at.is_odd:
        collect(7)
    steps(3)
    dist.barrier()


def uneven(at: Place) -> None:
    """One rank has a batch less and waits in the barrier after the loop."""
    steps(4 - at.is_odd)
    dist.barrier()


def uneven_more(at: Place) -> None:
    """One rank has a batch more."""
    steps(4 + at.is_odd)


def mismatch_op(at: Place) -> None:
    """One rank issues another operation."""
    steps(4)
    if at.is_odd:
        spread(src=at.odd)
    else:
        reduce()
    dist.barrier()


def mismatch_size(at: Place) -> None:
    """One rank brings another number of elements."""
    steps(4)
    reduce(500 if at.is_odd else 1000)
    dist.barrier()


def mismatch_size_more(at: Place) -> None:
    """One rank brings more elements."""
    steps(4)
    reduce(2000 if at.is_odd else 1000)
    dist.barrier()


def mismatch_dtype(at: Place) -> None:
    """One rank brings another type."""
    steps(4)
    reduce(dtype=torch.float64 if at.is_odd else torch.float32)
    dist.barrier()


def died(at: Place) -> None:
    """One rank is killed and leaves no dump."""
    steps(4)
    if at.is_odd:
        os.kill(os.getpid(), signal.SIGKILL)
    reduce()


def wrapped(at: Place) -> None:
    """The buffer has overwritten most when one rank stays away."""
    steps(20)
    if at.is_odd:
        sleep()
    reduce()


def wrapped_healthy(_at: Place) -> None:
    """The buffer has overwritten most, and all is well."""
    steps(20)
    dist.barrier()


def grid(at: Place) -> tuple[Any, Any]:
    """Tensor parallel pairs and the data parallel groups across them."""
    tps = [dist.new_group([i, i + 1], group_desc="tp") for i in range(0, at.world, 2)]
    dps = [dist.new_group(list(range(i, at.world, 2)), group_desc="dp") for i in range(2)]
    return tps[at.rank // 2], dps[at.rank % 2]


def subgroups_stall(at: Place) -> None:
    """One rank stays away from its tensor parallel pair; its other group waits behind."""
    tp, dp = grid(at)
    for step in range(6):
        if at.is_odd and step == 5:
            sleep()
        reduce(64, group=tp)
        reduce(128, group=dp)


def subgroups_healthy(at: Place) -> None:
    """Sub-groups, all well."""
    tp, dp = grid(at)
    for _ in range(6):
        reduce(64, group=tp)
        reduce(128, group=dp)
    dist.barrier()


def subgroups_size(at: Place) -> None:
    """One rank brings another size into its tensor parallel pair."""
    tp, dp = grid(at)
    for step in range(6):
        reduce(32 if at.is_odd and step == 4 else 64, group=tp)
        reduce(128, group=dp)


def orders(at: Place) -> None:
    """One rank issues the calls of two groups of all ranks the other way round."""
    everyone = list(range(at.world))
    one, two = dist.new_group(everyone), dist.new_group(everyone)
    steps(2)
    for group in (two, one) if at.is_odd else (one, two):
        reduce(group=group)


def pipeline_healthy(at: Place) -> None:
    """Activations handed on; sends and receives are not recorded by Gloo."""
    for _ in range(4):
        if at.rank > 0:
            dist.recv(torch.ones(8), at.rank - 1)
        if at.rank < at.world - 1:
            dist.send(torch.ones(8), at.rank + 1)
        reduce(1)


def pipeline_stall(at: Place) -> None:
    """One stage never sends; those behind it wait in a receive, the others in the reduction."""
    for step in range(4):
        if at.rank > 0:
            dist.recv(torch.ones(8), at.rank - 1)
        if at.is_odd and step == 3:
            sleep()
        if at.rank < at.world - 1:
            dist.send(torch.ones(8), at.rank + 1)
        reduce(1)


def p2p_mismatch(at: Place) -> None:
    """One rank receives from a rank that sends nothing; Gloo does not record that."""
    for step in range(4):
        after, before = (at.rank + 1) % at.world, (at.rank - 1) % at.world
        work = dist.isend(torch.ones(8), after)
        dist.recv(torch.ones(8), before if not at.is_odd or step < 3 else after)
        work.wait()
        reduce(1)


def many_kinds(at: Place) -> None:
    """Other operations, and one rank that stays away from a scatter."""
    for _ in range(3):
        collect()
        dist.reduce(torch.ones(10), dst=0)
        chunks = [torch.ones(5) for _ in range(at.world)]
        dist.scatter(torch.ones(5), chunks if at.rank == 0 else None, src=0)
        dist.gather(torch.ones(5), chunks if at.rank == 0 else None, dst=0)
        dist.all_to_all_single(torch.ones(at.world * 2), torch.ones(at.world * 2))
    if at.is_odd:
        sleep()
    collect()


NOBODY = frozenset(
    {"healthy", "healthy_open_end", "wrapped_healthy", "subgroups_healthy", "pipeline_healthy"}
)
WORLDS = {"missing_one": (2, 4, 8), "mismatch_op": (3, 4), "uneven": (4, 8)}
JOBS: dict[str, Callable[[Place], None]] = {
    job.__name__: job
    for job in (
        *(healthy, healthy_open_end, missing_one, missing_at_barrier, missing_one_ahead),
        *(one_too_many, uneven, uneven_more, mismatch_op, mismatch_size, mismatch_size_more),
        *(mismatch_dtype, died),
        *(wrapped, wrapped_healthy, subgroups_stall, subgroups_healthy, subgroups_size, orders),
        *(pipeline_healthy, pipeline_stall, p2p_mismatch, many_kinds),
    )
}


def rank_main(at: Place, job: Callable[[Place], None], folder: Path) -> None:
    """Run one rank; dump when the time is over."""
    began = time.monotonic()
    threading.Thread(target=dump_and_end, args=(at, folder, began), daemon=True).start()
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=at.rank,
        world_size=at.world,
        timeout=timedelta(seconds=TIMEOUT_S),
    )
    try:
        job(at)
    except RuntimeError as error:
        (folder / f"error_{at.rank}").write_text(str(error))
    time.sleep(60)
    os._exit(1)


def dump_and_end(at: Place, folder: Path, began: float) -> None:
    """Write both forms of the dump and leave."""
    from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

    time.sleep(max(0.0, began + DUMP_AFTER_S - time.monotonic()))
    groups = dist.distributed_c10d._world.pg_group_ranks
    names = dist.distributed_c10d._world.pg_names
    listed = {names[g]: sorted(ranks) for g, ranks in groups.items() if g in names}
    (folder / f"groups_{at.rank}.json").write_text(json.dumps(listed))
    (folder / f"trace_{at.rank}").write_bytes(_dump_fr_trace())
    (folder / f"json_{at.rank}.json").write_bytes(_dump_fr_trace_json())
    os._exit(0)


def record(name: str, world: int, odd: int, folder: Path) -> None:
    """Run one job and write its truth."""
    folder.mkdir(parents=True)
    os.environ["TORCH_FR_BUFFER_SIZE"] = "16" if name.startswith("wrapped") else "2000"
    pids = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            rank_main(Place(rank, world, odd), JOBS[name], folder)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    (folder / "store").unlink(missing_ok=True)
    groups: dict[str, list[int]] = {}
    for file in folder.glob("groups_*"):
        groups.update(json.loads(file.read_text()))
        file.unlink()
    culprits = [] if name in NOBODY else [odd]
    truth = {"job": name, "world": world, "culprits": culprits, "groups": groups}
    (folder / "truth.json").write_text(json.dumps(truth))
    for error in folder.glob("error_*"):
        error.unlink()


def main(root: Path, names: list[str]) -> None:
    """Record all jobs, with the odd rank first, in the middle and last."""
    for name in names or JOBS:
        for world in WORLDS.get(name, (4,)):
            for odd in (0,) if name in NOBODY else sorted({0, world // 2, world - 1}):
                record(name, world, odd, root / f"{name}-{odd}of{world}")
                sys.stderr.write(f"{name}, rank {odd} of {world}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
