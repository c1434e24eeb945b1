"""Who judges, as the agent of a node sees it; and the two ways in which nodes talk."""

from __future__ import annotations

from typing import Protocol

from unhang.live.messages.actions import Action
from unhang.live.messages.inputs import Input
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.reports import NodeReport
from unhang.model.measurements import RunMeasurements


class Judge(Protocol):
    """What decides: the monitor on this node, or what another node lets us know."""

    @property
    def decides(self) -> bool:
        """The monitor is here."""
        ...

    @property
    def is_there(self) -> bool:
        """The one that decides can be reached."""
        ...

    @property
    def interval_s(self) -> float:
        """Time between two reports."""
        ...

    def handle(self, event: Input, now: float, /) -> tuple[Action, ...]:
        """Take an input; say what to do."""
        ...

    def standing(self, now: float, /) -> JobSnapshot | None:
        """The whole view at this moment; None where another node has it."""
        ...

    def measured(self) -> RunMeasurements | None:
        """What was measured until now; None where another node has it."""
        ...

    def has_evidence(self, number: int, now: float, /) -> bool:
        """Everything that can be had for the dumps of that number is in the run folder."""
        ...

    def deliver(self, number: int, /) -> None:
        """Give our evidence to the node that judges; nothing where that is this one."""
        ...

    def close(self) -> None:
        """Say the last that is to be said, briefly."""
        ...


class Hub(Protocol):
    """The judging node's side of a transport; none of it waits."""

    def reports(self) -> list[NodeReport]:
        """What the others have told since the last call; of each only the newest."""
        ...

    def publish(self, instructions: Instructions) -> None:
        """Tell the others, whenever they ask."""
        ...

    def delivered(self, number: int) -> frozenset[str]:
        """Hosts whose evidence for the dumps of that number is in the run folder."""
        ...

    def close(self) -> None:
        """Stop."""
        ...


class Uplink(Protocol):
    """The other nodes' side; none of it waits."""

    def send(self, report: NodeReport) -> None:
        """Report; a newer one replaces an older one that could not be sent."""
        ...

    def receive(self) -> Instructions | None:
        """The newest instructions, or None before there were any."""
        ...

    @property
    def is_there(self) -> bool:
        """The judge was heard a moment ago."""
        ...

    def deliver(self, number: int) -> None:
        """Give the evidence for the dumps of that number."""
        ...

    def close(self, wait_s: float) -> None:
        """Send what waits, for so long, and stop."""
        ...
