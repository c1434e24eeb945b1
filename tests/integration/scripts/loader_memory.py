"""Tells what one rank and its loader workers hold of a data set, by its kind and how workers start.

Prints JSON: for each case the memory (proportional, without the page cache) that all processes took
more with the data than without it, in sizes of the data.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

SIZE, WORKERS, PREFETCH, ROW = 96 << 20, 2, 2, 256
SAMPLE = 32 << 20


def rows(size):
    return [os.urandom(ROW - 33) for _ in range(size // ROW)]  # 33: of an object of Python


def array(size):
    return numpy.ones(size, dtype=numpy.uint8)


def tensor(size):
    return torch.ones(size, dtype=torch.uint8)


def mapped(size):
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.truncate(size)
    return numpy.memmap(file.name, dtype=numpy.uint8, mode="r")


class Data(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return 8

    def __getitem__(self, index):
        """Look at all of it, as a shuffled epoch does."""
        return sum(map(len, self.data)) if isinstance(self.data, list) else int(self.data.max())


def held():
    """Of this process and its children."""
    total = 0
    with Path(f"/proc/self/task/{os.getpid()}/children").open() as file:
        pids = [os.getpid(), *map(int, file.read().split())]
    for pid in pids:
        with Path(f"/proc/{pid}/smaps_rollup").open() as file:
            lines = dict(line.split(":") for line in file.read().splitlines()[1:])
        total += sum(int(lines[name].split()[0]) << 10 for name in ("Pss_Anon", "Pss_Shmem"))
    return total


def with_loader(data, start):
    loader = DataLoader(
        data, batch_size=1, num_workers=WORKERS, multiprocessing_context=start,
        persistent_workers=True,
    )  # fmt: skip
    for _ in loader:
        pass
    return held()  # the workers live as long as the loader


def main():
    found = {}
    for case in sys.argv[1:]:
        name, start = case.split()
        make = {"rows": rows, "array": array, "tensor": tensor, "mapped": mapped}[name]
        without = with_loader(Data(make(ROW)), start)
        found[case] = (with_loader(Data(make(SIZE)), start) - without) / SIZE
    print(json.dumps(found))


if __name__ == "__main__":
    main()
