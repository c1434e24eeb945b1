"""What the commands print in Chinese holds no English sentence, but what they quote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unhang.commands import invoke
from unhang.model.causes import Cause
from unhang.rules import RULES

CASES = Path(__file__).parents[2] / "cases"
DEMO = str(CASES / "demo/input")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
PATCH = re.compile(r"^\s*(?:│|#).*$", re.MULTILINE)
ENGLISH = re.compile(r"(?:[A-Za-z][a-z']*[,;:]? ){4,}[A-Za-z][a-z']*")
COMMON = frozenset(
    (
        "a",
        "and",
        "are",
        "at",
        "by",
        "has",
        "is",
        "it",
        "its",
        "no",
        "of",
        "on",
        "that",
        "the",
        "to",
        "was",
        "which",
    )
)


def english(text: str) -> list[str]:
    """Runs of five words or more with two that only sentences have."""
    told = " ".join(QUOTED.sub(" ; ", PATCH.sub("", text)).split())
    return [found for found in ENGLISH.findall(told) if len(COMMON & {*found.lower().split()}) >= 2]


def test_an_english_sentence_is_found() -> None:
    assert english("结论：the rank that waits is not the culprit") != []
    assert english("`the rank that waits is not the culprit`") == []


@pytest.mark.parametrize("word", [*(rule.code for rule in RULES), *(c.value for c in Cause)])
def test_a_manual_page(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["explain", word, "--lang", "zh"]) == 0
    assert english(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    "words",
    [
        ["lint", str(CASES / "demo")],
        ["plan", "llama-3-8b", "--gpus", "8", "--gpu-memory", "24GB", "--write-speed", "1GB/s"],
        ["compare", DEMO, str(CASES / "eval-on-rank-0-only/input")],
        ["timeline", DEMO, "-o", "trace.pftrace"],
        ["fleet", str(CASES / "demo")],
        ["drill", "list"],
        ["diagnose", DEMO, "--format", "oneline"],
        ["watch", "/none"],
        ["serve", "/none"],
        ["fix", "/none", "--from", "/none"],
    ],
    ids=lambda words: words[0],
)
def test_a_command(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    invoke([*words, "--lang", "zh"])
    told = capsys.readouterr()
    assert told.out + told.err
    assert english(told.out) == english(told.err) == []
