"""Starts the job's command unchanged, where an end of ours can never leave it behind.

We become the reaper of all its descendants, so that none escapes from our tree; the kernel ends the
command when we vanish. The command stays in our session and process group: Ctrl-C, Ctrl-Z and
whatever else is sent to the group reach it without us, exactly as without unhang.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from unhang.errors import UsageError
from unhang.live.relay.streams import Streams

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Streams,
    mask: Iterable[int],
) -> int:
    """Start the command.

    Args:
        command: its words.
        environment: all of it.
        streams: what it writes into; its ends here are closed.
        mask: signals that it keeps blocked.

    Returns:
        The number of its process, which the caller waits for.

    Raises:
        UsageError: there is no such command, or it cannot be run.
    """
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()
    blocked = {signal.Signals(number) for number in mask}

    def prepare() -> None:
        prctl(_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(128 + signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    try:
        process = subprocess.Popen(  # noqa: S603 (the user's own command)
            command,
            env=environment,
            stdout=streams.stdout,
            stderr=streams.stderr,
            close_fds=False,  # what the shell opened for it (`3>file`) stays open
            preexec_fn=prepare,  # noqa: PLW1509 (no thread runs yet)
        )
    except OSError as error:
        raise UsageError(
            f"cannot start {command[0]!r}: {error.strerror}; give the launch command after `--`,"
            " as you would type it without unhang"
        ) from error
    finally:
        streams.hand_over()
    # The relay waits for all children itself; Popen must not complain that it was not asked.
    process.returncode = 0
    return process.pid
