"""Slow storage: the bytes of one file go, or come, in small portions over a given time."""

import os
import sys
import time

from situation_site.moment import fault_begins

_PORTIONS = 100


def write_slowly(path, data, seconds):
    """Write `data` to `path` in portions that take `seconds` together, as a busy share does."""
    fault_begins("slow storage")
    portion = max(1, len(data) // _PORTIONS)
    with open(path, "wb") as f:
        for start in range(0, len(data), portion):
            f.write(data[start : start + portion])
            f.flush()
            time.sleep(seconds * portion / len(data))


def read_slowly(path, seconds):
    """Return the bytes of `path`, read in portions that take `seconds` together."""
    fault_begins("slow storage")
    size = max(1, os.path.getsize(path))
    portion = max(1, size // _PORTIONS)
    read = bytearray()
    with open(path, "rb", buffering=0) as f:
        while part := f.read(portion):
            read += part
            time.sleep(seconds * len(part) / size)
    return bytes(read)


def pass_slowly(data, seconds):
    """Send `data` through a pipe in portions that take `seconds` together, and read them."""
    fault_begins("slow link")
    portion = max(1, len(data) // _PORTIONS)
    receiving, sending = os.pipe()
    try:
        for start in range(0, len(data), portion):
            part = data[start : start + portion]
            os.write(sending, part)
            os.read(receiving, len(part))
            time.sleep(seconds * len(part) / len(data))
    finally:
        os.close(receiving)
        os.close(sending)


def this_rank():
    """The rank by the launcher's word, else by the process group; None without both."""
    rank = os.environ.get("RANK")
    if rank is not None:
        return int(rank)
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_initialized():
        return distributed.get_rank()
    return None
