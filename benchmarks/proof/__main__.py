"""Run the troubled job with and without the judge, seed by seed, and compare.

    python -m benchmarks.proof [--seeds 10] [--minutes 10] [--timeout 40] [--write docs/proof.md]

Time is compressed: a limit of 40 s stands for the usual ten to thirty minutes, while what unhang
needs to be sure, and what a restart costs, are as long as ever. So the gain is understated.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.proof.job import STEP_S
from unhang.live.judge.patience import OUTSIDE_S, UNKNOWN_LIMIT_S

ARMS = ("plain", "judge")
_GRACE_S = 60
_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One job.

    Attributes:
        useful: share of the time that went into steps which were saved.
        failures_per_h: starts after the first one, per hour.
        saves_killed: legitimate slow saves that were begun and never completed.
        hang_s: from each hang to the next start.
    """

    useful: float
    failures_per_h: float
    saves_killed: int
    slow_saves: int
    hangs: int
    hang_s: tuple[float, ...]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--timeout", type=float, default=40.0)
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(arguments)
    jobs = [(arm, seed) for seed in range(options.seeds) for arm in ARMS]
    with ThreadPoolExecutor(options.at_once) as pool:
        outcomes = dict(
            zip(
                jobs,
                pool.map(lambda job: _run(*job, options.minutes * 60, options.timeout), jobs),
                strict=True,
            )
        )
    text = _report(outcomes, options)
    print(text)
    if options.write is not None:
        options.write.write_text(text + "\n")
    return 0


def _run(arm: str, seed: int, seconds: float, timeout_s: float) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="unhang-proof-") as name:
        folder = Path(name)
        job = [
            sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", "--max-restarts", "1000",
            str(Path(__file__).with_name("job.py")), name, str(seed), str(timeout_s),
        ]  # fmt: skip
        watched = [sys.executable, "-m", "unhang", "run", "--out", f"{name}/run"]
        watched += ["--timeouts", "judge", "--on-hang", "abort"]
        watched += ["--patience", f"{_patience_s(timeout_s):g}", "--"]
        with (folder / "output.log").open("wb") as output:
            process = subprocess.Popen(
                (watched if arm == "judge" else []) + job,
                stdout=output,
                stderr=output,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": "1",
                    "TMPDIR": name,
                    # Without it most restarts of torch 2.13 fail or hang, in both arms alike.
                    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
                },
                start_new_session=True,
            )
            time.sleep(seconds)
            ended = time.time()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return _outcome(folder / "progress.jsonl", ended)


def _patience_s(limit_s: float) -> float:
    """The judge's least patience, compressed as the limit is, which stands for torch's own."""
    return limit_s * OUTSIDE_S / UNKNOWN_LIMIT_S


def _outcome(progress: Path, ended: float) -> Outcome:
    notes = [json.loads(line) for line in progress.read_text().splitlines()]
    notes = [note for note in notes if note["at"] <= ended]
    began = notes[0]["at"]
    saved = max((n["step"] for n in notes if n["kind"] == "saved"), default=0)
    starts = [n["at"] for n in notes if n["kind"] == "start"]
    hangs = [n["at"] for n in notes if n["kind"].startswith("hang")]
    slow = [n for n in notes if n["kind"] == "slow-save"]
    # The last one may merely have been under way when the time was over.
    killed = sum(
        not any(
            m["kind"] == "saved" and (m["start"], m["step"]) == (n["start"], n["step"])
            for m in notes
        )
        and n["start"] < len(starts) - 1
        for n in slow
    )
    return Outcome(
        useful=saved * STEP_S / (ended - began),
        failures_per_h=(len(starts) - 1) / (ended - began) * 3_600,
        saves_killed=killed,
        slow_saves=len(slow),
        hangs=len(hangs),
        hang_s=tuple(
            min(s for s in starts if s > at) - at for at in hangs if any(s > at for s in starts)
        ),
    )


def _report(outcomes: dict[tuple[str, int], Outcome], options: argparse.Namespace) -> str:
    of = {arm: [outcomes[arm, seed] for seed in range(options.seeds)] for arm in ARMS}
    plain, judge = of["plain"], of["judge"]
    gain = [j.useful - p.useful for p, j in zip(plain, judge, strict=True)]
    fewer = [j.failures_per_h - p.failures_per_h for p, j in zip(plain, judge, strict=True)]
    lines = [
        "# The proof: troubled jobs with and without the judge",
        "",
        "Written by `make proof`. A job of two ranks (DDP on Gloo) saves whenever it has",
        "worked for as long as the limit of its process group; one save in four is slow and well,",
        "and lasts 1.5 times the limit; about once in three limits of work a random rank hangs for",
        "good (sleeps, is stopped, keeps the interpreter lock, waits for a lost lock).",
        "`plain` is `torchrun --max-restarts`; `judge` is the same under",
        "`unhang run --timeouts judge --on-hang abort`. A start resumes from the last checkpoint.",
        "Both run with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1: without it most restarts fail or hang",
        "(torch 2.13, Gloo), and `plain` would look worse than it need be.",
        f"{options.seeds} seeds, {options.minutes:g} minutes each, limit {options.timeout:g} s,",
        f"{options.at_once} jobs at once. Time is compressed: the limit stands for ten to thirty",
        "minutes, while unhang and a restart take as long as ever, so the gain is understated.",
        f"So is the patience of the judge: {_patience_s(options.timeout):.0f} s stand for its least"
        " of 10 minutes.",
        "",
        "| | plain | judge | judge - plain, 95 % interval |",
        "|---|---:|---:|---|",
        f"| useful work, share of time | {_mean(plain, 'useful'):.1%} |"
        f" {_mean(judge, 'useful'):.1%} | {_interval(gain, '+.1%')} |",
        f"| failures per hour | {_mean(plain, 'failures_per_h'):.1f} |"
        f" {_mean(judge, 'failures_per_h'):.1f} | {_interval(fewer, '+.1f')} |",
        f"| slow saves, killed / begun | {_total(plain, 'saves_killed')}/"
        f"{_total(plain, 'slow_saves')} | {_total(judge, 'saves_killed')}/"
        f"{_total(judge, 'slow_saves')} | |",
        f"| hangs | {_total(plain, 'hangs')} | {_total(judge, 'hangs')} | |",
        f"| from a hang to the next start, median | {_median(plain)} | {_median(judge)} | |",
    ]
    rows = [
        f"| {seed} | {p.useful:.1%} | {j.useful:.1%} | {p.saves_killed}/{p.slow_saves} |"
        f" {j.saves_killed}/{j.slow_saves} | {p.hangs} | {j.hangs} |"
        for seed, (p, j) in enumerate(zip(plain, judge, strict=True))
    ]
    head = [
        "",
        "| seed | useful, plain | judge | saves killed, plain | judge | hangs, plain | judge |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join(lines + head + rows)


def _mean(outcomes: Sequence[Outcome], name: str) -> float:
    return statistics.fmean(getattr(o, name) for o in outcomes)


def _total(outcomes: Sequence[Outcome], name: str) -> int:
    return sum(getattr(o, name) for o in outcomes)


def _median(outcomes: Sequence[Outcome]) -> str:
    seconds = [s for o in outcomes for s in o.hang_s]
    return f"{statistics.median(seconds):.0f} s" if seconds else "none"


def _interval(differences: Sequence[float], form: str) -> str:
    """Mean of paired differences, with the percentile bootstrap of their seeds."""
    luck = random.Random(0)
    means = sorted(
        statistics.fmean(luck.choices(differences, k=len(differences))) for _ in range(_RESAMPLES)
    )
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return f"{statistics.fmean(differences):{form}} ({low:{form}} to {high:{form}})"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
