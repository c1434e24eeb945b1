"""Measure what the probe costs a training process: step time, memory, CPU time.

    python -m benchmarks.probe [--rounds N] [--seconds S] [--pairs N]

A beat a second is far below the noise between two runs of a training, and wall time on a machine
with other work tells of that work. So CPU time is compared, ten beats a second come, and what is
compared lies milliseconds apart: the main thread's CPU time of the two steps during which a beat
came with the two before and the two after. A beat costs the training what its own threads use (the
main thread waits for the GIL meanwhile, at worst all the time), of which all beats count, and what
the main thread needs more of (cold caches). Other work of the machine makes some steps longer by
far more than that: so the latter is the difference of two trimmed means, of the steps with a beat
and of the same without one, with the interval of Yuen's test. The hook that counts the steps is
measured by itself; so is what listens to collectives, which counts as often as it ever listens.

A training's own arenas grow and shrink by more than the probe has. So memory is compared between
processes that have torch and a process group and do nothing, in pairs: with a probe and without.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unhang.live.run_folder.layout import RunFolder
from unhang.probe import environment

PER_SECOND = 10
MOST_PERCENT, MOST_MIB, MOST_CORE_PERCENT = 0.1, 20, 0.5

_JOB = """
import json, sys, threading, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=0, world_size=1)
groups = [dist.new_group([0]) for _ in range(8)]
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Linear(384, 384) for _ in range(6)))
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(64, 384)

def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()

def ours_s():
    threads = [t.native_id for t in threading.enumerate() if t.name.startswith("unhang")]
    files = [open(f"/proc/self/task/{number}/schedstat") for number in threads]
    return sum(int(file.read().split()[0]) for file in files) / 1e9

lives = getattr(sys.modules.get("_unhang_probe.life"), "_lives", None)
board = lives[0]._board if lives else None
times, beats = [], []
end = time.monotonic() + float(sys.argv[1])
own_s = ours_s()
while time.monotonic() < end:
    at = time.thread_time()
    step()
    times.append(time.thread_time() - at)
    beats.append(board._beats if board else 0)

own_s = ours_s() - own_s
hook_s = 0.0
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
for hook in hooks.values():
    begun = time.perf_counter()
    for _ in range(100_000):
        hook(optimizer, (), {})
    hook_s += (time.perf_counter() - begun) / 100_000

def all_reduce(asked, tensor):
    begun = time.thread_time()
    for _ in range(100_000):
        asked(None)
    return (time.thread_time() - begun) / 100_000

course = sys.modules.get("_unhang_probe.course")
call_s, most = 0.0, 0
if course is not None:
    noted, plain = course.COURSE._noted, course.COURSE._asked
    if course.COURSE._show is None:  # it rests, for there were too many
        course.COURSE.show_last(board.note_call)
    call_s = all_reduce(noted, data) - all_reduce(plain, data)
    most = course._MOST_PER_S
print(json.dumps({
    "times": times, "beats": beats, "hook_s": hook_s, "calls_share": call_s * most,
    "cpu_s": own_s / max(1, beats[-1] - beats[0]),
}))
"""

_IDLE = """
import json, sys, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=0, world_size=1)
dist.all_reduce(torch.ones(1))
time.sleep(float(sys.argv[1]))
with open("/proc/self/smaps_rollup") as file:
    private = sum(int(line.split()[1]) for line in file if line.startswith("Private"))
print(json.dumps({"mib": private / 1024}))
"""
_IDLE_S = 2.0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probe", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--pairs", type=int, default=6)
    options = parser.parse_args(arguments)
    runs = [_run(_JOB, options.seconds, probed=True) for _ in range(options.rounds)]
    costs, rest = [], []
    for run in runs:
        costs += beat_costs(run["times"], run["beats"])
        rest += beat_costs(run["times"], run["beats"], came=False)
    if len(costs) < 2:
        sys.exit("too few beats came alone between steps: the machine is too busy to measure")
    step_s = statistics.median(t for run in runs for t in run["times"])
    more_s, half_s = trimmed_difference(costs, rest)
    hook_s = statistics.median(run["hook_s"] for run in runs)
    own_s = statistics.median(run["cpu_s"] for run in runs)
    calls = statistics.median(run["calls_share"] for run in runs)
    percent = 100 * (own_s + more_s + half_s + hook_s / step_s + calls)
    mib, half_mib = mean_and_half([_more_mib() for _ in range(options.pairs)])
    print(f"a step takes {step_s * 1e3:.2f} ms of the main thread's CPU time (median)")
    print(f"a beat takes {own_s * 1e3:.3f} ms of CPU time; the main thread needs")
    print(
        f"  {more_s * 1e3:.3f} ms more [{(more_s - half_s) * 1e3:.3f}, "
        f"{(more_s + half_s) * 1e3:.3f}] (95 %, {len(costs)} beats)"
    )
    print(f"the hook after a step takes {hook_s * 1e6:.2f} us; as many calls as are listened to")
    print(f"  at most take {calls * 100:.3f} % of the time")
    print(f"all, with one beat a second: at most {percent:.3f} % of step time ({MOST_PERCENT})")
    print(
        f"memory {mib:.1f} MiB [{mib - half_mib:.1f}, {mib + half_mib:.1f}] "
        f"(95 %, {options.pairs} pairs; {MOST_MIB}), CPU {own_s * 100:.3f} % of a core"
    )
    small = mib + half_mib <= MOST_MIB and own_s * 100 <= MOST_CORE_PERCENT
    within = percent <= MOST_PERCENT and small
    print("within the targets" if within else "MISSED, or too noisy to show")
    return int(not within)


def mean_and_half(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its interval of 95 %, of at least two values."""
    return statistics.fmean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def trimmed_difference(some: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """The difference of two trimmed means, and half of its interval of 95 % (Yuen)."""
    (one, one_error), (other, other_error) = map(_trimmed, (some, others))
    return one - other, 1.96 * math.hypot(one_error, other_error)


def _trimmed(values: Sequence[float]) -> tuple[float, float]:
    """The mean without a tenth of the values on either side, and its standard error."""
    ordered, count = sorted(values), len(values)
    cut = count // 10
    kept = ordered[cut : count - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    spread = statistics.variance(winsorized) * (count - 1)
    return statistics.fmean(kept), math.sqrt(spread / (len(kept) * (len(kept) - 1)))


def _more_mib() -> float:
    """By how much more private memory an idle process has with a probe."""
    without, probed = (_run(_IDLE, _IDLE_S, probed=probed)["mib"] for probed in (False, True))
    return float(probed - without)


def beat_costs(times: Sequence[float], beats: Sequence[int], *, came: bool = True) -> list[float]:
    """Seconds by which each beat made steps longer than their neighbours.

    Args:
        times: of the steps.
        beats: how many there had been after each step.
        came: False = where none came, by which the steps differ all the same.
    """
    costs = []
    for at in range(3, len(times) - 2):
        # The beat ended within this step and may have begun in the one before.
        calm = beats[at] == beats[at + 2] and beats[at - 1] == beats[at - 3]
        if calm and beats[at] - beats[at - 1] == came:
            around = times[at - 3] + times[at - 2] + times[at + 1] + times[at + 2]
            costs.append(times[at - 1] + times[at] - around / 2)
    return costs


def _run(job: str, seconds: float, *, probed: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "OMP_NUM_THREADS": "1", "RANK": "0", "WORLD_SIZE": "1"}
        if probed:
            run = RunFolder(Path(folder) / "run")
            run.make()
            environ["UNHANG_INTERVAL_S"] = str(1 / PER_SECOND)
            environ.update(environment.additions(environ, run_folder=str(run.root)))
        store = str(Path(folder) / "store")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", job, str(seconds), store],
            env=environ,
            check=True,
            capture_output=True,
            text=True,
        )
    numbers: dict[str, Any] = json.loads(done.stdout)
    return numbers


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
