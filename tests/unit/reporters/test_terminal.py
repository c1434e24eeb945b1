"""The terminal report: one screen, harmless, readable without colour."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from support.diagnoses import EVERY, slow_save
from unhang.reporters.parts import SCREEN
from unhang.reporters.style import Style
from unhang.reporters.terminal import page, render
from unhang.reporters.view import view

Snapshot = Callable[[str, str], None]


@pytest.mark.parametrize("name", ["slow-save", "located", "hostile"])
def test_snapshot(name: str, snapshot: Snapshot) -> None:
    snapshot(f"{name}.txt", render(EVERY[name], Style(width=90)) + "\n")


def test_snapshot_in_colour(snapshot: Snapshot) -> None:
    console = Console(record=True, width=90, file=io.StringIO(), force_terminal=True)
    console.print(page(view(slow_save(), "en", SCREEN), Style(color=True)))
    snapshot("slow-save.svg", console.export_svg(title="unhang diagnose", unique_id="unhang"))


@pytest.mark.parametrize("name", EVERY)
def test_without_colour_there_are_no_escape_sequences(name: str) -> None:
    text = render(EVERY[name])
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("name", EVERY)
def test_with_colour_there_are_only_colours(name: str) -> None:
    text = render(EVERY[name], Style(color=True))
    assert "\x1b[" in text
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("width", [20, 60, 80, 100, 300])
def test_lines_fit_the_screen(width: int) -> None:
    lines = render(slow_save(), Style(width=width)).split("\n")
    assert max(len(line) for line in lines) <= max(40, min(width, 110))


def test_even_a_verdict_with_every_section_fits_a_tall_screen() -> None:
    assert len(render(slow_save(), Style(width=100)).split("\n")) <= 55


def test_chinese_falls_back_to_english_sentence_by_sentence() -> None:
    assert "ALLREDUCE" in render(slow_save(), Style(language="zh"))
