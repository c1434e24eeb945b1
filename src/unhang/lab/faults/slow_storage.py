"""Storage that writes slowly: `torch.save` writes through a file of a limited rate."""

from __future__ import annotations

import functools
import time
from types import ModuleType
from typing import Any, BinaryIO

from .director import Director
from .imports import when_imported

_KIND = "slow_disk"
_BLOCK = 1 << 12


class _SlowFile:
    """A file that takes `rate` bytes a second.

    Attributes:
        rate: bytes a second.
    """

    def __init__(self, file: BinaryIO, rate: float) -> None:
        self._file = file
        self.rate = rate

    def write(self, data: bytes) -> int:
        """Write block by block, and wait as long as each takes."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _BLOCK):
            block = view[start : start + _BLOCK]
            self._file.write(block)
            self._file.flush()
            time.sleep(len(block) / self.rate)
        return len(view)

    def flush(self) -> None:
        """Everything has been written."""
        self._file.flush()


def install(director: Director) -> None:
    """Hook into `torch.save`, where a fault asks for it (option `bytes_per_s`)."""
    if director.declared(_KIND):
        when_imported("torch.serialization", functools.partial(_change, director))


def _change(director: Director, module: ModuleType) -> None:
    torch_serialization: Any = module
    original = torch_serialization.save
    saves = 0

    @functools.wraps(original)
    def save(obj: Any, f: Any, *args: Any, **options: Any) -> Any:
        nonlocal saves
        saves += 1
        for fault in director.due("phase", "save"):
            named = isinstance(f, str) or hasattr(f, "__fspath__")
            if fault.what == _KIND and named and saves >= fault.when.nth and director.take(fault):
                rate = float(fault.options.get("bytes_per_s", 1 << 16))
                with open(f, "wb") as file:
                    return original(obj, _SlowFile(file, rate), *args, **options)
        return original(obj, f, *args, **options)

    torch_serialization.save = save
