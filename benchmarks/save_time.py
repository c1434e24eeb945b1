"""Set planned seconds of a save against real ones: every style, three sizes.

    python -m benchmarks.save_time [--folder DIR] [--write FILE]

Two processes (gloo) hold a model under FSDP2 and save it in the three ways that a plan knows. What
`unhang plan --storage` measures is measured before and after each save: a busy machine changes from
second to second. A median of planned by real that is further from 1 than its target is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from unhang.architectures import from_config
from unhang.model.plan import Precision, Save, SaveStyle
from unhang.planning import PlanRequest, make_plan
from unhang.planning.storage import measure_copy, measure_together, measure_write

LAYERS = (1, 2, 3)
"""0.6, 1.1 and 1.6 GB."""
WORLD = 2
ATTEMPTS = 3
NEAR = 0.3
_GATHERED = 16 << 20
_LIMIT_S = 1_800
Speeds = Mapping[str, int]


def request_of(layers: int) -> PlanRequest:
    """A model that two ranks hold in parts; its tensors are as large as those of a 7B model."""
    sizes = {
        "hidden_size": 4096, "intermediate_size": 4096, "num_attention_heads": 32,
        "vocab_size": 8192, "tie_word_embeddings": True,
    }  # fmt: skip
    model = from_config({"model_type": "llama", "num_hidden_layers": layers, **sizes})
    return PlanRequest(model=model, world=WORLD, precision=Precision.FP32, save_optimizer=False)


def planned(request: PlanRequest, style: SaveStyle, speeds: Speeds) -> Save:
    """The save on a machine of these speeds.

    Without a GPU a gather ends in host memory, so that rank 0 copies nothing after it.
    """
    if style is SaveStyle.RANK0:
        speeds = {**speeds, "copy_speed": sys.maxsize}
    made = make_plan(replace(request, **speeds))
    return next(save for save in made.saves if save.style is style)


class Job:
    """This rank of the job, and the ways in which it saves."""

    def __init__(self, request: PlanRequest, folder: Path) -> None:
        from torch import distributed
        from torch.distributed.fsdp import fully_shard
        from torch.nn import Parameter, ParameterList

        self.rank, self.folder = distributed.get_rank(), folder
        self.model = ParameterList(
            Parameter(torch.randn(tensor.shape))
            for unit in request.model.units
            for _ in range(unit.count)
            for tensor in unit.tensors
        )
        fully_shard(self.model)
        self.ways: Mapping[SaveStyle, Callable[[], float]] = {
            SaveStyle.RANK0: self.by_rank_0,
            SaveStyle.SHARDED: self.by_all,
            SaveStyle.ASYNC: self.beside_training,
        }

    def save(self, style: SaveStyle) -> tuple[float, float]:
        """Seconds that this rank waited, and until the last byte was on the medium."""
        from torch import distributed

        distributed.barrier()
        begin = time.perf_counter()
        waited_s = self.ways[style]()
        distributed.barrier()
        took_s = time.perf_counter() - begin
        if self.rank == 0:
            shutil.rmtree(self.folder / "saved")
        return waited_s, took_s

    def by_rank_0(self) -> float:
        """Gather on rank 0, which writes; the other waits in the barrier that follows."""
        from torch import distributed
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        begin = time.perf_counter()
        options = StateDictOptions(full_state_dict=True, cpu_offload=True)
        whole = get_model_state_dict(self.model, options=options)
        if self.rank == 0:
            (self.folder / "saved").mkdir()
            with (self.folder / "saved" / "model.pt").open("wb") as file:
                torch.save(whole, file)
                file.flush()
                os.fsync(file.fileno())
        distributed.barrier()
        return time.perf_counter() - begin

    def by_all(self) -> float:
        """Each rank writes its part."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_model_state_dict

        begin = time.perf_counter()
        checkpoint.save(get_model_state_dict(self.model), checkpoint_id=self.folder / "saved")
        return time.perf_counter() - begin

    def beside_training(self) -> float:
        """Each rank copies its part; a thread writes it, and training would go on."""
        from torch.distributed import checkpoint
        from torch.distributed.checkpoint.state_dict import get_model_state_dict

        begin = time.perf_counter()
        state = get_model_state_dict(self.model)
        writing = checkpoint.async_save(state, checkpoint_id=self.folder / "saved")
        waited_s = time.perf_counter() - begin
        writing.result()
        return waited_s


def measure(folder: Path) -> Speeds:
    """What `plan --storage` measures, by rank 0 while the other is idle; and a gather of both."""
    from torch import distributed

    distributed.barrier()
    found: list[Speeds] = [{}]
    if distributed.get_rank() == 0:
        found = [
            {
                "write_speed": measure_write(folder),
                "write_speed_total": measure_together(folder, WORLD),
                "copy_speed": measure_copy(WORLD),
            }
        ]
    distributed.broadcast_object_list(found, src=0)
    part = torch.ones(_GATHERED)
    begin = time.perf_counter()
    distributed.all_gather_into_tensor(torch.empty(WORLD * _GATHERED), part)
    gather = WORLD * part.nbytes / (time.perf_counter() - begin)
    return {**found[0], "gather_speed": int(gather)}


def work(folder: Path) -> None:
    """One rank: print a line of JSON for each save, which rank 0 does."""
    from torch import distributed

    distributed.init_process_group("cpu:gloo")
    for layers in LAYERS:
        request = request_of(layers)
        job = Job(request, folder)
        for style in SaveStyle:
            job.save(style)  # the first one makes threads and groups
        before = measure(folder)
        for _ in range(ATTEMPTS):
            for style in SaveStyle:
                waited_s, took_s = job.save(style)
                after = measure(folder)
                speeds = {name: (before[name] + after[name]) // 2 for name in before}
                save = planned(request, style, speeds)
                if job.rank == 0:
                    found = [style.value, save.size_bytes, save.wait_s, waited_s]
                    print(json.dumps([*found, save.total_s, took_s]), flush=True)
                before = after
    distributed.barrier()
    os._exit(0)  # torch 2.13 may abort where it ends the threads of asynchronous saves


def run(folder: Path) -> list[list[Any]]:
    """Start both ranks, and read what rank 0 prints."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    done = subprocess.run(
        [*torchrun, f"--nproc-per-node={WORLD}", "-m", "benchmarks.save_time", "--rank-of", folder],
        stdout=subprocess.PIPE, text=True, timeout=_LIMIT_S, check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def rows(saves: Sequence[Sequence[Any]]) -> Iterator[tuple[str, int, float, float, list[float]]]:
    """What is compared, bytes, medians of planned and real seconds, and all ratios."""
    for style, size in dict.fromkeys((save[0], save[1]) for save in saves):
        same = [save[2:] for save in saves if (save[0], save[1]) == (style, size)]
        for what, at in (("others wait", 0), ("until written", 2)):
            if at and style != SaveStyle.ASYNC.value:
                continue  # all wait until it is written
            ours, real = ([each[at + column] for each in same] for column in (0, 1))
            ratios = sorted(o / r for o, r in zip(ours, real, strict=True))
            yield f"{style}, {what}", int(size), median(ours), median(real), ratios


def page(saves: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "<!-- Made by `make bench`; edit benchmarks/save_time.py, not this page. -->"
    yield ""
    yield "# Planned and real seconds of a save"
    yield ""
    yield (
        f"A model under FSDP2 on {WORLD} CPU processes (gloo), PyTorch {torch.__version__}, saved"
        f" {ATTEMPTS} times in each way and size, in turn. Before and after each save its speeds"
        " were measured as `unhang plan --storage` does, and an all-gather for `--gather-speed`;"
        " the plan takes their mean, without rank 0's copy to host memory: without a GPU the gather"
        " ends there. Medians; the disk and the cores are shared with other work"
        f" (load {os.getloadavg()[0]:.1f} at the end of this run), so that seconds differ from run"
        " to run, and the ratios are taken within one."
    )
    yield ""
    yield "| Save | MB | planned s | real s | planned / real | of single saves |"
    yield "|---|---:|---:|---:|---:|---|"
    for what, size, ours, real, ratios in rows(saves):
        yield (
            f"| {what} | {size / 1e6:.0f} | {ours:.2f} | {real:.2f} | {median(ratios):.2f} |"
            f" {ratios[0]:.2f} to {ratios[-1]:.2f} |"
        )


def main() -> int:
    """Print a row for each style and size; 1 where a median is far from real."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.save_time", description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--rank-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank_of is not None:
        work(options.rank_of)
        return 0
    with tempfile.TemporaryDirectory(prefix="unhang-bench-", dir=options.folder) as folder:
        saves = run(Path(folder))
    text = "\n".join(page(saves)) + "\n"
    if options.write is not None:
        options.write.write_text(text, encoding="utf-8")
    print(text)
    return int(any(abs(median(ratios) - 1) > NEAR for *_, ratios in rows(saves)))


if __name__ == "__main__":
    sys.exit(main())
