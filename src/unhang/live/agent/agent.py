"""The agent of a host: reads the probes, feeds the judge, does what the judge asks for.

It runs beside the relay, in a process of its own, which the relay starts again should it die. All
that it knows comes from boards, `/proc` and the relay; nothing of the job waits for it.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import queue
import select
import signal
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from unhang.live.agent import kernel
from unhang.live.agent.action_runner import ActionRunner, Found
from unhang.live.agent.board_reader import BoardReader
from unhang.live.agent.closing import Closing
from unhang.live.agent.gaps import (
    Jumps,
    interrupted_captures,
    started_again,
    unseen,
)
from unhang.live.agent.hooks import Hooks, keep_private
from unhang.live.agent.interim_diagnosis import warm_up
from unhang.live.agent.link import Link
from unhang.live.agent.orders import OrderWriter
from unhang.live.agent.terminal_messages import TerminalMessages
from unhang.live.agent.termination import Termination
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.inputs import OutputEnded
from unhang.live.messages.losses import Loss, losses_from_json, losses_to_json
from unhang.live.messages.reports import losses_of_ranks
from unhang.live.messages.request import RunRequest
from unhang.live.nodes.connect import find_judge
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.journal import RunJournal
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.local_scratch import bring, drop
from unhang.live.run_folder.record import close_record
from unhang.model.provenance import Message
from unhang.probe import environment

_INTERVAL_S = 1.0
_SHORT_S = 0.1
"""Between two looks while something is under way that does not announce itself."""

_READ_BYTES = 1 << 16
_MANY_OBJECTS = 100_000

_LEAVING_S = 600.0
"""What ranks do for so long after their job was asked to end is their way out, and no hang."""

_LAST_S = 12.0
"""For ending a job that the relay has left behind."""


@dataclass(frozen=True, slots=True)
class AgentStart:
    """What the relay tells first.

    Attributes:
        request: what is asked of the run.
        job: number of the command's process.
        clock: of the run.
        again: an earlier agent of this run has died.
        lost: what it, and the relay, could not see or do.
    """

    request: RunRequest
    job: int
    clock: RunClock
    again: bool
    lost: tuple[Loss, ...]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AgentStart:
        """The data is our own."""
        return cls(
            request=RunRequest.from_json(data["request"]),
            job=data["job"],
            clock=RunClock(data["boot_s"]),
            again=data["again"],
            lost=losses_from_json(data["lost"]),
        )


class Agent:
    """The loop.

    Args:
        start: what the relay has told.
        link: the way to the relay.
    """

    def __init__(self, start: AgentStart, link: Link) -> None:
        request = start.request
        self._clock = start.clock
        self._jumps = Jumps(start.clock)
        self._one_host = request.nodes in {None, 1}
        self._folder, self._near = RunFolder(request.root), RunFolder(request.near)
        folder, near = self._folder, self._near
        relay = os.getppid()
        self._link = link
        self._host = request.host
        self._inbox: queue.Queue[Found] = queue.Queue()
        self._bell, self._bell_end = os.pipe()
        self._relay_lives = True
        self._launcher_alive = True
        self._leaving_until_s = 0.0
        self._next_s = 0.0
        self._until_s = float("inf")
        self._journal = RunJournal(folder, start.clock, self._tell_loss, start.lost)
        self._board_reader = BoardReader(near.boards, request.host, run_clock=start.clock)
        self._ending = Termination(
            partial(_tree, request, start.job, relay),
            lambda: self._board_reader.ranks,
            self._tell_end,
        )
        self._judge = find_judge(request, folder, self._journal.lose)
        terminal = TerminalMessages(request.style, link.send)
        self._actor = ActionRunner(
            folder=folder,
            near=near,
            judge=self._judge,
            journal=self._journal,
            orders=OrderWriter(near, folder, request.host),
            ending=self._ending,
            board_reader=self._board_reader,
            hooks=Hooks(request, self._journal),
            terminal=terminal,
            report=self._post,
        )
        self._closing = Closing(
            actor=self._actor,
            judge=self._judge,
            journal=self._journal,
            ending=self._ending,
            board_reader=self._board_reader,
            terminal=terminal,
            relay=relay,
            kernel_log=folder.output(request.host) / "kernel.log",
        )
        if start.again:
            for loss in interrupted_captures(folder):
                self._journal.lose(loss)

    def run(self) -> None:
        """Watch until the command has ended and everything is said."""
        while not self._closing.is_over and time.monotonic() < self._until_s:
            self._wait()
            now = time.monotonic()
            if now >= self._next_s:
                self._look(now)
            self._actor.advance(now)
            self._closing.advance(now)
        self._board_reader.close()
        self._journal.close()
        if not self._relay_lives:
            self._sign_off()

    def _wait(self) -> None:
        poller = select.poll()
        handles = [
            self._bell,
            *self._board_reader.handles,
            *([self._link.source] if self._relay_lives else []),
        ]
        for handle in handles:
            poller.register(handle, select.POLLIN)
        rest_s = self._next_s - time.monotonic()
        if self._actor.is_busy or self._closing.is_under_way:
            rest_s = min(rest_s, _SHORT_S)
        for handle, _ in poller.poll(max(0.0, rest_s) * 1000):
            if handle == self._link.source:
                self._listen()
            elif handle == self._bell:
                self._open_inbox()
            else:
                self._board_reader.look_at_ended(handle)
                self._next_s = 0.0

    def _listen(self) -> None:
        messages = self._link.receive()
        if messages is None:
            self._leave()
        for message in messages or ():
            self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        if "exit" in message:
            self._board_reader.learn_exit(*message["exit"])
        if "ending" in message:
            self._resume_end(frozenset(message["ending"]), time.monotonic())
        if "signal" in message:
            self._leaving_until_s = time.monotonic() + _LEAVING_S
        if "ended" in message:
            now = time.monotonic()
            self._launcher_alive = False
            self._look(now)
            for loss in unseen(self._board_reader.beats, one_host=self._one_host):
                self._journal.lose(loss)
            self._actor.end(OutputEnded(host=self._host, exit_code=message["ended"]), now)
            self._closing.begin(message["ended"])

    def _resume_end(self, pids: frozenset[int], now: float) -> None:
        """Go on with an end of a hang that an agent before us began, unless it is past."""
        self._look(now)
        if not started_again(self._board_reader.beats, pids):
            self._ending.resume(pids, now)

    def _leave(self) -> None:
        """The relay was killed: so is the job, for nobody would carry its output or end it."""
        self._relay_lives = False
        now = time.monotonic()
        why = Message(key="run.abandoned")
        self._journal.note(Note(kind=NoteKind.ABORTED, why=why))
        self._ending.end_all(now)
        self._until_s = now + _LAST_S

    def _sign_off(self) -> None:
        """Close the record in the place of the relay."""
        with contextlib.suppress(OSError, ValueError):
            record = json.loads(self._folder.record.read_bytes())
            ending = {"ended": self._clock.stamp(), "exit_code": None, "outcome": None}
            lost = (Loss.of("relay_killed"), *self._journal.lost)
            close_record(self._folder, record | ending, lost)
        with contextlib.suppress(OSError):
            bring(self._near, self._folder)
        drop(self._near.root, self._folder.root)

    def _look(self, now: float) -> None:
        self._next_s = now + (_INTERVAL_S if self._judge.decides else self._judge.interval_s)
        self._actor.beat()
        if (jump := self._jumps.look()) is not None:
            self._journal.lose(jump)
        self._actor.clock_back_s = self._jumps.back_s
        lost = self._journal.own_losses
        alive = self._launcher_alive and now >= self._leaving_until_s
        report = self._board_reader.read(launcher_alive=alive, lost=lost)
        for loss in (*report.lost, *losses_of_ranks(p.beat for p in report.processes)):
            self._journal.lose(loss)
        self._actor.handle(report, now)

    def _tell_loss(self, loss: Loss) -> None:
        self._link.send({"lost": losses_to_json([loss])})

    def _tell_end(self, pids: frozenset[int]) -> None:
        self._link.send({"ending": sorted(pids)})

    def _post(self, item: Found) -> None:
        self._inbox.put(item)
        os.write(self._bell_end, b"!")

    def _open_inbox(self) -> None:
        os.read(self._bell, _READ_BYTES)
        while not self._inbox.empty():
            self._actor.take(self._inbox.get(), time.monotonic())


def _tree(request: RunRequest, job: int, relay: int) -> list[int]:
    """All processes of the job: those with its mark, and the command's own."""
    found = kernel.marked(environment.RUN, str(request.near))
    stat = kernel.read_stat(job)
    is_it = stat is not None and stat.parent == relay and job not in found
    return [*found, job] if is_it else found


def collect_rarely() -> None:
    """Let Python look for cycles only where many objects have come and not gone.

    Reports hold no cycles, but thousands of objects each, all of which every look would go through.
    """
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS, *gc.get_threshold()[1:])


def main() -> None:
    """Run as the relay starts us."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        # They are for the job: the relay ends us. No SIG_IGN, which our children would inherit.
        signal.signal(number, lambda *_: None)
    # The relay keeps its signals back, and so did we until now: what we start must not.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    keep_private()
    link = Link.take_over()
    first = link.receive_first()
    if first is None:
        return
    warm_up()
    collect_rarely()
    Agent(AgentStart.from_json(first), link).run()


if __name__ == "__main__":
    main()
