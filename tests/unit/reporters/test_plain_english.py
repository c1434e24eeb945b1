"""English is plain: none of the turns that no engineer would write."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from unhang.commands import COMMANDS, cli
from unhang.explaining import explain
from unhang.reporters.catalogue import by_text, own_sentences, write
from unhang.rules import RULES

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
FENCE = re.compile(r"```.*?```", re.DOTALL)
TURNS = (
    r"(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer\b|more\b|better\b|other\b)",
    r"(?<!there )(?<!that )\b(?:is|are|was|were|be) none\b(?! of)",
    r"\bbelongs? into\b",
    r"\b(?:gets on|set going|for a blink|stands in\b|well at work|turned over)",
    r"\bare told (?:of|by)\b",
    r"\b(?:tells no|knows no|takes no|says no)\b",
    r"\bas it should\b",
    r"\bnothing was to\b",
    r"\bfor long\b(?! jobs)",
)


def helps(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    yield path, command.help or ""
    for option in command.params:
        yield path, getattr(option, "help", None) or ""
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from helps(child, f"{path} {name}")


def said() -> Iterator[tuple[str, str]]:
    """Every English text of the program and of its pages, with what finds it."""
    yield from own_sentences("en").items()
    yield from ((english, english) for english in by_text.sentences("zh"))
    yield from helps(cli, "unhang")
    for name in COMMANDS:
        yield from helps(importlib.import_module(f"unhang.commands.{name}").command, name)
    for rule in RULES:
        found = explain(rule.code)
        yield rule.code, " ".join(write(m) for part in found.sections for m in part.body)
    for path in PAGES:
        if not path.name.endswith(".zh.md"):
            yield path.name, FENCE.sub("", path.read_text("utf-8"))


SAID = list(said())


@pytest.mark.parametrize("turn", TURNS)
def test_no_strange_turn(turn: str) -> None:
    around = re.compile(f".{{0,40}}{turn}.{{0,30}}")
    found = [(where, m[0]) for where, text in SAID for m in around.finditer(" ".join(text.split()))]
    assert found == []
