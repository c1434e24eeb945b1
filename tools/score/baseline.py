"""The bar to beat: a search for sixteen groups of keywords, the first that is found is the answer.

This is what a person writes in ten minutes from common sense. It was written once, fitted to no
labelled job, and is frozen: it is changed for no result. It shows how much of a judge's score is
no more than reading the plain words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from score.verdicts import Verdict

_GROUPS = (
    ("gpu_oom", r"CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED"),
    ("host_oom", r"oom[-_ ]?kill|Out of memory: Kill|Cannot allocate memory|SIGKILL|exitcode: -9"),
    ("shm_small", r"\bshm\b|shared memory|Bus error|SIGBUS"),
    ("gpu_hardware", r"\bXid\b|uncorrectable|\bECC\b|fallen off the bus|NVLink"),
    ("gpu_kernel_fault", r"illegal memory access|device-side assert|unspecified launch failure"),
    ("rdma_fault", r"ibv_|vendor err|infiniband|RoCE|mlx5_|libfabric"),
    ("net_interface", r"No route to host|Connection refused|Network is unreachable|no socket int"),
    ("rendezvous", r"address already in use|EADDRINUSE|rendezvous|TCPStore|MASTER_ADDR"),
    ("device_map", r"Duplicate GPU|invalid device ordinal|CUDA_VISIBLE_DEVICES"),
    ("version_mismatch", r"driver version is insufficient|undefined symbol|no kernel image"),
    ("rank_crash", r"Segmentation fault|SIGSEGV|signal 11|core dumped"),
    ("desync", r"mismatch|desync"),
    ("external_stop", r"KeyboardInterrupt|DUE TO TIME LIMIT|CANCELLED|preempt|SIGTERM|SIGHUP"),
    ("rank_exception", r"Traceback \(most recent call last\)"),
    ("checkpoint_slow", r"sav(e|ing).{0,30}(checkpoint|model)"),
    ("data_slow", r"tokeniz|dataloader|dataset"),
)
_PATTERNS = tuple((cause, re.compile(words, re.IGNORECASE)) for cause, words in _GROUPS)
_RANK = re.compile(r"\brank[ :=_]?(\d+)", re.IGNORECASE)


def search(inputs: Sequence[Path]) -> Verdict:
    """Answer with the first group found anywhere, and with the rank in its first line, if any."""
    lines = [line for path in inputs for line in _lines(path)]
    for cause, pattern in _PATTERNS:
        found = next((line for line in lines if pattern.search(line)), None)
        if found is not None:
            rank = _RANK.search(found)
            named = frozenset() if rank is None else frozenset({int(rank[1])})
            return Verdict(outcome="cause", cause=cause, strength="supports", culprits=named)
    return Verdict(outcome="undetermined")


def _lines(path: Path) -> Iterator[str]:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()
