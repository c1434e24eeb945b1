"""What the commands print in Chinese holds no English sentence, but what they quote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unhang import explain
from unhang.commands import invoke
from unhang.errors import UsageError
from unhang.model.causes import Cause
from unhang.reporters.explain import render_explanation
from unhang.reporters.style import Style
from unhang.rules import RULES
from unhang.settings.frameworks import frameworks
from unhang.settings.tables import Library, other_names, variables

CASES = Path(__file__).parents[2] / "cases"
DEMO = str(CASES / "demo/input")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
PATCH = re.compile(r"^\s*(?:│|#).*$", re.MULTILINE)
ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’-]*(?:[,;:]? [A-Za-z][A-Za-z'’-]*){2,}")
COMMON = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "cannot", "could"),
        *("do", "does", "for", "from", "had", "has", "have", "if", "in", "into", "is", "it", "its"),
        *("may", "must", "no", "not", "of", "off", "on", "only", "or", "so", "than", "that", "the"),
        *("their", "them", "then", "there", "they", "this", "to", "under", "was", "were", "when"),
        *("where", "which", "while", "who", "why", "will", "with", "without", "would"),
    )
)
"""Words that make a sentence; names of things stay English in Chinese, these do not."""
ALLOWED = frozenset(("all to all", "rank to rank"))


def english(text: str) -> list[str]:
    """Runs of three English words or more with one that no name has; quotations are none."""
    told = " ".join(QUOTED.sub(" ; ", PATCH.sub("", text)).split())
    runs = (found for found in ENGLISH.findall(told) if found not in ALLOWED)
    return [found for found in runs if COMMON & set(re.split(r"[,;:]? ", found.lower()))]


def settings() -> list[str]:
    """Every name that has a page: of variables, of myths, of the keys of frameworks."""
    keys = [key for f in frameworks().values() for key in (*f.knobs, *(t.key for t in f.timeouts))]
    known = (name for library in Library for name in variables(library))
    return sorted({*known, *other_names(), *keys})


def test_an_english_sentence_is_found() -> None:
    assert english("结论：the rank that waits is not the culprit") != []
    assert english("请用 timeout= of init_process_group") == []
    assert english("请用 an option of it") != []
    assert english("`the rank that waits is not the culprit`") == []


def test_a_page_of_a_setting() -> None:
    """But where something was read: a file of a release is called as it is."""
    mixed: dict[str, list[str]] = {}
    for name in settings():
        try:
            page = explain(name)
        except UsageError:
            continue
        told = render_explanation(page, "terminal", Style(language="zh", width=10_000))
        lines = (line for line in told.splitlines() if not re.search(r"\S/\S.*(via|in) \S+", line))
        if found := english("\n".join(lines)):
            mixed[name] = found
    assert mixed == {}


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
