"""The judge where another node has the monitor: reports go there, instructions come back."""

from __future__ import annotations

from dataclasses import replace

from unhang.live.messages.actions import (
    Abort,
    Action,
    Capture,
    Note,
    NoteKind,
    OrderDump,
    SetTimeouts,
)
from unhang.live.messages.inputs import Input, OutputEnded
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.request import KEEP
from unhang.live.nodes.interfaces import Uplink
from unhang.model.measurements import RunMeasurements
from unhang.model.provenance import Message

_LAST_WAIT_S = 5.0


class Follower:
    """Does what the judging node asks for; alone, it only watches.

    Args:
        uplink: the way there.
    """

    decides = False

    def __init__(self, uplink: Uplink) -> None:
        self._uplink = uplink
        self._done: Instructions | None = None

    @property
    def is_there(self) -> bool:
        """The judging node was heard a moment ago."""
        return self._uplink.is_there

    @property
    def interval_s(self) -> float:
        """As the judging node wishes."""
        return 1.0 if self._done is None else self._done.interval_s

    def handle(self, event: Input, _now: float) -> tuple[Action, ...]:
        """Send a report; say what is new in the instructions."""
        if isinstance(event, NodeReport):
            self._uplink.send(event)
        told = self._uplink.receive()
        if told is None or isinstance(event, OutputEnded):
            return ()
        # What was asked before we came was asked of those who were there; limits are a state.
        done = self._done or replace(told, timeouts=SetTimeouts(mode=KEEP))
        self._done = told
        return tuple(_news(done, told))

    def standing(self, _now: float) -> JobSnapshot | None:
        """The judging node has it."""
        return None

    def measured(self) -> RunMeasurements | None:
        """The judging node has it."""
        return None

    def has_evidence(self, _number: int, _now: float) -> bool:
        """Ours is."""
        return True

    def deliver(self, number: int) -> None:
        """Send what this node has."""
        self._uplink.deliver(number)

    def close(self) -> None:
        """Send the last report."""
        self._uplink.close(_LAST_WAIT_S)


def _news(done: Instructions, told: Instructions) -> list[Action]:
    actions: list[Action] = []
    if told.timeouts != done.timeouts:
        actions.append(told.timeouts)
    if told.dump > done.dump:
        actions.append(OrderDump(number=told.dump))
    if told.capture > done.capture:
        actions.append(Capture(dump=told.capture))
    if told.abort not in ("", done.abort):
        why = Message(key="run.aborted")
        actions.append(Abort(note=Note(kind=NoteKind.HANG_CONFIRMED, why=why)))
    return actions
