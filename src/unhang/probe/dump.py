"""Writes what the Flight Recorder holds, and the stacks of all threads."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from typing import Any

from . import recorder


def dump(folder: str, *, label: str, owner: str) -> list[str]:
    """Write into `folder`, the mark `done_<owner>` last; return what failed, as sentences.

    Args:
        folder: it is made.
        label: the rank, or what tells the process where there is none.
        owner: host and process number.
    """
    os.makedirs(folder, exist_ok=True)
    lost: list[str] = []
    # The stacks first: they cost a millisecond, and they are what decides most often.
    with open(os.path.join(folder, f"stack_{label}.txt"), "wb") as file:
        faulthandler.dump_traceback(file, all_threads=True)
    native = sys.modules.get("torch._C._distributed_c10d")
    for number, function in enumerate(f for f in recorder.DUMPS if hasattr(native, f)):
        try:
            _write(os.path.join(folder, _name(number, label)), _trace(native, function))
        except Exception as error:
            lost.append(f"the Flight Recorder could not be dumped: {error}")
    _write(os.path.join(folder, f"done_{owner}"), json.dumps(lost).encode())
    return lost


def _name(number: int, label: str) -> str:
    # A torch with CUDA has a second recorder, for what does not run over NCCL.
    return f"trace_{label}.pickle" if number == 0 else f"trace_host_{label}.pickle"


def _trace(native: Any, function: str) -> bytes:
    """All entries, with the stacks of their calls where that works.

    Stacks are put into words under the GIL, about a quarter of a millisecond for each entry. From
    the watchdog, which does not have the GIL, this may wait for ever; a thread of Python's that
    asks has it by then. Where this torch cannot do it, entries without stacks are worth having.
    """
    ask = getattr(native, function)
    try:
        return bytes(ask(True, True, False))
    except Exception:
        return bytes(ask(True, False, False))


def _write(path: str, data: bytes) -> None:
    with open(f"{path}.part", "wb") as file:
        file.write(data)
    os.replace(f"{path}.part", path)
