"""Releases of torch, NCCL, CUDA, the driver and the frameworks that the ranks run with.

Nothing of theirs is imported: names of installed distributions tell the releases, and the libraries
that a process has mapped tell which of them it really runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, Stop, absent, unreadable
from unhang.capturing.spec import About, Piece, Spec

_SYSTEM = (
    *("/proc/driver/nvidia/version", "/proc/sys/kernel/osrelease"),
    *("/sys/module/mlx5_core/version", "/sys/module/amdgpu/version"),
)
_LIBRARY = re.compile(
    r"(?P<path>/\S*/lib(?:nccl|rccl|hccl|torch_cuda|torch_cpu|cudart|cuda|nvidia-ml|nccl-net[\w-]*"
    r"|mpi|fabric|ucp)\.so[\w.]*)"
)
_SITE = re.compile(r"(?P<site>/\S*?/(?:site|dist)-packages)/")
_DISTRIBUTION = re.compile(r"(?P<name>[\w.]+)-(?P<version>[\w.+!]+)\.dist-info")
_WANTED = re.compile(
    r"torch|nvidia|nccl|cuda|triton|flash|xformers|transformer|accelerate|deepspeed|trl|peft"
    r"|datasets|lightning|megatron|nemo|verl|ray|vllm|sglang|axolotl|swift|llama|unsloth|webdataset"
    r"|open_clip|recbole|apex|bitsandbytes|safetensors|numpy|wandb|hydra|composer|colossal|litgpt"
    r"|fsspec|unhang",
    re.IGNORECASE,
)
_MOST_ENTRIES = 20_000
_MAPS_BYTES = 16 << 20


def gather(context: SourceContext) -> Iterator[Piece]:
    """Each installation and each library once: ranks usually share them."""
    if not context.job.ranks:
        raise absent("no_process")
    lines: list[str] = []
    missing: Stop | None = None
    seen: set[str] = set()
    for process in context.job.ranks:
        maps = context.one(ReadRequest(f"/proc/{process.pid}/maps", limit=_MAPS_BYTES))
        if maps.error is not None:
            missing = unreadable(maps)
            continue
        lines.extend(_of_process(context, process, maps.text, seen))
    told = (a for a in context.heads(_SYSTEM) if a.error is None)
    lines.extend(f"{a.request.path}: {a.text.strip()}" for a in told)
    if lines:
        yield Piece(name="versions.txt", data=("\n".join(lines) + "\n").encode())
    if missing is not None:
        raise missing


def _of_process(
    context: SourceContext, process: JobProcess, maps: str, seen: set[str]
) -> Iterator[str]:
    """What is installed where its libraries come from, and which of them it has mapped."""
    root = f"/proc/{process.pid}/root"
    for site in _fresh((match["site"] for match in _SITE.finditer(maps)), seen):
        yield f"installed in {site}:"
        listed = context.one(ReadRequest(root + site, "list", _MOST_ENTRIES))
        yield from _installed(listed.names)
    for path in _fresh((match["path"] for match in _LIBRARY.finditer(maps)), seen):
        yield f"mapped: {path}"


def _fresh(found: Iterator[str], seen: set[str]) -> list[str]:
    fresh = sorted(set(found) - seen)
    seen.update(fresh)
    return fresh


def _installed(names: list[str]) -> Iterator[str]:
    for name in names:
        match = _DISTRIBUTION.fullmatch(name)
        if match is not None and _WANTED.search(match["name"]) is not None:
            yield f"{match['name'].replace('_', '-')}=={match['version']}"


SPEC = Spec(name="versions", about=About.HOST, gather=gather, limit_s=8.0, order=4)
