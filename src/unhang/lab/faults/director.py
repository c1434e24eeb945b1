"""Knows which faults are still to come, and lets each happen at its moment on its ranks."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import Any

from .acts import ACTS, AT_ONCE
from .declared import Fault
from .witness import FaultWitness


class Director:
    """The faults of this process.

    Attributes:
        rank: global rank, None until it is known.
        calls: collectives issued so far by Python code.
        steps: optimizer steps done so far.
    """

    def __init__(self, faults: tuple[Fault, ...], witness: FaultWitness) -> None:
        self._pending = list(faults)
        self._witness = witness
        self._lock = threading.Lock()
        self._began: float | None = None
        self._nth: dict[tuple[str, str], int] = {}
        self.rank = _rank_of_environment()
        self.calls = 0
        self.steps = 0

    def declared(self, *kinds: str, moment: str | None = None) -> list[Fault]:
        """Pending faults of some kinds (none = any) and moment, whatever their ranks."""
        return [
            fault
            for fault in self._pending
            if (not kinds or fault.what in kinds) and moment in (None, fault.when.moment)
        ]

    def joined(self, rank: int) -> None:
        """The default process group is about to be made; the seconds of faults count from now."""
        self.rank = rank
        self._witness.register(rank)
        self._witness.join()
        if self._began is None:
            self._began = time.monotonic()
            for fault in self.declared(*AT_ONCE, moment="seconds"):
                threading.Thread(target=self._act_later, args=(fault,), daemon=True).start()

    def reached(self, moment: str, value: Any) -> None:
        """A moment has come: plain faults that waited for it happen now."""
        for fault in self.due(moment, value):
            if fault.what in ACTS:
                self.act(fault)
        if moment in ("call", "step") and self._began is not None:
            self._act_on_seconds(time.monotonic() - self._began)

    def passed(self, moment: str, name: str) -> None:
        """A phase or a function has begun once more."""
        count = self._nth[moment, name] = self._nth.get((moment, name), 0) + 1
        for fault in self.due(moment, name):
            if fault.what in ACTS and count >= fault.when.nth:
                self.act(fault)

    def due(self, moment: str, value: Any) -> list[Fault]:
        """Pending faults of this rank that wait for just this."""
        if self.rank is None:
            return []
        return [
            fault
            for fault in self._pending
            if fault.when.moment == moment and fault.when.value == value and fault.hits(self.rank)
        ]

    def take(self, fault: Fault) -> bool:
        """Claim a fault and write down that it happens; False when it has happened before."""
        with self._lock:
            if fault not in self._pending:
                return False
            self._pending.remove(fault)
            if fault.options.get("repeat"):
                self._pending.append(_once_more(fault))
        self._witness.note(fault, self.rank)
        return True

    def act(self, fault: Fault) -> None:
        """Let a plain fault happen here and now."""
        if self.take(fault):
            ACTS[fault.what](fault)

    def _act_on_seconds(self, passed_s: float) -> None:
        for fault in self.declared(moment="seconds"):
            late = passed_s >= fault.when.value
            if late and fault.what in ACTS and self.rank is not None and fault.hits(self.rank):
                self.act(fault)

    def _act_later(self, fault: Fault) -> None:
        """What needs no place in the program happens on the second, whatever the program does."""
        time.sleep(fault.when.value)
        if self.rank is not None and fault.hits(self.rank):
            self.act(fault)


def _once_more(fault: Fault) -> Fault:
    """The same at the next call or step (option `repeat`)."""
    return replace(fault, when=replace(fault.when, value=fault.when.value + 1))


def _rank_of_environment() -> int | None:
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None
