"""The process that runs collectives for one rank: the only one here that imports torch.

Started as `python -m unhang.checking.worker`; reads orders and writes answers, lines of JSON
both. It may hang at any point: who started it has the time limit, asks it for its stacks by
SIGUSR1 (they go to standard error), and ends it.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any

from unhang.checking.collectives import OPERATIONS, Call

_WARM_UPS = 1


def main() -> None:
    """Take orders until there are no more."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = _ORDERS[order["do"]](order, answers)
        except Exception as error:  # the answer is the error; the next order may work
            answer = {"error": f"{type(error).__name__}: {str(error).strip()[:400]}"}
        answers.write(json.dumps({**answer, "done": True}) + "\n")


def _start(order: Mapping[str, Any], _answers: object) -> dict[str, Any]:
    """Import torch; say what it is."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    gpu = order.get("backend") == "nccl"
    if gpu:
        # A launcher may show each rank its own GPU only.
        torch.cuda.set_device(int(order["local_rank"]) % max(1, torch.cuda.device_count()))
    nccl = ".".join(map(str, torch.cuda.nccl.version())) if gpu else None
    return {"torch": str(torch.__version__), "nccl_loaded": nccl}


def _group(order: Mapping[str, Any], answers: Any) -> dict[str, Any]:  # noqa: ANN401 (a stream)
    """Make a group, run operations, unmake it."""
    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")
    rank, ranks = int(order["index"]), int(order["size"])
    backend = str(order["backend"])
    limit = timedelta(seconds=float(order["limit_s"]))
    device = torch.device("cuda" if backend == "nccl" else "cpu")
    begun = time.perf_counter()
    store = dist.TCPStore(
        order["address"], int(order["port"]), ranks, is_master=rank == 0, timeout=limit
    )
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=limit)
    try:
        dist.barrier()
        joined_s = time.perf_counter() - begun
        results = []
        for number, (name, size, repeats) in enumerate(order["operations"]):
            answers.write(json.dumps({"entered": number, "operation": name, "bytes": size}) + "\n")
            call = Call(
                torch=torch, dist=dist, numel=max(1, int(size) // 4), rank=rank, ranks=ranks,
                device=device,
            )  # fmt: skip
            results.append({"bytes": size, **_measure(name, call, int(repeats))})
        dist.barrier()
    finally:
        dist.destroy_process_group()
    return {"joined_s": joined_s, "results": results, "torch": str(torch.__version__)}


def _measure(name: str, call: Call, repeats: int) -> dict[str, Any]:
    """One operation at one size: seconds of each repeat, and how many values are wrong."""
    prepared = OPERATIONS[name].prepare(call)
    seconds: list[float] = []
    wrong = 0
    for number in range(_WARM_UPS + repeats):
        call.dist.barrier()
        begun = time.perf_counter()
        prepared.run()
        if str(call.device) != "cpu":
            call.torch.cuda.synchronize()
        if number >= _WARM_UPS:
            seconds.append(time.perf_counter() - begun)
        if prepared.expected is not None:
            wrong += int((prepared.result != prepared.expected).sum())
    return {"operation": name, "seconds": seconds, "wrong": wrong}


_ORDERS = {"start": _start, "group": _group}

if __name__ == "__main__":
    main()
