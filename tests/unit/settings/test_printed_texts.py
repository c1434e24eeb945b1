"""Texts found in released packages: every row is matched as what it says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from mine import __main__ as tool
from mine.phases import shown_by
from mine.texts import Text, read_source
from support.feeding import feed
from unhang.model.events import PhaseMark
from unhang.model.phases import Phase
from unhang.parsers.phase_marks import PhaseMarkParser
from unhang.parsers.vocabulary.phases import phase_of_label
from unhang.settings.log_marks import printed_table

TABLE = printed_table()


def told(text: str) -> list[str]:
    marks = [e for e in feed(PhaseMarkParser, text) if isinstance(e, PhaseMark)]
    return [f"{e.phase.value} {e.edge.value}" for e in marks]


@pytest.mark.parametrize("package", TABLE["texts"])
def test_rows_are_matched(package: str) -> None:
    releases = set(TABLE["packages"][package])
    for row, shown, place, release in TABLE["texts"][package]:
        assert release in releases
        assert re.fullmatch(r"\S+\.py:\d+ \S+", place), row
        text = row.replace("{}", "x7")
        if shown.endswith(" bar"):
            assert phase_of_label(text) is Phase(shown.removesuffix(" bar")), row
            continue
        assert any(needle in text for needle in PhaseMarkParser.NEEDLES) or shown == "decoy", row
        assert told(text) == ([] if shown == "decoy" else [shown]), row


def test_at_least_forty_packages() -> None:
    assert len(TABLE["texts"]) >= 40


@pytest.mark.parametrize(
    ("text", "kind", "function", "shown"),
    [
        ("Frobnicating weights", "log", "train", None),
        ("Restoring optimizer from {}", "log", "train", ("load", "begin")),
        ("Optimizer restored from {}", "log", "train", ("load", "end")),
        ("Saving to {}", "print", "save_checkpoint", ("save", "begin")),
        ("Saving to {}", "print", "plot", None),
        ("Saving checkpoint took {} s", "print", "train", ("save", "end")),
        ("Saving checkpoint failed", "log", "train", None),
        ("Saving checkpoint", "trouble", "train", None),
        ("You should save the checkpoint", "log", "train", None),
        ("Validated {}/{} samples", "log", "train", None),
        ("Start compiling kernels", "log", "train", ("compile", "begin")),
        ("Tokenizing the dataset", "bar", "train", ("data", "bar")),
    ],
)
def test_rules(text: str, kind: str, function: str, shown: tuple[str, str] | None) -> None:
    found = shown_by(Text(kind=kind, text=text, file="p/t.py", function=function, line=1))
    assert found == shown


def test_texts_are_read_without_running_anything(tmp_path: Path) -> None:
    source = f"""
open({str(tmp_path / "run")!r}, "w")
class Trainer:
    def save(self, path, step):
        logger.info(f"Saving {{step}} to {{path}}")
        print("took %.2f s" % step, path)
        message = f"Wrote {{path}} whole"
        log_single_rank(logger, logging.INFO, message)
        warnings.warn("Slow disk ahead")
        for _ in tqdm(range(3), desc="Frobbing " + path):
            pass
        log_rank_0("Wrote {{}} files".format(step))
        other("no text of a log")
"""
    found = [(t.kind, t.text, t.function) for t in read_source(source, "pkg/train.py")]
    assert not (tmp_path / "run").exists()
    assert found == [
        ("log", "Saving {} to {}", "Trainer.save"),
        ("print", "took {} s", "Trainer.save"),
        ("log", "Wrote {} whole", "Trainer.save"),
        ("trouble", "Slow disk ahead", "Trainer.save"),
        ("bar", "Frobbing {}", "Trainer.save"),
        ("log", "Wrote {} files", "Trainer.save"),
    ]
    assert list(read_source("def broken(", "x.py")) == []


@pytest.mark.timeout(900)
def test_the_table_is_what_the_releases_yield(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = os.environ.get("UNHANG_PACKAGES", "")
    monkeypatch.setattr("sys.argv", ["mine", "--check", "--cache", cache or "absent"])
    assert tool.main() == 0
    if capsys.readouterr().out.startswith("not checked"):
        pytest.skip("no cache of released packages: set UNHANG_PACKAGES")
