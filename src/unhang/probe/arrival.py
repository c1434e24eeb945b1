"""Decides in a starting Python process whether it trains, or waits for a sign that it does.

It runs in every Python process below `unhang run`: launchers, compilers, loaders, `pip`. So it
imports next to nothing, and the rest of the probe comes in only where there is something to watch:
in a process with a RANK of its own, or in one that makes a process group (ranks of `mp.spawn`, Ray
workers, notebooks), which the import of torch.distributed gives away.
"""

from __future__ import annotations

import os
import sys

from . import imports

TYPE_CHECKING = False  # `typing` costs 10 ms, and this runs in every process
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed", "fabric", "composer", "ray"})
_LAUNCHER_MODULES = (
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.elastic",
    "accelerate.commands",
    "deepspeed.launcher",
)
_OWNER, _RESTARTS = "UNHANG_OWNER", "UNHANG_RESTARTS"
_AGENT = "torch.distributed.elastic.rendezvous.dynamic_rendezvous"
_IDENTITY = ("RANK", "LOCAL_RANK", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")


def arrive() -> None:
    """Begin in a training process; elsewhere leave a word for the import system."""
    imports.after("torch.distributed.distributed_c10d", _on_process_groups)
    imports.after("torch.optim.optimizer", _on_optimizers)
    if _RESTARTS in os.environ:
        imports.after(_AGENT, _on_agent)
    if "RANK" in os.environ and is_rank(os.environ, os.getpid(), _command()):
        os.environ[_OWNER] = f"{os.getpid()} {_identity(os.environ)}"
        from .life import begin

        begin()


def is_rank(environ: Mapping[str, str], pid: int, command: Sequence[str]) -> bool:
    """Tell a rank from a launcher that was given a RANK, and from a child that inherited one."""
    owner, _, identity = environ.get(_OWNER, "").partition(" ")
    if owner and owner != str(pid) and identity == _identity(environ):
        return False
    return not is_launcher(command)


def is_launcher(command: Sequence[str]) -> bool:
    """Whether a command line starts ranks and is none itself."""
    words = list(command[1:])
    while words and words[0].startswith("-") and words[0] not in {"-m", "-c"}:
        words.pop(0)
    if words[:1] == ["-m"]:
        return words[1:2] != [] and words[1].startswith(_LAUNCHER_MODULES)
    return words[:1] != [] and os.path.basename(words[0]) in _LAUNCHERS


def _identity(environ: Mapping[str, str]) -> str:
    return "/".join(environ.get(name, "") for name in _IDENTITY)


def _command() -> list[str]:
    # `sys.argv` is not set yet when `sitecustomize` runs, `sys.orig_argv` is not in 3.8.
    with open("/proc/self/cmdline", "rb") as file:
        return os.fsdecode(file.read(1 << 16)).split("\0")


def _on_process_groups() -> None:
    from .life import watch_process_groups

    watch_process_groups(sys.modules["torch.distributed.distributed_c10d"])


def _on_agent() -> None:
    from .restarts import watch_agent

    watch_agent(sys.modules[_AGENT])


def _on_optimizers() -> None:
    from . import steps

    steps.COUNT.attach(sys.modules["torch.optim.optimizer"])
