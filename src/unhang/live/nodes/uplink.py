"""Reports of this node to the one that judges, from a thread: retried, and never waited for."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Protocol

from unhang.live.messages.instructions import Instructions
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport
from unhang.live.nodes.evidence import evidence_of
from unhang.live.run_folder.layout import RunFolder

_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.5, 15.0
_JUDGED_S = 10.0
"""So long after its last new sign the judge counts as there."""
_MOST_REFUSALS = 20
"""Times that the evidence of one moment is offered."""
_TROUBLE_S = 20.0
"""Nodes of a job do not start in the same moment; after that, silence is noted."""


class FileRefused(Exception):
    """The judging node does not take this file, whenever it is offered."""


class Carrier(Protocol):
    """A transport; everything may wait for seconds, and raise `OSError`."""

    def exchange(self, report: NodeReport) -> Instructions | None:
        """Give a report, take the instructions; None where they cannot be understood."""
        ...

    def put(self, name: str, data: bytes) -> None:
        """Give a file of evidence.

        Raises:
            FileRefused: it is not wanted.
        """
        ...

    def mark(self, number: int, host: str) -> None:
        """Say that everything about the dumps of that number was given."""
        ...

    def close(self) -> None:
        """Let go of what it holds open."""
        ...


class UplinkThread:
    """The thread and what it carries.

    Args:
        carrier: the transport.
        folder: this node's run folder.
        host: its label.
        lose: told what could not be sent.
    """

    def __init__(
        self, carrier: Carrier, folder: RunFolder, host: str, lose: Callable[[Loss], None]
    ) -> None:
        self._carrier = carrier
        self._folder = folder
        self._host = host
        self._lose = lose
        self._wake = threading.Condition()
        self._report: NodeReport | None = None
        self._numbers: list[int] = []
        self._refusals = 0
        self._instructions: Instructions | None = None
        self._heard_s = float("-inf")
        self._began_s = time.monotonic()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="uplink", daemon=True)
        self._thread.start()

    @property
    def is_there(self) -> bool:
        """The judge was heard a moment ago."""
        return time.monotonic() - self._heard_s < _JUDGED_S

    def send(self, report: NodeReport) -> None:
        """Report; a newer one replaces an older one that could not be sent."""
        with self._wake:
            self._report = report
            self._wake.notify()

    def receive(self) -> Instructions | None:
        """The newest instructions, or None before there were any."""
        return self._instructions

    def deliver(self, number: int) -> None:
        """Give the evidence for the dumps of that number."""
        with self._wake:
            self._numbers.append(number)
            self._wake.notify()

    def close(self, wait_s: float) -> None:
        """Send what waits, for so long, and stop."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join(wait_s)

    def _work(self) -> None:
        try:
            self._carry_all()
        finally:
            self._carrier.close()

    def _carry_all(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while (item := self._take()) is not None:
            report, number = item
            try:
                self._carry(report, number)
                pause_s = _FIRST_PAUSE_S
            except (OSError, ValueError) as error:  # ValueError: an answer that is none of ours
                self._put_back(report, number)
                if time.monotonic() - max(self._heard_s, self._began_s) > _TROUBLE_S:
                    self._lose(Loss.of("judge_unreachable", why=str(error)))
                if self._closing:
                    return
                # Not all nodes of a job in the same moment.
                time.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311
                pause_s = min(2 * pause_s, _MOST_PAUSE_S)

    def _hear(self, told: Instructions) -> None:
        now = time.monotonic()
        gap_s = now - self._heard_s
        if _JUDGED_S < gap_s < float("inf"):
            self._lose(Loss.of("judge_gap", gap=round(gap_s)))
        self._heard_s, self._instructions = now, told

    def _take(self) -> tuple[NodeReport | None, int | None] | None:
        with self._wake:
            while self._report is None and not self._numbers:
                if self._closing:
                    return None
                self._wake.wait()
            report, self._report = self._report, None
            return report, self._numbers.pop(0) if self._numbers else None

    def _put_back(self, report: NodeReport | None, number: int | None) -> None:
        with self._wake:
            if self._report is None:
                self._report = report
            if number is None:
                return
            self._refusals += 1
            if self._refusals < _MOST_REFUSALS:
                self._numbers.insert(0, number)
            else:
                self._refusals = 0
                self._lose(Loss.of("evidence_undelivered", number=number))

    def _carry(self, report: NodeReport | None, number: int | None) -> None:
        if report is not None:
            told = self._carrier.exchange(report)
            before = self._instructions
            if told is not None and (before is None or told.beat != before.beat):
                self._hear(told)
        if number is not None:
            for name, data in evidence_of(self._folder, self._host, number):
                self._give(name, data)
            self._carrier.mark(number, self._host)
            self._refusals = 0

    def _give(self, name: str, data: bytes) -> None:
        try:
            self._carrier.put(name, data)
        except FileRefused as error:  # the others may be welcome
            self._lose(Loss.of("file_refused", node=self._host, why=str(error)))
