"""Runs the job's command in our place: its output, its signals, its exit code, and an agent beside.

The relay is all that stands between the job and the world, so it does nothing else: it judges
nothing, reads no board and waits for no disk. When the agent dies, the job does not notice.

A signal that the terminal, or somebody (`timeout`, `scancel`), sends to the whole process group
reaches the job by itself; one that is sent to us alone is passed on.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unhang.live.messages.losses import Loss
from unhang.live.relay.agent_process import AgentProcess
from unhang.live.relay.channel import Channel
from unhang.live.relay.copies import Copies
from unhang.live.relay.signal_group_probe import SignalGroupProbe
from unhang.live.relay.signals import Received, Signals

_QUIET_S = 0.3
"""After the end of the command: output that is still on its way comes within this."""

_BYSTANDER_S = 0.1
"""A signal that was sent to all reaches the group_probe within this time, too."""

_ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
"""By these the job is asked to end."""

_VERDICT_WAIT_S = 120.0
"""For the agent's last word."""


@dataclass(slots=True)
class RunEnd:
    """How the run ended.

    Attributes:
        exit_code: of the command, as a shell counts: 128 + n for signal n.
        replaced: the exit code that the agent asks for instead, or None.
        outcome: of the verdict, or None where there was nothing to judge.
        lost: what could not be seen or done.
    """

    exit_code: int
    replaced: int | None = None
    outcome: str | None = None
    lost: tuple[Loss, ...] = ()


class Relay:
    """The loop.

    Args:
        pid: of the command.
        channels: its output.
        copies: of it.
        signals: what we are sent.
        group_probe: tells what was sent to all of our group.
        agent: already started.
        say: shows a text of the agent's to the user.
    """

    def __init__(
        self,
        *,
        pid: int,
        channels: Sequence[Channel],
        copies: Copies,
        signals: Signals,
        group_probe: SignalGroupProbe,
        agent: AgentProcess,
        say: Callable[[str], None],
    ) -> None:
        self._pid = pid
        self._channels = channels
        self._copies = copies
        self._signals = signals
        self._bystander = group_probe
        self._held: deque[tuple[Received, float]] = deque()
        self._agent = agent
        self._say = say
        self._status: int | None = None
        self._done: dict[str, Any] | None = None
        self._told = False
        self._give_up_at = float("inf")
        self._quiet_at = float("inf")

    def run(self) -> RunEnd:
        """Carry everything until the command has ended and the agent has said its last word."""
        while not self._is_over():
            self._handle(self._wait())
            if self._status is not None and not self._told and self._is_quiet():
                self._tell_end(exit_code_of(self._status))
        for channel in self._channels:
            channel.drop()
        self._agent.close()
        self._bystander.close()
        assert self._status is not None
        done = self._done or {}
        mute = () if self._done is not None else (Loss.of("agent_mute"),)
        replaced, outcome = done.get("exit_code"), done.get("outcome")
        return RunEnd(
            exit_code=exit_code_of(self._status),
            replaced=replaced if isinstance(replaced, int) else None,
            outcome=outcome if isinstance(outcome, str) else None,
            lost=(*self._agent.lost, *mute),
        )

    def _is_over(self) -> bool:
        if not self._told:
            return False
        if time.monotonic() > self._give_up_at:
            return True
        heard = self._done is not None or not self._agent_is_there()
        return heard and self._is_quiet() and not any(c.is_full for c in self._channels)

    def _is_quiet(self) -> bool:
        """Nothing of the output has moved for a while, or all of it is closed."""
        return time.monotonic() > self._quiet_at or all(c.wanted is None for c in self._channels)

    def _tell_end(self, exit_code: int) -> None:
        """The agent judges what is in the copies: all of it has to be there."""
        self._copies.flush()
        self._told = True
        self._give_up_at = min(self._give_up_at, time.monotonic() + _VERDICT_WAIT_S)
        self._agent.tell({"ended": exit_code})

    def _agent_is_there(self) -> bool:
        return self._agent.descriptor is not None or self._agent.next_start is not None

    def _wait(self) -> set[int]:
        """Descriptors on which something happened."""
        poller = select.poll()
        poller.register(self._signals.descriptor, select.POLLIN)
        for channel in self._channels:
            if (wanted := channel.wanted) is not None:
                poller.register(*wanted)
        for descriptor in (self._agent.descriptor, self._bystander.descriptor):
            if descriptor is not None:
                poller.register(descriptor, select.POLLIN)
        now = time.monotonic()
        held_s = self._held[0][1] if self._held else float("inf")
        next_start_s = self._agent.next_start or float("inf")
        times = (self._give_up_at, self._quiet_at, next_start_s, held_s)
        next_s = min((at_s for at_s in times if at_s > now), default=float("inf"))
        limit_ms = None if next_s == float("inf") else (next_s - now) * 1000 + 1
        return {descriptor for descriptor, _ in poller.poll(limit_ms)}

    def _handle(self, ready: set[int]) -> None:
        for channel in self._channels:
            if (wanted := channel.wanted) is not None and wanted[0] in ready:
                channel.move()
                self._postpone()
        if self._signals.descriptor in ready:
            for received in self._signals.read():
                self._receive(received)
        if self._bystander.descriptor in ready:
            self._bystander.read()
        self._release()
        if self._agent.descriptor in ready:
            for message in self._agent.read():
                self._hear(message)
        if self._agent.next_start is not None and time.monotonic() >= self._agent.next_start:
            self._agent.start()

    def _postpone(self) -> None:
        if self._status is not None:
            self._quiet_at = time.monotonic() + _QUIET_S

    def _hear(self, message: dict[str, Any]) -> None:
        if isinstance(text := message.get("say"), str):
            self._say(text)
        if isinstance(done := message.get("done"), dict):
            self._done = done
            self._agent.close()

    def _receive(self, received: Received) -> None:
        if received.number == signal.SIGCHLD:
            self._reap()
        elif received.number == signal.SIGWINCH:
            self._resize(received)
        elif not received.by_us:
            self._held.append((received, time.monotonic() + _BYSTANDER_S))

    def _release(self) -> None:
        """Decide on the signals for the job that have waited for the group_probe's word."""
        waiting = list(self._held)
        self._held.clear()
        for received, until_s in waiting:
            has_it = received.by_terminal or (
                self._job_is_in_group() and self._bystander.take(received)
            )
            if has_it or time.monotonic() >= until_s:
                self._pass_on(received, has_it=has_it)
            else:
                self._held.append((received, until_s))

    def _job_is_in_group(self) -> bool:
        """Whether what is sent to our process group reaches the command."""
        try:
            return os.getpgid(self._pid) == os.getpgrp()
        except ProcessLookupError:
            return False

    def _resize(self, received: Received) -> None:
        terminals = [c.stream for c in self._channels if c.stream.terminal]
        if received.by_us or not terminals:
            return
        for stream in terminals:
            stream.fit()
        # The job heard of it before its terminal had the new size.
        os.killpg(0, signal.SIGWINCH)

    def _pass_on(self, received: Received, *, has_it: bool) -> None:
        if self._status is not None:
            self._give_up_at = 0.0  # only our verdict is left: the user does not want to wait
        elif not has_it:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, received.number)
        if received.number in _ENDING:
            self._agent.tell({"signal": received.number})
        if received.number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _reap(self) -> None:
        """Take the status of every child that ended, also of those that we adopted."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._pid:
                self._status = status
                self._postpone()
            elif pid != self._agent.pid:
                self._agent.tell({"exit": [pid, status]})


def exit_code_of(status: int) -> int:
    """What a shell says of a wait status.

    >>> exit_code_of(3 << 8), exit_code_of(9)
    (3, 137)
    """
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
