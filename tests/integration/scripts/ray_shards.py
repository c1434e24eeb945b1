"""Squares numbers on a Ray cluster; two of them kill their workers. Prints what came back."""

import json
import os
import signal
import sys
from pathlib import Path

import ray_shards  # by its name, as the workers find it

from unhang.engine.shards import Engine, map_shards


def square(job: tuple[str, int]) -> int:
    folder, number = job
    if number in (3, 5):
        tried = Path(folder, str(number))
        first = not tried.exists()
        tried.touch()
        if first or number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
    return number * number


if __name__ == "__main__":
    work = [(sys.argv[1], number) for number in range(8)]
    found = map_shards(ray_shards.square, work, Engine(ray="auto"))
    print(json.dumps(sorted((number, result) for (_, number), result in found)))
