"""From what the user typed to a request that can be carried out, or to a sentence why not."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.live.messages.request import (
    ABORT,
    COMMAND,
    FIXED,
    JUDGE,
    KEEP,
    REPORT,
    RunRequest,
    Timeouts,
)
from unhang.live.nodes.addresses import check_collector, is_here
from unhang.live.nodes.membership import nodes_of
from unhang.live.nodes.shared_folder import read_plain
from unhang.live.run_folder.layout import OWNER_ONLY, RunFolder
from unhang.live.run_folder.local_scratch import choose_near
from unhang.notify import read_targets
from unhang.reporters.style import Style

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (3600, 60, 1)

_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_RUNS = "unhang-runs"
AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `unhang run`, as they were typed; None = not given."""

    words: tuple[str, ...]
    out: str | None
    timeouts: str
    on_hang: str
    patience: str
    notify: tuple[str, ...]
    nodes: int | None
    node_rank: int | None
    collector: str | None
    shared: str | None
    style: Style


def ask(options: RunOptions) -> RunRequest:
    """Make a request of them.

    Raises:
        UsageError: it cannot be carried out.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError(f"unhang run needs Linux, and this is {sys.platform}")
    program = options.words[0]
    if shutil.which(program) is None:
        raise UsageError(
            f"there is no command {program!r}; give the launch command after `--`, as you would"
            " type it without unhang"
        )
    timeouts, on_hang = read_timeouts(options.timeouts), _read_on_hang(options.on_hang)
    read_targets(options.notify)  # now, and not when somebody must be told
    nodes = nodes_of(options.words, os.environ, options.nodes, options.node_rank)
    if options.collector is not None:
        check_collector(options.collector, first=nodes.rank == 0)
    root = claim_folder(wanted_folder(options.out, program, nodes.rank))
    return RunRequest(
        command=options.words,
        root=root,
        near=_near(root, program),
        host=label_of(host_label(), nodes.rank, options.shared, options.collector),
        timeouts=timeouts,
        on_hang=on_hang,
        patience_s=read_patience(options.patience),
        notify=options.notify,
        nodes=nodes.count,
        node_rank=nodes.rank,
        collector=options.collector,
        shared=None if options.shared is None else Path(options.shared).absolute(),
        style=options.style,
    )


def read_timeouts(text: str) -> Timeouts:
    """Read the value of `--timeouts`.

    Raises:
        UsageError: it is neither `keep`, `judge` nor a duration.

    >>> read_timeouts("1h30m").limit_ms
    5400000
    """
    if text in (KEEP, JUDGE):
        return Timeouts(text)
    limit_ms = round(_seconds(text) * 1000)
    if limit_ms <= 0:
        raise UsageError(
            f"--timeouts {text!r} is not a time limit; give `keep`, `judge`, or a duration such as"
            " 2h, 90m or 1h30m"
        )
    return Timeouts(FIXED, limit_ms)


def read_patience(text: str) -> float | None:
    """Read the value of `--patience`.

    Raises:
        UsageError: it is neither `auto` nor a duration.

    >>> read_patience("10m")
    600.0
    """
    if text == AUTO:
        return None
    if (patience_s := _seconds(text)) <= 0:
        raise UsageError(
            f"--patience {text!r} is not a duration; give `auto`, or seconds, or a duration such as"
            " 10m or 1h"
        )
    return patience_s


def _seconds(text: str) -> float:
    """A duration; 0 for anything else."""
    match = _DURATION.fullmatch(text)
    parts = [] if match is None else [float(part or 0) for part in match.groups()]
    return sum(a * b for a, b in zip(parts, _SECONDS, strict=False))


def wanted_folder(out: str | None, program: str, node_rank: int) -> Path:
    """Where the run folder of this node should be."""
    if out is None:
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        name = _NAME.sub("-", Path(program).name).strip("-") or "job"
        wanted = Path(_RUNS) / f"{stamp}-{name}"
    else:
        wanted = Path(out)
    # All nodes are told the same, and their disk may be the same.
    return wanted.absolute() / f"node-{node_rank}" if node_rank else wanted.absolute()


def claim_folder(wanted: Path) -> Path:
    """Make a run folder that no other run has: two runs never share one.

    In a folder that others may write, or that is another's, the run gets one of its own.

    Raises:
        UsageError: it cannot be made.
    """
    folder, number = wanted, 2
    while not _claim(folder):
        folder, number = wanted / f"run-{number}", number + 1
    return folder


def host_label() -> str:
    """The name of this host in the run, fit for file names."""
    name = os.environ.get("UNHANG_HOST") or socket.gethostname()
    return _NAME.sub("-", name) or "host"


def label_of(name: str, node_rank: int, shared: str | None, collector: str | None) -> str:
    """The name of a node in the run: that of its host, and its index where another one has that.

    Args:
        name: of the host.
        node_rank: index of the node.
        shared: folder of all nodes, in which each lays claim to its name.
        collector: address of the first node, which has its name on this host.
    """
    taken = False
    if shared is not None:
        taken = not _lay_claim(Path(shared) / "names" / name, node_rank)
    elif collector is not None and node_rank > 0:
        taken = is_here(collector)
    return f"{name}-{node_rank}" if taken else name


_LONGEST_CLAIM = 20


def _lay_claim(path: Path, node_rank: int) -> bool:
    """Whether the name is this node's; where nobody can tell, it is."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), path.open("x") as file:
            file.write(str(node_rank))
            return True
        # Empty while another one writes it.
        return read_plain(path, _LONGEST_CLAIM) == str(node_rank).encode()
    except (OSError, ValueError):
        return True


def _read_on_hang(text: str) -> str:
    if text in (REPORT, ABORT) or text.removeprefix(COMMAND) not in ("", text):
        return text
    raise UsageError(
        f"--on-hang {text!r} is unknown; give `report`, `abort`, or `exec:` and a shell command"
    )


def _claim(folder: Path) -> bool:
    """Make the folder and its record; False when another run did, or another user may write it."""
    try:
        if folder.exists():  # it is the user's, and stays as open as it was
            status = folder.stat()
            if status.st_mode & stat.S_IWOTH or status.st_uid != os.geteuid():
                return False
        else:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(OWNER_ONLY)
        with RunFolder(folder).record.open("x"):
            return True
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(
            f"cannot make the run folder {folder}: {error.strerror}; name another one with --out"
        ) from error


def _near(root: Path, program: str) -> Path:
    try:
        return choose_near(root, program)
    except OSError:  # nowhere is room, or no disk is local: then this one has to do
        return root
