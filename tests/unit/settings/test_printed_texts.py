"""Texts found in released packages: every row is matched as what it says."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from mine.texts import read_source
from support.feeding import feed
from unhang.model.events import PhaseMark
from unhang.model.phases import Phase, PhaseEdge
from unhang.parsers.phase_marks import PhaseMarkParser
from unhang.parsers.vocabulary.phases import phase_of_label

DATA = files("unhang.settings").joinpath("data/printed_texts.json").read_text("utf-8")
ROWS: list[dict[str, Any]] = json.loads(DATA)["texts"]


def told(text: str) -> list[tuple[Phase, PhaseEdge]]:
    return [(e.phase, e.edge) for e in feed(PhaseMarkParser, text) if isinstance(e, PhaseMark)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['package']}: {row['text'][:40]}")
def test_a_row_is_matched(row: dict[str, Any]) -> None:
    assert {"package", "release", "place"} <= row.keys()
    assert re.fullmatch(r"\S+\.py:\S+", row["place"])
    text = row["text"].replace("{}", "x7")
    match row.get("edge"):
        case None:
            assert phase_of_label(text) is Phase(row["phase"])
        case "decoy":
            assert told(text) == []
        case edge:
            assert (Phase(row["phase"]), PhaseEdge(edge)) in told(text)


def test_texts_are_read_without_running_anything(tmp_path: Path) -> None:
    source = f"""
open({str(tmp_path / "run")!r}, "w")
class Trainer:
    def save(self, path, step):
        logger.info(f"Saving {{step}} to {{path}}")
        print("took %.2f s" % step, path)
        for _ in tqdm(range(3), desc="Frobbing " + path):
            pass
        log_rank_0("Wrote {{}} files".format(step))
        other("no text of a log")
"""
    found = [(t.kind, t.text, t.place) for t in read_source(source, "pkg/train.py")]
    assert not (tmp_path / "run").exists()
    assert ("log", "Saving {} to {}", "pkg/train.py:save") in found
    assert ("print", "took {} s", "pkg/train.py:save") in found
    assert ("bar", "Frobbing {}", "pkg/train.py:save") in found
    assert "no text of a log" not in {text for _, text, _ in found}
    assert list(read_source("def broken(", "x.py")) == []
