"""Runs a folder of small jobs under the live judge and scores it: `python -m trial FOLDER`.

`FOLDER/jobs.json` is a list of jobs, written by somebody who has not seen the judge:

    {"file": "h_poll.py", "nproc": 2, "kind": "healthy", "total_s": 40, "env": {}}
    {"file": "f_lock.py", "nproc": 2, "kind": "fault", "right": {"ranks": [1], "within_s": 10}}

`launcher` may replace torchrun: a whole command line. `ranks_also_ok` may be named beside `ranks`;
with `may_end` false the judge must not end the job. A faulty job writes the second of its fault to
the file that `FAULT_FILE` names, and is stopped some time later. A healthy job must end by itself,
unaccused. The result is printed, and written as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang import diagnose
from unhang.lab.live_verdicts import Level, LiveVerdict, words

_LAUNCHER = "python -m torch.distributed.run --standalone --nproc-per-node {nproc} {file}"
_LOOK_S = 0.5
_ENDED_BY_JUDGE = 86


@dataclass(frozen=True, slots=True)
class Told:
    """What was said of one job.

    Attributes:
        ended: the judge ended what it must not, or a healthy job failed.
        suspected: culprits of each suspicion.
        accused: culprits of each confirmed hang.
        named_s: seconds from the fault until the right ranks were first named; None = never.
        live: culprits of the last word while it ran.
        final: culprits of `unhang diagnose` of its run folder.
        cause: of the same.
    """

    file: str
    kind: str
    exit_code: int | None
    seconds: float
    ended: bool
    suspected: list[list[int]]
    accused: list[list[int]]
    right: list[int] | None
    also: list[int]
    named_s: float | None
    live: list[int] | None
    final: list[int]
    cause: str | None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trial; exit code 1 when a healthy job was ended or accused."""
    parser = argparse.ArgumentParser(prog="trial", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="new folder of the run folders")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time")
    parser.add_argument("--after", type=float, default=30, help="seconds from a fault to the stop")
    parser.add_argument("--pg-timeout", type=int, default=600, help="PG_TIMEOUT of the jobs")
    parser.add_argument("--limit", type=float, default=240, help="seconds that any job gets")
    parser.add_argument("--only", default="", help="jobs whose file name contains this")
    options = parser.parse_args(argv)
    jobs = json.loads((options.folder / "jobs.json").read_text("utf-8"))
    jobs = [job for job in jobs if options.only in job["file"]]
    options.out.mkdir(parents=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        told = []
        for one in pool.map(lambda job: _run(job, options), jobs):
            told.append(one)
            print(json.dumps(asdict(one)), flush=True)
    (options.out / "told.json").write_text(json.dumps([asdict(one) for one in told], indent=1))
    return _sum(told)


def _run(job: dict[str, Any], options: argparse.Namespace) -> Told:
    name = Path(job["file"]).stem
    run, fault = options.out / name, options.out / f"{name}.fault"
    healthy = job["kind"] == "healthy"
    env = {**os.environ, "PG_TIMEOUT": str(options.pg_timeout), "OMP_NUM_THREADS": "1"}
    here = str(Path(sys.executable).parent)
    env |= {"PATH": f"{here}:{env['PATH']}", "PY": sys.executable, "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"PYTHONPATH": str(options.folder.resolve()), "FAULT_FILE": str(fault)}
    env["TMPDIR"] = str(scratch := options.out / f"{name}.tmp")
    scratch.mkdir()
    env |= {str(key): str(value) for key, value in (job.get("env") or {}).items()}
    command = job.get("launcher") or _LAUNCHER.format(**{"nproc": 2, **job})
    judge = [sys.executable, "-m", "unhang", "run", "--no-color", "--out", str(run)]
    judge += ["--timeouts", "judge", "--on-hang", "abort", "--", *shlex.split(command)]
    began = time.time()
    with (options.out / f"{name}.txt").open("wb") as output:
        process = subprocess.Popen(
            judge,
            cwd=options.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        stopped = _wait(process, fault, options, began, job)
    seconds = time.time() - began
    said = words(run) if run.exists() else ()
    during = [word for word in said if word.level in {Level.SUSPECTED, Level.HANG}]
    label = job.get("right") or {}
    right, also = label.get("ranks"), label.get("ranks_also_ok") or []
    found = diagnose(str(run)) if run.exists() else None
    code = process.returncode
    return Told(
        file=job["file"],
        kind=job["kind"],
        exit_code=code,
        seconds=round(seconds, 1),
        ended=(healthy and (stopped or _failed(code, job)))
        or (code == _ENDED_BY_JUDGE and not label.get("may_end", not healthy)),
        suspected=[list(w.culprits) for w in during if w.level is Level.SUSPECTED],
        accused=[list(w.culprits) for w in during if w.level is Level.HANG],
        right=right,
        also=also,
        named_s=_named(said, right, also, _moment(fault) or began),
        live=list(during[-1].culprits) if during else None,
        final=sorted(found.culprits) if found is not None else [],
        cause=found.cause.value if found is not None and found.cause is not None else None,
    )


def _failed(code: int | None, job: dict[str, Any]) -> bool:
    return code != int((job.get("right") or {}).get("exit_code") or 0)


def _wait(
    process: subprocess.Popen[bytes],
    fault: Path,
    options: argparse.Namespace,
    began: float,
    job: dict[str, Any],
) -> bool:
    """Wait for the end, or stop the job; whether it was stopped for being too long."""
    while process.poll() is None:
        time.sleep(_LOOK_S)
        since = time.time() - (_moment(fault) or time.time())
        over: bool = time.time() - began > options.limit
        if over or (job["kind"] != "healthy" and since > options.after):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return over
    return False


def _moment(fault: Path) -> float | None:
    try:
        return float(fault.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _named(
    said: Sequence[LiveVerdict], right: list[int] | None, also: list[int], since: float
) -> float | None:
    """Seconds from `since` until somebody was named, and rightly."""
    for word in said:
        named = set(word.culprits)
        if word.level is not Level.LATE and set(right or named) <= named <= {
            *(right or named),
            *also,
        }:
            return round(datetime.fromisoformat(word.at).timestamp() - since, 1)
    return None


def _sum(told: Sequence[Told]) -> int:
    healthy = [one for one in told if one.kind == "healthy"]
    faults = [one for one in told if one.kind != "healthy"]
    named = [one.named_s for one in faults if one.named_s is not None]
    wrongly = [one.file for one in told if one.ended]
    accused = [one.file for one in healthy if one.accused]
    rows = {
        "healthy": len(healthy),
        "faults": len(faults),
        "ended without proof, or failed": wrongly,
        "healthy and accused": accused,
        "healthy and suspected": [one.file for one in healthy if one.suspected],
        "healthy and a culprit at the end": [one.file for one in healthy if one.final],
        "named right": len(named),
        "named right within 10 s": sum(seconds <= 10 for seconds in named),
        "not named right": [one.file for one in faults if one.named_s is None],
        "an innocent rank at the end": [
            one.file for one in faults if one.right and set(one.final) - {*one.right, *one.also}
        ],
        "the end differs from live": [
            one.file for one in faults if one.live and one.final and one.live != one.final
        ],
    }
    for name, value in rows.items():
        print(f"{name}: {f'{len(value)} {value}' if isinstance(value, list) else value}")
    return bool(wrongly or accused)


if __name__ == "__main__":
    sys.exit(main())
