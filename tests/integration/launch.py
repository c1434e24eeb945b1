"""Starts the ranks of a job on this host, as `srun` would: no import of torch, which takes seconds.

`python launch.py RANKS SCRIPT ARGUMENT …`: the first rank that fails ends the others.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE_S = 20.0
"""Who was asked to end, and has not after so long, is killed."""


def launched(ranks: int, script: Path, *arguments: str) -> list[str]:
    """The command that starts a script on so many ranks."""
    return [sys.executable, __file__, str(ranks), str(script), *arguments]


def free_port() -> int:
    """A port below those that the kernel gives to whoever asks for any, so that it stays free."""
    chance = random.SystemRandom()  # tests that run beside each other draw different ones
    while True:
        port = chance.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def main(ranks: int, *command: str) -> int:
    """Run a command on each rank; 1 if one of them fails."""
    job = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    job |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    running = [
        subprocess.Popen(
            [sys.executable, "-u", *command],
            env={**os.environ, **job, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(ranks)
    ]

    def end(*_: object) -> None:
        for rank in running:
            rank.terminate()

    signal.signal(signal.SIGTERM, end)
    failed_s = None
    while running:
        for rank in [rank for rank in running if rank.poll() is not None]:
            running.remove(rank)
            if rank.returncode and failed_s is None:
                failed_s = time.monotonic()
                end()
        if failed_s is not None and time.monotonic() - failed_s > PATIENCE_S:
            for rank in running:
                rank.kill()
        time.sleep(0.1)
    return int(failed_s is not None)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
