"""From the variables of a launcher to this process's place in the job: torchrun, srun, mpirun."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unhang.errors import UsageError
from unhang.model.host_lists import expand_hosts

_RANKS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)  # fmt: skip
"""Rank, world, local rank, ranks of the host, as torchrun, Open MPI, MPICH and Slurm have them."""
_KEYS = (
    *("UNHANG_TOKEN", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "PBS_JOBID"),
    "PMIX_NAMESPACE",
)
_FIRST_PORT, _PORTS = 20_000, 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where a process sits in a job.

    Attributes:
        address, port: where rank 0 listens.
        key: what all processes of the job share, and others hardly guess.
        host_key: the same for all ranks of a host, and for no other host.
        expected: names of the job's hosts, where the scheduler tells them.
    """

    rank: int
    world: int
    local_rank: int
    local_world: int
    address: str
    port: int
    key: str
    host: str
    host_key: str
    expected: tuple[str, ...] = ()


def find_seat(environ: Mapping[str, str], port: int | None = None) -> Seat | None:
    """The place that the launcher gave; None where none did, or the job has one rank.

    Raises:
        UsageError: the launcher does not tell where rank 0 is.
    """
    names = next((names for names in _RANKS if _number(environ, names[1]) is not None), None)
    if names is None:
        return None
    rank, world, local_rank, local_world = (_number(environ, name) for name in names)
    if rank is None or world is None or world < 2:
        return None
    expected = tuple(expand_hosts(environ.get("SLURM_STEP_NODELIST", "")))
    address = environ.get("MASTER_ADDR") or (expected[0] if expected else None)
    if address is None and local_world == world:
        address = "127.0.0.1"
    if address is None:
        raise UsageError(
            f"{names[0]} is set and MASTER_ADDR is not: rank 0 cannot be found; set MASTER_ADDR to"
            " the name or address of the first host"
        )
    key = "/".join(environ[name] for name in _KEYS if environ.get(name))
    digest = hashlib.sha256(f"{key}/{world}/{address}".encode()).hexdigest()
    master = _number(environ, "MASTER_PORT")
    derived = _FIRST_PORT + int(digest[:8], 16) % _PORTS if master is None else master + 1
    return Seat(
        rank=rank,
        world=world,
        local_rank=local_rank or 0,
        local_world=local_world or 1,
        address=address,
        port=port or derived,
        key=digest,
        host=socket.gethostname(),
        host_key=host_key(),
        expected=expected,
    )


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return int(text) if text.isdigit() else None


def host_key() -> str:
    """The same in all containers that share a network, and nowhere else."""
    boot, network = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/net")
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts += [boot.read_text().strip(), str(network.readlink())]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]
