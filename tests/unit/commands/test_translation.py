"""Help and errors of the command line in Chinese."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

import click
import pytest

from support.chinese import english as foreign
from support.chinese import unwrapped
from unhang.commands import COMMANDS, cli, invoke, summaries
from unhang.commands.translation import asked_language, in_language
from unhang.reporters.catalogue.by_text import help_texts

WIDE = re.compile("[\u4e00-\u9fff]")


def every(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from every(child, f"{path} {name}")


def commands() -> Iterator[tuple[str, click.Command]]:
    yield "unhang", cli
    for name in COMMANDS:
        yield from every(importlib.import_module(f"unhang.commands.{name}").command, name)


ALL = dict(commands())


def names(command: click.Command) -> set[str]:
    """What has help in a command: itself and its options."""
    options = (p.name for p in command.params if getattr(p, "help", None) and p.name != "version")
    return {"about", *(name for name in options if name)}


@pytest.mark.parametrize("path", ALL)
def test_every_text_has_a_translation(path: str) -> None:
    texts = help_texts("zh")
    assert names(ALL[path]) - {*texts.get(path, {}), *texts["any"]} == set()


def test_no_translation_is_left_over() -> None:
    texts = dict(help_texts("zh"))
    assert texts.pop("short").keys() == COMMANDS.keys()
    assert set().union(*map(names, ALL.values())) >= texts.pop("any").keys()
    assert texts.keys() == ALL.keys()
    for path, own in texts.items():
        assert own.keys() <= names(ALL[path]), path


@pytest.mark.parametrize("path", ALL)
def test_help_is_chinese_and_fits(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = [] if path == "unhang" else path.split()
    assert invoke([*words, "--help"]) == 0
    english = capsys.readouterr().out
    monkeypatch.setenv("UNHANG_LANG", "zh")
    assert invoke([*words, "--help"]) == 0
    chinese = capsys.readouterr().out
    assert not WIDE.search(english)
    assert {"用法：", "选项："} <= set(re.findall(r"^\w+：", chinese, re.MULTILINE))
    assert set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", english, re.MULTILINE)) == set(
        re.findall(r"^  (?:-\w, )?(--[\w-]+)", chinese, re.MULTILINE)
    )
    for english_words in ("Show this message", "[default", "Options", "Commands:", "required]"):
        assert english_words not in chinese
    assert foreign(unwrapped(chinese)) == []
    for line in chinese.splitlines():
        if WIDE.search(line):
            assert sum(2 if ord(char) > 0x2E7F else 1 for char in line) <= 84, line


def test_lang_counts_for_help_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["diagnose", "--lang", "zh", "--help"]) == 0
    assert "指出失败作业" in capsys.readouterr().out
    assert invoke(["diagnose", "--lang=zh", "/no/such/file"]) == 2
    assert capsys.readouterr().err == "unhang: /no/such/file：没有这个文件或文件夹\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["diagnos"],
            "没有命令“diagnos”；你是想用 `diagnose` 吗？ `unhang --help` 说明它接受什么。",
        ),
        (
            ["lint", "--pid", "x"],
            "'--pid' 的值无效：'x' 不是整数。 `unhang lint --help` 说明它接受什么。",
        ),
        (["fix", "/"], "缺少选项 '--from'。 `unhang fix --help` 说明它接受什么。"),
        (["compare", "a"], "缺少参数 'AFTER'。 `unhang compare --help` 说明它接受什么。"),
    ],
)
def test_errors_of_the_command_line(
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UNHANG_LANG", "zh")
    assert invoke(words) == 2
    assert capsys.readouterr().err == f"unhang: {said}\n"


@pytest.mark.parametrize(
    ("arguments", "language"),
    [
        (["diagnose", "--lang", "zh"], "zh"),
        (["--lang=zh"], "zh"),
        (["run", "--", "train", "--lang", "zh"], "en"),
        (["diagnose", "--lang"], "en"),
        (["diagnose", "--lang", "fr"], "en"),
        (["diagnose", "--language", "zh"], "en"),
        ([], "en"),
    ],
)
def test_the_language_that_is_asked_for(
    arguments: list[str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("UNHANG_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    assert asked_language(arguments) == language


def test_english_stays_as_it_is() -> None:
    assert in_language(cli, "en", "unhang") is cli
    assert summaries("en") is COMMANDS
    before = ALL["lint"].help
    in_language(ALL["lint"], "zh", "lint")
    assert ALL["lint"].help == before
