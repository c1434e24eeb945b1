"""What is left to do when the command has ended: its leftovers, the verdict, the last word.

A launcher that fails leaves its ranks behind, on the GPUs: those are ended. Ranks that live on
after a good end (of a script that starts them in the background) are waited for.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from unhang.live.agent import kernel, kernel_words
from unhang.live.agent.action_runner import ActionRunner
from unhang.live.agent.board_reader import BoardReader
from unhang.live.agent.terminal_messages import TerminalMessages
from unhang.live.agent.termination import Termination
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.nodes.interfaces import Judge
from unhang.live.run_folder.journal import RunJournal
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write

ENDED_A_HANG = 86
"""Exit code of a run whose confirmed hang was ended, and that nothing started again."""

_VERDICT_WAIT_S = 60.0

_OWN_ENDS = frozenset({Cause.RANK_EXCEPTION, Cause.RANK_CRASH, Cause.HOST_OOM, Cause.GPU_OOM})
"""Causes by which a single rank ends."""

_THE_END = 0
"""Number, which no dump has, under which nodes deliver what they have at the end, and under which
the verdict on it is kept."""


class Closing:
    """The steps, each done once the one before is.

    Args:
        relay: number of the relay's process, which adopts what its launcher left behind.
        kernel_log: where the kernel's words on killed ranks are kept.
    """

    def __init__(
        self,
        *,
        actor: ActionRunner,
        judge: Judge,
        journal: RunJournal,
        ending: Termination,
        board_reader: BoardReader,
        terminal: TerminalMessages,
        relay: int,
        kernel_log: Path,
    ) -> None:
        self._judge = judge
        self._actor = actor
        self._journal = journal
        self._ending = ending
        self._board_reader = board_reader
        self._terminal = terminal
        self._relay = relay
        self._kernel_log = kernel_log
        self._kills_before = kernel_words.count_kills()
        self._exit_code: int | None = None
        self._steps: list[Callable[[float], bool]] = []
        self._verdict_due_s = float("inf")
        self._ended: frozenset[int] = frozenset()
        self._delivered = False
        self._told: Diagnosis | None = None
        self._failed = False

    @property
    def is_under_way(self) -> bool:
        """The command has ended, and there is still something to do."""
        return bool(self._steps)

    @property
    def is_over(self) -> bool:
        """Everything is said."""
        return self._exit_code is not None and not self._steps

    def begin(self, exit_code: int) -> None:
        """The command has ended with this code, as a shell counts."""
        self._exit_code = exit_code
        note = self._actor.exit_note
        # A launcher may end well although ranks of its failed.
        self._failed = exit_code != 0 or (note is not None and bool(note.culprits))
        self._steps = [self._no_rank_lives, self._gathered, self._asked, self._judged, self._said]

    def advance(self, now: float) -> None:
        """Do what can be done."""
        while self._steps and self._steps[0](now):
            self._steps.pop(0)

    def _no_rank_lives(self, now: float) -> bool:
        living = self._board_reader.ranks
        orphans = frozenset(pid for pid in living if self._is_orphan(pid)) - self._ended
        if orphans and self._exit_code != 0:
            self._ended |= orphans
            pids = ", ".join(map(str, sorted(orphans)))
            why = Message(key="run.leftover", values={"pids": pids})
            note = Note(kind=NoteKind.ABORTED, why=why)
            self._journal.note(note)
            self._terminal.tell(note)
            self._ending.end(orphans, now)
        return not living

    def _is_orphan(self, pid: int) -> bool:
        stat = kernel.read_stat(pid)
        return stat is not None and stat.parent in (1, self._relay)

    def _gathered(self, now: float) -> bool:
        """Evidence of this end is where the judge looks for it, on all nodes."""
        if not self._delivered:
            self._delivered = True
            self._keep_kills()
            self._actor.bring()
            if self._failed:
                self._judge.deliver(_THE_END)
        return not self._failed or self._judge.has_evidence(_THE_END, now)

    def _keep_kills(self) -> None:
        seen = self._board_reader.read(launcher_alive=False).processes
        killed = {p.beat.pid for p in seen if p.facts.signal == signal.SIGKILL}
        try:
            kernel_words.keep_kills(killed, self._kernel_log, self._kills_before)
        except OSError:
            return  # the disk is full: what the kernel knows is lost with the rest

    def _asked(self, now: float) -> bool:
        """A job that failed by itself, or that was stopped while it hung, gets its verdict."""
        if self._failed and self._judge.decides and not self._ending.ended_a_hang:
            self._told = self._actor.verdict if self._actor.confirmed else None
            self._actor.verdict = None
            self._actor.examine(self._actor.latest if self._actor.confirmed else 0, now)
            self._verdict_due_s = now + _VERDICT_WAIT_S
        return True

    def _judged(self, now: float) -> bool:
        awaited = self._verdict_due_s < float("inf") and not self._actor.has_answer
        return now > self._verdict_due_s or not (awaited or self._actor.is_capturing)

    def _said(self, _: float) -> bool:
        verdict = self._actor.verdict if self._failed else None
        if verdict is not None and self._is_news(verdict) and not self._ending.ended_a_hang:
            self._terminal.show(verdict)
        if verdict is not None and not self._ending.ended_a_hang:
            self._actor.keep_verdict(_THE_END, verdict)
        if self._actor.exit_note is not None:
            self._journal.note(
                self._actor.exit_note, exit_code=self._exit_code, **_facts_of(verdict)
            )
        self._actor.keep_measured()
        self._judge.close()
        self._journal.close()
        replaced = ENDED_A_HANG if self._ending.ended_a_hang else None
        outcome = None if verdict is None else verdict.outcome.value
        self._terminal.finish(replaced, outcome)
        return True

    def _is_news(self, verdict: Diagnosis) -> bool:
        """Whether it decides anything, and says more than what was told with the hang."""
        decides = verdict.outcome in (Outcome.CAUSE, Outcome.LOCATED)
        return decides and (self._told is None or _gist(verdict) != _gist(self._told))


def _gist(verdict: Diagnosis) -> tuple[object, ...]:
    """What a verdict says; who was told of it when the hang was confirmed knows it."""
    return verdict.outcome, verdict.cause, verdict.culprits, verdict.summary.key


def _facts_of(verdict: Diagnosis | None) -> dict[str, object]:
    """What the line on the end says of the verdict, which knows better where it knows anything.

    Where it knows of a rank that failed by itself, but not which, the first to fail is the one.
    """
    if verdict is None:
        return {}
    decided = verdict.outcome in (Outcome.CAUSE, Outcome.LOCATED)
    decided &= bool(verdict.culprits) or verdict.cause not in _OWN_ENDS
    return {
        "outcome": verdict.outcome.value,
        "cause": None if verdict.cause is None else verdict.cause.value,
        **({"culprits": sorted(verdict.culprits)} if decided else {}),
        "verdict": write(verdict.summary),
    }
