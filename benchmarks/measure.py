"""Runs a command and tells its wall time and the memory of its whole process tree."""

from __future__ import annotations

import resource
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run: pages that several processes share are counted once."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def best(command: Sequence[str], *, runs: int) -> Measured:
    """The fastest of `runs` runs, with the highest peak of all."""
    measured = [run(command) for _ in range(runs)]
    return Measured(
        seconds=min(m.seconds for m in measured),
        cpu_seconds=min(m.cpu_seconds for m in measured),
        peak_mib=max(m.peak_mib for m in measured),
    )


def run(command: Sequence[str]) -> Measured:
    """Run once; the command must succeed (`rg` may also find nothing)."""
    used = _cpu_of_children()
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        peaks = [0.0]
        watcher = threading.Thread(target=_watch, args=(process, peaks), daemon=True)
        watcher.start()
        code = process.wait()
        seconds = time.perf_counter() - started
        watcher.join()
    if code not in {0, 1}:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {code}")
    return Measured(seconds=seconds, cpu_seconds=_cpu_of_children() - used, peak_mib=peaks[0])


def peak_while(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process, and return the highest memory of its tree meanwhile, in MiB."""
    peaks = [0.0]
    _watch(process, peaks)
    return peaks[0]


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _watch(process: subprocess.Popen[bytes], peaks: list[float]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(map(_pss_mib, _tree(process.pid))))
        time.sleep(_SAMPLE_S)


def _tree(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(below for child in children for below in _tree(int(child)))]


def _pss_mib(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0
