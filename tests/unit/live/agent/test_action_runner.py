"""What the agent does with the monitor's wishes, and when; verdict and bundle are played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.diagnoses import slow_save
from unhang.live.agent import action_runner, interim_diagnosis
from unhang.live.agent.action_runner import ActionRunner
from unhang.live.agent.board_reader import BoardReader
from unhang.live.agent.bundling import Bundled, Released, suspects_of
from unhang.live.agent.closing import Closing
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
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded, Tick
from unhang.live.messages.job_snapshot import Condition, JobSnapshot, RankClass
from unhang.live.messages.losses import Loss
from unhang.live.messages.request import RunRequest
from unhang.live.run_folder.journal import RunJournal
from unhang.live.run_folder.layout import RunFolder
from unhang.model.ids import Rank
from unhang.model.measurements import RunMeasurements
from unhang.model.provenance import Message
from unhang.reporters.style import PLAIN

WHY = Message(key="run.leftover", values={"pids": "1"})
HANG = Note(kind=NoteKind.HANG_CONFIRMED, culprits=frozenset({Rank(1)}), why=WHY)
RESUMED = Note(kind=NoteKind.RESUMED, why=WHY)
NO_VERDICT = Loss.of("no_verdict", why="no evidence")
NO_BUNDLE = Loss.of("no_bundle", why="No space left on device")
CONFIRM = (HANG, OrderDump(number=1), Capture(dump=1), Notify(note=HANG))


class Played:
    """A judge that says what the test wants."""

    decides = True
    is_there = True
    interval_s = 1.0

    def __init__(self) -> None:
        self.answers: list[tuple[Action, ...]] = []
        self.heard: list[Input] = []
        self.delivered: list[int] = []

    def handle(self, event: Input, _now: float) -> tuple[Action, ...]:
        self.heard.append(event)
        return self.answers.pop(0) if self.answers else ()

    def standing(self, now: float) -> JobSnapshot | None:
        return JobSnapshot(at_s=now, up_s=now)

    def measured(self) -> RunMeasurements | None:
        return None

    def has_evidence(self, _number: int, _now: float) -> bool:
        return True

    def deliver(self, number: int) -> None:
        self.delivered.append(number)

    def close(self) -> None:
        self.heard.append(Tick())


class Stage:
    """An actor with everything around it; what threads would do is done by the test."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder(root)
        self.folder.make()
        self.judge = Played()
        self.journal = RunJournal(self.folder)
        self.sent: list[dict[str, Any]] = []
        self.killed = 0
        self.board_reader = BoardReader(self.folder.boards, "here")
        self.ending = Termination(lambda: [], lambda: [])
        request = RunRequest(command=("x",), root=root, near=root, host="here")
        self.terminal = TerminalMessages(PLAIN, self.sent.append)
        self.actor = ActionRunner(
            folder=self.folder,
            near=self.folder,
            judge=self.judge,
            journal=self.journal,
            orders=OrderWriter(self.folder, self.folder, "here"),
            ending=self.ending,
            board_reader=self.board_reader,
            hooks=Hooks(request, self.journal),
            terminal=self.terminal,
            report=lambda item: None,
        )

    def say(self, *actions: Action, now: float = 0.0) -> None:
        self.judge.answers.append(actions)
        self.actor.handle(Tick(), now)

    def events(self) -> list[dict[str, Any]]:
        self.journal.close()
        return [json.loads(line) for line in self.folder.events.read_text().splitlines()]

    @property
    def said(self) -> str:
        return "\n".join(message.get("say", "") for message in self.sent)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What threads were asked to do; none runs."""
    found: list[tuple[str, int]] = []
    monkeypatch.setattr(
        interim_diagnosis, "examine", lambda _, number, *__: found.append(("examine", number))
    )
    monkeypatch.setattr(
        action_runner, "bundle", lambda _, number, *__, **___: found.append(("bundle", number))
    )
    return found


@pytest.fixture
def stage(tmp_path: Path, asked: list[tuple[str, int]]) -> Iterator[Stage]:
    made = Stage(tmp_path / "run")
    yield made
    made.board_reader.close()


def test_a_confirmed_hang_is_examined_told_and_bundled(
    stage: Stage, asked: list[tuple[str, int]]
) -> None:
    stage.say(*CONFIRM)
    assert "outlived" in stage.said, "the hang is told at once"
    stage.actor.advance(0.1)
    stage.actor.take(InterimDiagnosis(1, slow_save()), 1.0)
    assert stage.judge.heard[-1] == DumpsReady.of(1, slow_save())
    stage.actor.advance(1.1)
    verdict = json.loads((stage.folder.captures / "1" / "diagnosis.json").read_text())
    assert verdict["cause"] == slow_save().cause.value  # type: ignore[union-attr]
    assert "ROOT CAUSE" in stage.said
    stage.actor.take(Bundled(1, stage.folder.captures / "1.unhang.tar.zst"), 5.0)
    kinds = [event["kind"] for event in stage.events()]
    assert kinds == ["hang_confirmed", "captured"]
    assert sorted(asked) == [("bundle", 1), ("examine", 1)]  # each in a thread of its own
    assert not stage.actor.is_capturing


def test_the_job_ends_only_after_the_capture(stage: Stage) -> None:
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.actor.advance(0.1)
    stage.actor.take(InterimDiagnosis(1, None, NO_VERDICT), 1.0)
    stage.actor.advance(2.0)
    ended = [stage.ending.is_under_way]
    stage.actor.take(Bundled(1, None, NO_BUNDLE), 3.0)
    stage.actor.advance(3.1)
    ended.append(stage.ending.is_under_way)
    assert ended == [False, True]
    assert [event["kind"] for event in stage.events()] == ["hang_confirmed", "aborted"]
    assert stage.journal.lost == (NO_VERDICT, NO_BUNDLE)


def test_whoever_tells_of_a_hang_that_was_corrected_names_the_same(stage: Stage) -> None:
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.say(replace(HANG, culprits=frozenset({Rank(7)})))
    stage.actor.advance(0.1)
    stage.actor.take(InterimDiagnosis(1, None, NO_VERDICT), 1.0)
    stage.actor.advance(2.0)
    stage.actor.take(Bundled(1, None, NO_BUNDLE), 3.0)
    stage.actor.advance(3.1)
    told = [(event["kind"], event["culprits"]) for event in stage.events()]
    first = sorted(HANG.culprits)
    assert told == [("hang_confirmed", first), ("hang_confirmed", [7]), ("aborted", [7])]


def test_the_job_ends_once_its_capture_needs_it_no_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    wishes: list[dict[str, Any]] = []
    monkeypatch.setattr(action_runner, "bundle", lambda *_, **wish: wishes.append(wish))
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.actor.advance(0.1)
    stage.actor.take(InterimDiagnosis(1, None, NO_VERDICT), 1.0)
    stage.actor.advance(2.0)
    stage.actor.take(Released(1), 3.0)
    stage.actor.advance(3.1)
    assert stage.ending.is_under_way
    assert stage.actor.is_capturing, "who closes the run waits for it"
    stage.actor.take(Bundled(1, stage.folder.captures / "1.unhang.tar.zst"), 5.0)
    kinds = [event["kind"] for event in stage.events()]
    assert kinds == ["hang_confirmed", "aborted", "captured"]
    assert wishes == [{"ends": True, "suspects": HANG.culprits}]


def test_a_capture_of_a_job_that_goes_on_is_in_no_hurry(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    wishes: list[dict[str, Any]] = []
    monkeypatch.setattr(action_runner, "bundle", lambda *_, **wish: wishes.append(wish))
    stage.say(*CONFIRM)
    stage.actor.advance(0.1)
    stage.actor.take(InterimDiagnosis(1, None, NO_VERDICT), 1.0)
    stage.actor.advance(2.0)
    assert [wish["ends"] for wish in wishes] == [False]


def test_suspects_are_the_culprits_and_one_rank_of_each_class() -> None:
    def alike(*ranks: int) -> RankClass:
        return RankClass(
            ranks=frozenset(map(Rank, ranks)),
            condition=Condition.WAITING,
            phase=None,
            op=None,
            place="",
            since_s=1.0,
        )

    standing = JobSnapshot(at_s=1.0, up_s=1.0, classes=(alike(5, 4, 6), alike(1, 2), alike(3)))
    assert suspects_of(frozenset({Rank(1), Rank(3)}), standing) == frozenset(
        map(Rank, (1, 2, 3, 4))
    )
    assert suspects_of(frozenset(), standing) is None, "nobody is told from the others"
    assert suspects_of(frozenset({Rank(1)}), None) is None


def test_a_capture_that_never_ends_does_not_keep_the_job_hanging(stage: Stage) -> None:
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.actor.advance(61.0)
    assert stage.ending.is_under_way
    assert Loss.of("bundle_late", limit=60.0) in stage.journal.lost


def test_a_job_that_goes_on_is_not_ended(stage: Stage) -> None:
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.say(RESUMED)
    stage.actor.advance(61.0)
    assert not stage.ending.is_under_way
    assert not stage.actor.confirmed


def test_a_command_that_has_ended_is_not_ended_again(stage: Stage) -> None:
    stage.say(*CONFIRM, Abort(note=HANG))
    stage.actor.end(OutputEnded(host="here", exit_code=1), 1.0)
    stage.actor.advance(61.0)
    assert not stage.ending.is_under_way


def test_ranks_are_not_believed_to_live_while_we_question_them(stage: Stage) -> None:
    seen = []
    stage.say(OrderDump(number=1))
    for now in (0.0, 0.1):
        stage.actor.advance(now)
        seen.append(stage.board_reader.disturbed)
    stage.say(Capture(dump=1))
    stage.actor.advance(0.2)
    seen.append(stage.board_reader.disturbed)
    assert seen == [True, False, True]


def test_an_order_that_a_newer_one_replaces_is_examined_with_what_is_there(
    stage: Stage, asked: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoardReader, "ranks", (1 << 30,))  # a rank that does not answer
    stage.say(OrderDump(number=1))
    stage.actor.advance(0.1)
    stage.say(*CONFIRM[:1], OrderDump(number=2), Capture(dump=2), now=0.2)
    stage.actor.advance(0.3)
    stage.actor.advance(10.0)
    stage.journal.close()
    assert asked == [("examine", 1), ("examine", 2)]


def test_limits_are_ordered(stage: Stage) -> None:
    stage.say(SetTimeouts(mode="judge", limit_ms=9))
    orders = json.loads(stage.folder.orders("here").read_text())
    assert orders["timeouts"] == {"mode": "judge", "limit_ms": 9}


def test_a_full_disk_stops_neither_orders_nor_watching(stage: Stage) -> None:
    stage.folder.orders("here").parent.rmdir()
    stage.say(SetTimeouts(mode="judge", limit_ms=9), OrderDump(number=1))
    assert stage.journal.lost == (Loss.of("order_unwritten", why="No such file or directory"),)


def closing_of(stage: Stage) -> Closing:
    return Closing(
        actor=stage.actor,
        judge=stage.judge,
        journal=stage.journal,
        ending=stage.ending,
        board_reader=stage.board_reader,
        terminal=stage.terminal,
        relay=1,
        kernel_log=stage.folder.root / "kernel.log",
    )


def test_a_good_end_needs_no_verdict(stage: Stage, asked: list[tuple[str, int]]) -> None:
    exited = Note(kind=NoteKind.EXITED, why=WHY)
    stage.judge.answers.append((exited,))
    stage.actor.end(OutputEnded(host="here", exit_code=0), 0.0)
    closing = closing_of(stage)
    closing.begin(0)
    closing.advance(0.0)
    assert closing.is_over
    assert stage.sent == [{"done": {"exit_code": None, "outcome": None}}]
    (event,) = stage.events()
    assert (event["kind"], event["exit_code"]) == ("exited", 0)
    assert asked == []


def test_a_bad_end_gets_its_verdict(stage: Stage, asked: list[tuple[str, int]]) -> None:
    stage.judge.answers.append((Note(kind=NoteKind.EXITED, why=WHY),))
    stage.actor.end(OutputEnded(host="here", exit_code=1), 0.0)
    closing = closing_of(stage)
    closing.begin(1)
    closing.advance(0.0)
    over = [closing.is_over]
    stage.actor.take(InterimDiagnosis(0, slow_save()), 1.0)
    closing.advance(1.0)
    over.append(closing.is_over)
    assert over == [False, True]
    assert "ROOT CAUSE" in stage.said
    assert stage.sent[-1]["done"]["outcome"] == "cause"
    (event,) = stage.events()
    assert event["culprits"] == sorted(slow_save().culprits)
    assert asked == [("examine", 0)]


def test_a_verdict_that_was_told_with_the_hang_is_not_told_again(stage: Stage) -> None:
    for verdict, again in ((slow_save(), False), (None, True)):
        stage.say(Note(kind=NoteKind.HANG_CONFIRMED, why=WHY))
        stage.actor.verdict = verdict
        before = stage.said.count("ROOT CAUSE")
        closing = closing_of(stage)
        closing.begin(1)
        closing.advance(0.0)
        stage.actor.take(InterimDiagnosis(0, slow_save()), 1.0)
        closing.advance(1.0)
        assert stage.said.count("ROOT CAUSE") - before == again


def test_a_verdict_that_does_not_come_is_not_waited_for(stage: Stage) -> None:
    closing = closing_of(stage)
    closing.begin(1)
    closing.advance(0.0)
    closing.advance(61.0)
    assert closing.is_over


def test_where_another_node_judges_there_is_no_verdict(
    stage: Stage, asked: list[tuple[str, int]]
) -> None:
    stage.judge.decides = False
    closing = closing_of(stage)
    closing.begin(1)
    closing.advance(0.0)
    assert closing.is_over
    assert stage.judge.delivered == [0], "but the evidence of the end is given"
    assert asked == []


def test_the_last_view_in_the_folder_is_that_after_the_end(stage: Stage) -> None:
    stage.actor.end(OutputEnded(host="here", exit_code=0), 7.5)
    stage.journal.close()
    assert json.loads(stage.folder.standing.read_text())["at_s"] == 7.5
