"""Train a RecBole model on data that RecBole ships, with one process for each GPU."""

import argparse
import contextlib
import random
import socket

from recbole.quick_start import run


def free_port():
    """A port that nobody holds, and that the kernel gives to no connection until it is used."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit("no port is free")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="BPR")
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--config_files", default="bpr.yaml")
    parser.add_argument("--nproc", type=int, default=2)
    parser.add_argument("--ip", default="127.0.0.1")
    parser.add_argument("--port", default=str(free_port()))
    options = parser.parse_args()
    result = run(
        options.model,
        options.dataset,
        config_file_list=options.config_files.split(),
        nproc=options.nproc,
        world_size=options.nproc if options.nproc > 1 else -1,
        ip=options.ip,
        port=options.port,
    )
    print("training finished", result and result["test_result"], flush=True)
