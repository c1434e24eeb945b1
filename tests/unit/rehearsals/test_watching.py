"""What the live judge said of a situation, from its events."""

import json
from pathlib import Path

import pytest
from rehearsals.watching import Said, what_was_said

from unhang.model.ids import Rank

TRUE = frozenset({Rank(0)})
BEGAN = ("2026-11-21T10:00:00+00:00", "2026-11-21T10:00:20+00:00")


def event(second: int, kind: str, *culprits: int) -> dict[str, object]:
    return {"at": f"2026-11-21T10:00:{second:02d}+00:00", "kind": kind, "culprits": culprits}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([], Said()),
        ([event(6, "waiting", 0)], Said(named_after_s=6.0, kind="waiting")),
        ([event(27, "exited", 0)], Said(named_after_s=7.0, kind="exited")),
        ([event(6, "waiting", 1), event(9, "waiting", 0)], Said(named_after_s=9.0, kind="waiting")),
        ([event(6, "waiting", 0, 1)], Said()),
        ([event(6, "hang_confirmed", 1)], Said(accused=(1,))),
        (
            [event(6, "hang_confirmed", 0), event(9, "exited", 0, 2)],
            Said(named_after_s=6.0, kind="hang_confirmed", accused=(2,)),
        ),
    ],
)
def test_the_first_event_that_names_the_true_ranks_alone(
    tmp_path: Path, events: list[dict[str, object]], said: Said
) -> None:
    lines = [{"at": BEGAN[0], "kind": "attached", "ranks": "0-1"}, *events]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert what_was_said(tmp_path, TRUE, BEGAN) == said


def test_a_run_without_events_said_nothing(tmp_path: Path) -> None:
    assert what_was_said(tmp_path, TRUE, BEGAN) == Said()


def test_a_word_before_the_fault_has_no_delay(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(json.dumps(event(1, "waiting", 0)) + "\n")
    assert what_was_said(tmp_path, TRUE, BEGAN[1:]) == Said(kind="waiting")
