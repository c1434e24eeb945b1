"""Runs hostile requests in a process of their own, which may crash, hang, or eat memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.requests import Request

LIMIT_S = 30.0
LIMIT_MIB = 500.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was not answered as it should be."""

    request: Request
    what: str


@dataclass(slots=True)
class Result:
    """What became of some requests."""

    failures: list[Failure] = field(default_factory=list)
    worst_s: float = 0.0
    worst_mib: float = 0.0


def attack(requests: Sequence[Request]) -> Result:
    """Run requests, one after the other in one process; each failure is tried again alone."""
    result = Result()
    with tempfile.TemporaryDirectory(prefix="unhang-fuzz-") as folder:
        lines = [_written(Path(folder) / str(n), request) for n, request in enumerate(requests)]
        left = list(zip(lines, requests, strict=True))
        while left:
            done = _judge([line for line, _ in left], result)
            if done < len(left):
                what = _alone(left[done][0])
                if what is not None:
                    result.failures.append(Failure(left[done][1], what))
            left = left[done + 1 :]
    return result


def _written(folder: Path, request: Request) -> str:
    """The arguments of a request whose files have been written, as a line of JSON."""
    folder.mkdir()
    for name, data in request.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return json.dumps([a.replace("{}", str(folder)) for a in request.arguments])


def _judge(lines: Sequence[str], result: Result) -> int:
    """How many were answered well before one was not."""
    worker = subprocess.Popen(
        [sys.executable, "-c", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        told, _ = worker.communicate("\n".join(lines), timeout=4 * LIMIT_S + 2 * len(lines))
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


def _alone(line: str) -> str | None:
    """What one request does to a process of its own; None where it is answered well there."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _WORKER],
            input=line,
            capture_output=True,
            text=True,
            timeout=6 * LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {6 * LIMIT_S:.0f} s"
    if not done.stdout.strip():
        return f"the process ended with {done.returncode}: {done.stderr[-300:]}"
    seconds, mib, what = json.loads(done.stdout.splitlines()[0])
    if what is not None:
        return str(what)
    if seconds > LIMIT_S:
        return f"{seconds:.1f} s"
    return f"{mib:.0f} MiB" if mib > LIMIT_MIB else None


_WORKER = """
import contextlib, io, json, os, re, resource, sys, time
from unhang.commands import invoke
limit = 4 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
os.environ["COLUMNS"] = "100"
for line in sys.stdin.read().splitlines():
    begun, what = time.process_time(), None
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    printed, told = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
            code = invoke(json.loads(line))
        if code not in (0, 2):
            what = f"exit {code}: {told.getvalue()[-300:]}"
        elif (guarded := re.search(
            " failed[^\\n]{0,300}; the rest was used", printed.getvalue()
        )) or re.search("^Traceback [(]most", told.getvalue(), re.M):  # a message may quote one
            text = printed.getvalue() + told.getvalue()
            place = guarded.end() if guarded else 0
            what = "guarded: " + text[max(0, place - 300):place + 20]
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"[:300]
    with open("/proc/self/status") as status:  # ru_maxrss counts what the parent had, too
        used = int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024
    print(json.dumps([time.process_time() - begun, used, what]), flush=True)
"""
