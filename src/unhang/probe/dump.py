"""Writes what the Flight Recorder holds, and the stacks of all threads."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import loops, recorder


def dump(folder: str, *, label: str, owner: str) -> list[str]:
    """Write into `folder`, the mark `done_<owner>` last; return what failed, as sentences.

    The first stacks of calls that torch puts into words cost it a second of CPU time. What has none
    is therefore written first, with the mark `done_brief_<owner>`.

    Args:
        folder: it is made.
        label: the rank, or what tells the process where there is none.
        owner: host and process number.
    """
    os.makedirs(folder, exist_ok=True)
    lost: list[str] = []
    # The stacks first: they cost a millisecond, and they are what decides most often.
    with open(os.path.join(folder, f"stack_{label}.txt"), "wb", opener=_for_owner) as file:
        if label.isdigit():
            file.write(f"=== Rank {label} (pid {os.getpid()}) ===\n".encode())
            file.flush()  # what follows goes past Python's buffer
        faulthandler.dump_traceback(file, all_threads=True)
        with contextlib.suppress(Exception):  # whatever else a Python's byte code may look like
            main = sys._current_frames().get(threading.main_thread().ident or 0)
            file.write("".join(f"\n{loop}" for loop in loops.around(main)).encode() + b"\n")
    native = sys.modules.get("torch._C._distributed_c10d")
    function = _recorder_in_use(native)
    if function is not None:
        place, ask = os.path.join(folder, f"trace_{label}.pickle"), getattr(native, function)
        try:
            _write(place, bytes(ask(True, False, False)))
            _write(os.path.join(folder, f"done_brief_{owner}"), b"")
        except Exception as error:
            lost.append(f"the Flight Recorder could not be dumped: {error}")
        else:
            # Where this torch cannot tell the stacks, entries without them are worth having.
            with contextlib.suppress(Exception):
                _write(place, _with_stacks(ask))
    _write(os.path.join(folder, f"done_{owner}"), json.dumps(lost).encode())
    return lost


def _recorder_in_use(native: Any) -> str | None:
    """NCCL's recorder once the process uses CUDA, else the general one.

    Both number the calls of a group by themselves. Two dumps of one rank, or NCCL's of one rank
    beside gloo's of another, would look like ranks that issue different calls.
    """
    nccl, general = (name if hasattr(native, name) else None for name in recorder.DUMPS)
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    uses_cuda = cuda is not None and bool(cuda.is_initialized())
    return nccl if nccl is not None and (uses_cuda or general is None) else general


def _with_stacks(ask: Callable[..., bytes]) -> bytes:
    """All entries, with the stacks of their calls.

    Stacks are put into words under the GIL, about a quarter of a millisecond for each entry. From
    the watchdog, which does not have the GIL, this may wait for ever; a thread of Python's that
    asks has it by then.
    """
    return bytes(ask(True, True, False))


def _write(path: str, data: bytes) -> None:
    with open(f"{path}.part", "wb", opener=_for_owner) as file:
        file.write(data)
    os.replace(f"{path}.part", path)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
