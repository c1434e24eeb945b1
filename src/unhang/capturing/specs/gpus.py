"""What NVIDIA's driver tells of each GPU: by NVML (nvidia-ml-py), else by `nvidia-smi -q`.

A wedged driver hangs its caller. NVML is asked by one process for each GPU (`gpus_child.py`), which
prints fact by fact: what it said before it hung is kept, and so is the name of the call that hung.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from unhang.capturing.bounded import run
from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, Stop, absent, refused, timed_out
from unhang.capturing.spec import About, Piece, Spec

_CHILD = str(Path(__file__).with_name("gpus_child.py"))
_DEVICE = re.compile(r"nvidia\d{1,4}")
_LIMIT_S = 8.0
_ASKING = "# asking "


def gather(context: SourceContext) -> Iterator[Piece]:
    """One text in the form of `nvidia-smi -q`."""
    count = _count(context)
    if count == 0:
        raise absent("no_device", what="NVIDIA GPU")
    if find_spec("pynvml") is None:
        ran = context.said("nvidia-smi", "-q")
        yield Piece(name="gpus.txt", data=ran.out, cut=ran.cut)
        return
    missing: Stop | None = None
    for index, (text, stop) in enumerate(_ask_all(context, count)):
        missing = missing or stop
        if text:
            yield Piece(name=f"gpu{index}.txt", data=text.encode())
    if missing is not None:
        raise missing


def _ask_all(context: SourceContext, count: int) -> list[tuple[str, Stop | None]]:
    """All at once: one that hangs takes no time from the others."""
    found: list[tuple[str, Stop | None]] = [("", None)] * count

    def ask(index: int) -> None:
        found[index] = _ask(context, index)

    threads = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _count(context: SourceContext) -> int:
    """Devices that this container sees; NVML counts them from 0."""
    listed = context.one(ReadRequest("/dev", "list", 10_000))
    return sum(_DEVICE.fullmatch(name) is not None for name in listed.names)


def _ask(context: SourceContext, index: int) -> tuple[str, Stop | None]:
    words = (sys.executable, _CHILD, str(index))
    ran = run(words, limit_s=context.left_s(_LIMIT_S), limit_bytes=context.limit_bytes)
    lines = ran.out.decode(errors="replace").splitlines()
    text = "\n".join(line for line in lines if not line.startswith(_ASKING))
    if ran.timed_out:
        asking = [line.removeprefix(_ASKING) for line in lines if line.startswith(_ASKING)]
        hung = f"\n# {asking[-1] if asking else 'nvmlInit'} did not answer"
        return text + hung + "\n", timed_out(_LIMIT_S)
    if ran.code != 0:
        last = (ran.err or "no message").splitlines()[-1]
        return text, refused("failed", program="NVML", text=last[:200])
    return text + "\n", None


SPEC = Spec(name="gpus", about=About.HOST, gather=gather, limit_s=12.0, order=2)
