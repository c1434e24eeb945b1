"""From a drill to the commands and the environment that start its job."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unhang.lab.drill import Drill, LaunchMethod
from unhang.lab.faults import declared
from unhang.lab.folder import DrillFolder
from unhang.lab.network import two_nodes
from unhang.lab.surroundings import free_port, taken_port

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class LauncherStart:
    """One launcher of a job.

    Attributes:
        folder: its working directory.
        node: what runs a command on its node; empty = this machine itself.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    node: tuple[str, ...] = ()


@contextlib.contextmanager
def starts(
    drill: Drill, folder: DrillFolder, command: Sequence[str], limit_s: float
) -> Iterator[tuple[LauncherStart, ...]]:
    """The launchers of a drill, with the network that they need while they run.

    Args:
        drill: what to run.
        folder: where.
        command: the user's own launch command; empty = the lab's own script.
        limit_s: after which a collective gives up.
    """
    environment = job_environment(drill, folder, limit_s)
    if command:
        yield (LauncherStart(tuple(command), environment, Path.cwd()),)
        return
    script = (str(_HERE / "scripts" / drill.script), *drill.arguments)
    if drill.launch is LaunchMethod.TAKEN_PORT:
        with taken_port() as port:
            yield (
                LauncherStart((*_torchrun(drill.world, port), *script), environment, folder.work),
            )
    elif drill.launch is LaunchMethod.TWO_NODES:
        with two_nodes() as nodes:
            yield tuple(
                LauncherStart(
                    (*_torchrun(drill.world // 2, 29500, nodes[0].address, number), *script),
                    {**environment, "GLOO_SOCKET_IFNAME": "eth0", "UNHANG_HOST": f"node-{number}"},
                    folder.work,
                    node.inside(),
                )
                for number, node in enumerate(nodes)
            )
    elif drill.launch is LaunchMethod.SPAWN:
        spawn = (sys.executable, str(_HERE / "scripts" / "spawn.py"))
        ranks = (str(drill.world), str(free_port()))
        yield (LauncherStart((*spawn, *ranks, *script), environment, folder.work),)
    else:
        yield (
            LauncherStart(
                (*_torchrun(drill.world, free_port()), *script), environment, folder.work
            ),
        )


def job_environment(drill: Drill, folder: DrillFolder, limit_s: float) -> dict[str, str]:
    """The environment of a drill's job: faults, witness, short limits, one thread for each rank."""
    path = os.pathsep.join(filter(None, (str(_HERE / "site"), os.environ.get("PYTHONPATH"))))
    return {
        **os.environ,
        **_TORCH,
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(folder.work / "inductor"),
        "PET_LOG_DIR": str(folder.kit / "torchrun"),
        **drill.environment,
        "PYTHONPATH": path,
        declared.VARIABLE: declared.dump(drill.faults),
        declared.FOLDER_VARIABLE: str(folder.root),
        declared.LIMIT_VARIABLE: str(limit_s),
    }


_TORCH = {
    "OMP_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
    "PET_TEE": "3",  # torchrun's defaults: what each rank prints comes with its number
    "TORCH_FR_BUFFER_SIZE": "2000",
}


def _torchrun(
    per_node: int, port: int, address: str = "127.0.0.1", node: int | None = None
) -> tuple[str, ...]:
    """The launcher, at a fixed address; `node` = number of one of two."""
    nodes = () if node is None else ("--nnodes", "2", "--node-rank", str(node))
    where = ("--master-addr", address, "--master-port", str(port))
    module = ("-m", "torch.distributed.run")
    return (sys.executable, *module, "--nproc-per-node", str(per_node), *nodes, *where)
