"""The judge where the monitor is: alone, or with other nodes that report to it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import replace

from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import Abort, Action, Capture, OrderDump, SetTimeouts
from unhang.live.messages.inputs import DumpsReady, Input
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport
from unhang.live.nodes.interfaces import Hub
from unhang.model.measurements import RunMeasurements

_RANKS_PER_S = 512
"""Of a larger job the nodes report less often; the end of a process is reported at once."""
_RAREST_S = 2.0
"""Of the largest, too: the judge takes a longer pause for a gap, and would see nobody."""

_EVIDENCE_WAIT_S = 6.0
_SILENT_S = 10.0


class Leader:
    """The monitor with what it needs around it.

    Args:
        monitor: decides.
        hub: the way to the other nodes, or None where there are none.
        earlier: numbers of dumps up to this one are an earlier agent's, who died.
        lose: told when the monitor fails.

    Attributes:
        is_there: the monitor did not fail just now.
    """

    decides = True

    def __init__(
        self,
        monitor: Monitor,
        hub: Hub | None = None,
        earlier: int = 0,
        lose: Callable[[Loss], None] = lambda _: None,
    ) -> None:
        self._monitor = monitor
        self._hub = hub
        self._earlier = earlier
        self._lose = lose
        self.is_there = True
        self._told = Instructions(beat=int(time.time()), dump=earlier, capture=earlier)
        self._ranks: dict[str, int] = {}
        self._heard_s: dict[str, float] = {}
        self._ended: set[str] = set()
        self._asked_s: dict[int, float] = {}

    @property
    def interval_s(self) -> float:
        """A second, and more where thousands report."""
        return min(_RAREST_S, max(1.0, sum(self._ranks.values()) / _RANKS_PER_S))

    def handle(self, event: Input, now: float) -> tuple[Action, ...]:
        """Let the monitor hear this, and what the others have told."""
        if isinstance(event, DumpsReady):
            event = replace(event, number=event.number - self._earlier)
        self.is_there = True
        actions = list(self._ask(event, now))
        for report in self._hub.reports() if self._hub is not None else ():
            self._meet(report, now)
            actions += self._ask(report, now)
        wanted = tuple(self._numbered(action) for action in actions)
        if self._hub is not None:  # also where an answer to dumps decides, and ends the job
            self._publish(self._hub, wanted, now)
        return wanted

    def standing(self, now: float) -> JobSnapshot | None:
        """The monitor's view; None where it fails."""
        try:
            return self._monitor.standing(now)
        except Exception as error:
            self._fail(error)
            return None

    def measured(self) -> RunMeasurements | None:
        """What the monitor has measured; None where it fails."""
        try:
            return self._monitor.measured()
        except Exception as error:
            self._fail(error)
            return None

    def has_evidence(self, number: int, now: float) -> bool:
        """All nodes that live have delivered theirs, or we have waited long enough."""
        if self._hub is None or now - self._asked_s.setdefault(number, now) > _EVIDENCE_WAIT_S:
            return True
        living = {h for h, s in self._heard_s.items() if now - s < _SILENT_S}
        return living <= self._hub.delivered(number)

    def deliver(self, _number: int) -> None:
        """It is here already."""

    def close(self) -> None:
        """Stop listening."""
        if self._hub is not None:
            self._hub.close()

    def _ask(self, event: Input, now: float) -> tuple[Action, ...]:
        """The monitor's wishes; none where it fails, and then nobody judges."""
        try:
            return self._monitor.handle(event, now)
        except Exception as error:
            self._fail(error)
            return ()

    def _fail(self, error: Exception) -> None:
        self.is_there = False
        traceback.print_exc()  # to the agent's log
        self._lose(Loss.failed("judge_failed", error))

    def _meet(self, report: NodeReport, now: float) -> None:
        self._heard_s[report.host] = now
        self._ranks[report.host] = len(report.processes)

    def _numbered(self, action: Action) -> Action:
        """With the number that no dump of this run has yet."""
        match action:
            case OrderDump():
                return replace(action, number=action.number + self._earlier)
            case Capture():
                return replace(action, dump=action.dump + self._earlier)
            case _:
                return action

    def _publish(self, hub: Hub, actions: tuple[Action, ...], now: float) -> None:
        told = replace(self._told, beat=self._told.beat + 1, interval_s=self.interval_s)
        for action in actions:
            match action:
                case OrderDump():
                    told = replace(told, dump=action.number)
                case Capture():
                    told = replace(told, capture=action.dump)
                case Abort():
                    told = replace(told, abort=f"{now:.3f}")
                case SetTimeouts():
                    told = replace(told, timeouts=action)
                case _:
                    pass
        self._told = told
        hub.publish(told)
