"""Judges hostile inputs in a process of their own, which may crash, hang, or eat memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_S = 30.0
LIMIT_MIB = 500.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that was not judged as it should be."""

    name: str
    data: bytes
    what: str


@dataclass(slots=True)
class Result:
    """What became of some inputs."""

    failures: list[Failure] = field(default_factory=list)
    worst_s: float = 0.0
    worst_mib: float = 0.0


def attack(inputs: Sequence[tuple[bytes, str]]) -> Result:
    """Judge inputs, one after the other; each failure is found again alone."""
    result = Result()
    with tempfile.TemporaryDirectory(prefix="unhang-fuzz-") as folder:
        paths = []
        for number, (data, name) in enumerate(inputs):
            path = Path(folder) / str(number) / name[-100:]
            path.parent.mkdir()
            path.write_bytes(data)
            paths.append(path)
        while paths:
            done = _judge(paths, result)
            failed = paths[done] if done < len(paths) else None
            if failed is not None:
                place = int(failed.parent.name)
                what = _alone(failed)
                if what is not None:
                    result.failures.append(Failure(inputs[place][1], inputs[place][0], what))
            paths = paths[done + 1 :]
    return result


def _judge(paths: Sequence[Path], result: Result) -> int:
    """How many were judged well before one was not."""
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        told, _ = worker.communicate("\n".join(map(str, paths)), timeout=LIMIT_S + len(paths))
    except subprocess.TimeoutExpired:
        worker.kill()
        told, _ = worker.communicate()
    done = 0
    for line in told.splitlines():
        try:
            seconds, mib, what = json.loads(line)
        except ValueError:
            break
        if what is not None or seconds > LIMIT_S or mib > LIMIT_MIB:
            break
        result.worst_s, result.worst_mib = max(result.worst_s, seconds), max(result.worst_mib, mib)
        done += 1
    return done


def _alone(path: Path) -> str | None:
    """What one input does to a process of its own; None where it is judged well there."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _WORKER],
            input=str(path),
            capture_output=True,
            text=True,
            timeout=3 * LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {3 * LIMIT_S:.0f} s"
    if not done.stdout.strip():
        return f"the process ended with {done.returncode}: {done.stderr[-300:]}"
    seconds, mib, what = json.loads(done.stdout.splitlines()[0])
    if what is not None:
        return str(what)
    if seconds > LIMIT_S:
        return f"{seconds:.1f} s"
    return f"{mib:.0f} MiB" if mib > LIMIT_MIB else None


_WORKER = """
import json, re, resource, sys, time
from unhang.api import diagnose
from unhang.errors import UsageError
from unhang.reporters import render
limit = 4 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.stdin.read().splitlines():
    begun, what = time.process_time(), None
    try:
        found = diagnose(path)
        for form in ("json", "terminal", "markdown"):
            render(found, form)
    except UsageError:
        pass
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"[:300]
    with open("/proc/self/status") as status:  # ru_maxrss counts what the parent had, too
        used = int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024
    print(json.dumps([time.process_time() - begun, used, what]), flush=True)
"""
