"""Does what the monitor asks for, in order, and nothing that it does not ask for.

What cannot be done is noted as lost, and the watching goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from unhang.live.agent import interim_diagnosis
from unhang.live.agent.board_reader import BoardReader
from unhang.live.agent.bundling import Bundled, Released, bundle, suspects_of
from unhang.live.agent.hooks import Hooks
from unhang.live.agent.interim_diagnosis import InterimDiagnosis
from unhang.live.agent.orders import OrderWriter
from unhang.live.agent.terminal_messages import TerminalMessages
from unhang.live.agent.termination import Termination
from unhang.live.messages.actions import (
    Abort,
    Action,
    Capture,
    Note,
    NoteKind,
    Notify,
    OrderDump,
    SetTimeouts,
)
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded
from unhang.live.messages.losses import Loss
from unhang.live.nodes.interfaces import Judge
from unhang.live.run_folder.journal import RunJournal
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.local_scratch import bring
from unhang.model.diagnosis import Diagnosis
from unhang.model.provenance import Message

_CAPTURE_WAIT_S = 60.0
"""A capture that takes longer is given up, and an end of the job does not wait for it."""

_MEASURE_S = 20.0
"""Between two writings of what was measured; the end writes it, too."""
_KEPT = 3
"""Verdicts that a capture may still ask for."""

Found = InterimDiagnosis | Bundled | Released
"""What threads have found."""

Report = Callable[[Found], None]


class ActionRunner:
    """The hands of the agent.

    Args:
        folder: the run folder.
        near: the folder of the probes.
        judge: what decides.
        journal: the books.
        orders: the way to the probes.
        ending: the way to end the job.
        board_reader: tell which processes live.
        hooks: what the user asked for when a hang is confirmed.
        terminal: the way to the user.
        report: takes what threads have found, back to the agent's own.
    """

    def __init__(
        self,
        *,
        folder: RunFolder,
        near: RunFolder,
        judge: Judge,
        journal: RunJournal,
        orders: OrderWriter,
        ending: Termination,
        board_reader: BoardReader,
        hooks: Hooks,
        terminal: TerminalMessages,
        report: Report,
    ) -> None:
        self._folder = folder
        self._near = near
        self._judge = judge
        self._journal = journal
        self._orders = orders
        self._ending = ending
        self._board_reader = board_reader
        self._hooks = hooks
        self._terminal = terminal
        self._report = report
        self._examined: dict[int, InterimDiagnosis] = {}
        self._capturing: dict[int, float] = {}
        self._held: set[int] = set()
        self._abort: Abort | None = None
        self._hang: Note | None = None
        self._suspected = False
        self._alert: Note | None = None
        self._awaited: list[int] = []
        self._since_s = 0.0
        self._measure_from_s = 0.0
        self.latest = 0
        self.clock_back_s = 0.0
        self.verdict: Diagnosis | None = None
        self.has_answer = False
        self.exit_note: Note | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that will not announce itself."""
        return self._orders.awaits or bool(self._awaited) or self._ending.is_under_way

    @property
    def is_capturing(self) -> bool:
        """Whether a capture is under way."""
        return bool(self._capturing)

    @property
    def confirmed(self) -> bool:
        """A hang is confirmed, and has not resolved itself."""
        return self._hang is not None

    def beat(self) -> None:
        """Show the probes that we are there."""
        beat = partial(self._orders.beat, judged=self._judge.is_there)
        self._try("heartbeat_unwritten", beat)

    def bring(self) -> None:
        """Copy what the probes have written into the run folder."""
        self._try("evidence_unwritten", partial(bring, self._near, self._folder))

    def handle(self, event: Input, now: float) -> None:
        """Tell the judge, and do what it asks for."""
        for action in self._judge.handle(event, now):
            self._perform(action, now)
        if self._journal.wants_view:
            self._show(now)
        if now >= self._measure_from_s:
            self._measure_from_s = now + _MEASURE_S
            self.keep_measured()

    def keep_measured(self) -> None:
        """Write what was measured until now."""
        if (measured := self._judge.measured()) is not None:
            self._journal.keep_measured(measured)

    def take(self, item: Found, now: float) -> None:
        """Go on with what a thread has found."""
        if isinstance(item, Released):
            self._held.discard(item.number)
            return
        if isinstance(item, Bundled):
            self._bundled(item)
            return
        self._examined[item.number] = item
        while len(self._examined) > _KEPT:
            del self._examined[min(self._examined)]
        self.has_answer = True
        if item.diagnosis is None:
            if item.failure is not None:
                self._journal.lose(item.failure)
            self.handle(DumpsReady(number=item.number), now)
            return
        self.verdict = item.diagnosis
        self.handle(DumpsReady.of(item.number, item.diagnosis), now)

    def advance(self, now: float) -> None:
        """Do what is due by the clock."""
        self._board_reader.disturbed = self._orders.awaits or bool(self._held)
        self._board_reader.dumping = self._orders.serving(now)
        if (ready := self._orders.take_ready(now)) is not None:
            self._await_evidence(ready)
        for number in [n for n in self._awaited if self._judge.has_evidence(n, now)]:
            self._awaited.remove(number)
            self._examine_awaited(number, now)
        for number in [n for n in self._capturing if n in self._examined]:
            self._tell(number, now)
        overdue = [n for n, since_s in self._capturing.items() if now - since_s > _CAPTURE_WAIT_S]
        for number in overdue:
            self._bundled(Bundled(number, None, Loss.of("bundle_late", limit=_CAPTURE_WAIT_S)))
        if self._abort is not None and not self._held:
            self._begin_end(self._abort, now)
        self._ending.advance(now)

    def end(self, event: OutputEnded, now: float) -> None:
        """Tell the judge that the command has ended; its note on that waits for the verdict."""
        self._abort = None
        for action in self._judge.handle(event, now):
            if isinstance(action, Note) and action.kind is NoteKind.EXITED:
                self.exit_note = action
            else:
                self._perform(action, now)
        self._show(now)  # what stood before the end may be over with it

    def examine(self, number: int, now: float) -> None:
        """Diagnose the run folder with the dumps of that number, once the books are written."""
        self.has_answer = False
        self._show(now)
        self._journal.when_written(
            partial(
                interim_diagnosis.examine,
                self._folder,
                number,
                interim_diagnosis.StartMoment(self._since_s, self.clock_back_s),
                self._report,
            )
        )

    def keep_verdict(self, number: int, verdict: Diagnosis) -> None:
        """Write a verdict where the screens look for it."""
        keep = partial(interim_diagnosis.keep, self._folder, number, verdict)
        self._try("verdict_unwritten", keep)

    def _await_evidence(self, number: int) -> None:
        """This host's part of the dumps is there."""
        self.bring()
        self._judge.deliver(number)
        self._awaited.append(number)

    def _examine_awaited(self, number: int, now: float) -> None:
        if self._judge.decides:
            self.examine(number, now)
        else:
            self.take(InterimDiagnosis(number, None), now)

    def _perform(self, action: Action, now: float) -> None:
        match action:
            case Note():
                self._note(action)
            case OrderDump():
                self._order_dump(action.number, now)
            case Capture():
                self._capturing[action.dump] = now
                self._held.add(action.dump)
            case Notify() if action.note.kind is NoteKind.STALL_SUSPECTED:
                self._suspected = True
                self._terminal.tell(action.note)
                self._hooks.notify(action.note, None)
            case Notify():
                self._alert = action.note
            case Abort():
                self._abort = action
            case SetTimeouts():
                wish = partial(self._orders.set_timeouts, action)
                self._try("order_unwritten", wish)

    def _order_dump(self, number: int, now: float) -> None:
        if (before := self._orders.take_ready(float("inf"))) is not None:
            self._await_evidence(before)  # no probe serves it any more: what is there must do
        self.latest = number
        order = partial(self._orders.order_dump, number, self._board_reader.ranks, now)
        self._try("order_unwritten", order)
        if not self._orders.awaits:  # nobody was asked: what is known must do
            self._await_evidence(number)

    def _note(self, note: Note) -> None:
        self._journal.note(note)
        if note.kind is NoteKind.ATTACHED:
            self._since_s = self._board_reader.began_s
        if note.kind is NoteKind.HANG_CONFIRMED:
            self._hang = note
            self._alert = None if self._alert is None else note  # it is corrected
            self._terminal.tell(note)
        elif note.kind is NoteKind.RESUMED and (self._hang is not None or self._suspected):
            self._hang = self._abort = self._alert = None  # nobody ends a job that goes on
            self._suspected = False
            self._terminal.tell(note)

    def _tell(self, number: int, now: float) -> None:
        """A hang is confirmed and diagnosed: say it, keep it, bundle everything."""
        diagnosis = self._examined.pop(number).diagnosis
        if diagnosis is not None:
            self._terminal.show(diagnosis)
            self.keep_verdict(number, diagnosis)
        if self._alert is not None:
            self._hooks.notify(self._alert, diagnosis)
            self._alert = None
        if self._hang is not None:
            self._hooks.run(self._hang, self._folder.captures / str(number))
        told = () if diagnosis is None else diagnosis.culprits
        culprits = frozenset(told).union(() if self._hang is None else self._hang.culprits)
        suspects = suspects_of(culprits, self._judge.standing(now))
        ends = self._abort is not None
        bundle(self._folder, number, self._report, ends=ends, suspects=suspects)

    def _bundled(self, item: Bundled) -> None:
        self._held.discard(item.number)
        if self._capturing.pop(item.number, None) is None:
            return
        if item.failure is not None:
            self._journal.lose(item.failure)
            return
        for lack in item.lacks:
            self._journal.lose(lack)
        why = Message(key="run.captured", values={"path": str(item.path)})
        note = Note(kind=NoteKind.CAPTURED, why=why)
        self._journal.note(note)
        self._terminal.tell(note)

    def _begin_end(self, abort: Abort, now: float) -> None:
        self._abort = None
        if self._ending.is_under_way and self._ending.ended_a_hang:
            return  # an agent before us has begun with it
        self._ending.begin(now)
        hang = self._hang or abort.note  # it may have been corrected since
        note = replace(hang, kind=NoteKind.ABORTED, why=Message(key="run.aborted"))
        self._journal.note(note)
        self._terminal.tell(note)

    def _show(self, now: float) -> None:
        self._journal.show(partial(self._judge.standing, now))

    def _try(self, code: str, task: Callable[[], Any]) -> None:
        try:
            task()
        except OSError as error:
            self._journal.lose(Loss.of(code, why=error.strerror or str(error)))
