"""Which readers a file of a bundle or a run is for: a listing is no log, whatever words it holds.

A bundle is known by the folder that names its host (`host=gpu-07/rank_3/environment.txt`). Its
environments, mounts and counters quote paths and values of the user's, and its manifest quotes
errors of the capture itself; only those that know the format of such a file are let read it. So it
is with the last view of the live judge, which quotes the errors that its ranks have printed: read
as a log it would tell of further processes. Logs, stacks and the rest of a run folder are for all.
"""

from __future__ import annotations

from unhang import lazy_re as re

_MEMBER = re.compile(r"(?:^|[/!])host=[^/!]+/(?:(?:rank|pid)_\d{1,10}/)?(?P<name>[^/!]+)$")
_MANIFEST = re.compile(r"[/!]manifest\.json$")
_STANDING = re.compile(r"(?:^|[/!])standing\.json$")
_BUNDLE = re.compile(r"\.unhang\.tar\.zst!")

NOBODY = frozenset[str]()
_LIVE_JUDGE = frozenset({"run-record"})

_READERS: dict[str, frozenset[str]] = {
    "environment.txt": frozenset({"settings_seen", "membership"}),
    "versions.txt": frozenset({"versions"}),
    "kernel.log": frozenset({"kernel-log", "kernel-stacks"}),
    "proc.txt": frozenset({"kernel-stacks"}),
    "gpus.txt": frozenset({"gpu-names", "gpu-report", "gpu-table", "versions"}),
    "ibstat.txt": frozenset({"port-report"}),
    "ibv-devinfo.txt": frozenset({"port-report"}),
    **dict.fromkeys(
        (
            *("threads.txt", "files.txt", "mounts.txt", "memory.txt", "network_1.txt"),
            *("network_2.txt", "rdma.txt", "cpus.txt", "numa.txt", "clock.txt", "gpu-fabric.txt"),
        ),
        NOBODY,
    ),
}
_GPU = re.compile(r"gpu\d{1,4}\.txt")


def readers_of(artifact: str) -> frozenset[str] | None:
    """The names of the parsers that may read an artifact; None = all.

    >>> sorted(readers_of("b.unhang.tar.zst!host=n/rank_3/environment.txt") or ())
    ['membership', 'settings_seen']
    """
    if _STANDING.search(artifact) is not None:
        return _LIVE_JUDGE
    member = _MEMBER.search(artifact)
    if member is None:
        inside = _BUNDLE.search(artifact) is not None
        return NOBODY if inside and _MANIFEST.search(artifact) is not None else None
    name = member["name"]
    return _READERS.get("gpus.txt" if _GPU.fullmatch(name) is not None else name)
