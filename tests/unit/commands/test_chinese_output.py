"""What the commands print in Chinese holds no English sentence, but what they quote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.chinese import english, page_text, unwrapped
from support.run_folders import AT_S, hanging, run_folder, tell_events, training
from unhang import explain
from unhang.commands import COMMANDS, invoke
from unhang.errors import UsageError
from unhang.lab.drill import Drill
from unhang.lab.drills import DRILLS
from unhang.model.causes import Cause
from unhang.reporters.catalogue import by_text, sentences
from unhang.reporters.catalogue.by_text import translated
from unhang.reporters.explain import render_explanation
from unhang.reporters.style import Style
from unhang.rules import RULES
from unhang.screens.feed import EventTail, Feed
from unhang.screens.pages import event, heatmap, labels, overview, units, view
from unhang.settings.frameworks import frameworks
from unhang.settings.tables import Library, other_names, variables

CASES = Path(__file__).parents[2] / "cases"
HOLE = re.compile(r"\{[^{}]*\}")
DEMO = str(CASES / "demo/input")
WAITS = str(CASES / "two-groups-other-numbers/input")


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


def test_every_sentence_of_the_catalogue() -> None:
    """So no command says one, whatever it meets: a check of any host, a watch of any run."""
    said = {**sentences("zh"), **by_text.sentences("zh")}
    for command, texts in by_text.help_texts("zh").items():
        said |= {f"{command} {name}": text for name, text in texts.items()}
    found = {key: english(unwrapped(HOLE.sub(" ; ", text))) for key, text in said.items()}
    assert {key: runs for key, runs in found.items() if runs} == {}


def test_the_screens_of_a_run(tmp_path: Path) -> None:
    tell_events(run_folder(tmp_path, [training(AT_S), hanging(AT_S + 5)], ended=True))
    feed = Feed(tmp_path)
    shown = [labels("zh"), units("zh"), overview(feed, "zh"), heatmap(feed.past(), "zh")]
    shown += [view(standing, "zh") for standing in feed.past()]
    told = [event(item, "zh") for item in EventTail(feed.folder.events).fresh()]
    assert [item["who"] for item in told] == ["rank 2"] * 4
    shown += told
    texts = re.findall(r'"((?:[^"\\]|\\.)*)"', json.dumps(shown, ensure_ascii=False))
    found = [run for text in texts for run in english(page_text(text))]
    assert set(found) == {"keeps the GIL", "no space left on device"}  # said word by word


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
        if found := english(unwrapped("\n".join(lines))):
            mixed[name] = found
    assert mixed == {}


@pytest.mark.parametrize("word", [*(rule.code for rule in RULES), *(c.value for c in Cause)])
def test_a_manual_page(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["explain", word, "--lang", "zh"]) == 0
    assert english(unwrapped(capsys.readouterr().out)) == []


@pytest.mark.parametrize("drill", DRILLS, ids=lambda drill: drill.name)
def test_what_a_drill_does_is_told_in_chinese(drill: Drill) -> None:
    assert translated(drill.summary, "zh") != drill.summary


COMMANDS_OF_A_USER = [
    ["lint", str(CASES / "demo")],
    ["lint", str(CASES)],
    ["lint", "--torch", "1.2.3.4.x"],
    ["lint"],
    ["lint", "--format", "github"],
    ["plan", "llama-3-8b", "--gpus", "8", "--gpu-memory", "24GB", "--write-speed", "1GB/s"],
    ["plan", "70B", "--gpus", "64", "--gpu-memory", "80GB", "--strategy", "zero3"],
    ["plan", "mixtral-8x7b", "--gpus", "64", "--tp", "8", "--format", "markdown"],
    ["plan", "no-such-model", "--gpus", "8"],
    ["plan", "llama-3-8b", "--gpus", "7", "--tp", "2"],
    ["compare", DEMO, str(CASES / "eval-on-rank-0-only/input")],
    ["compare", "/none", "/none"],
    ["timeline", DEMO, "-o", "trace.pftrace"],
    ["timeline", DEMO, "-o", "trace.svg"],
    ["timeline", WAITS, "-o", "trace.svg"],
    ["timeline", WAITS, "-o", "trace.png"],
    ["timeline", WAITS, "-o", "/none/trace.png"],
    ["timeline", "/none"],
    ["fleet", str(CASES / "demo")],
    ["fleet", "/none"],
    ["drill", "list"],
    ["drill", "run", "none"],
    ["drill", "rehearse", "none"],
    ["drill", "judge", "/none"],
    ["diagnose", DEMO, "--format", "oneline"],
    ["diagnose", "/none"],
    ["diagnose", "--pid", "1073741824"],
    ["capture", "--pid", "1073741824"],
    ["explain", "nosuchthing"],
    ["explain", "Watchdog caught collective operation timeout"],
    ["explain", "1050677248"],
    ["rules"],
    ["mcp", "--root", "/none"],
    ["run"],
    ["run", "--on-hang", "sing", "--", "true"],
    ["run", "--timeouts", "never", "--", "true"],
    ["watch", "/none"],
    ["serve", "/none"],
    ["fix", "/none", "--from", "/none"],
    ["completion", "csh"],
    ["bench", "--ops", "none"],
    ["check", "--for", "/none"],
]


@pytest.mark.process
@pytest.mark.parametrize("words", COMMANDS_OF_A_USER, ids=" ".join)
def test_a_command(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNHANG_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.setenv("NCCL_TIMEOUT", "3")  # `lint` reads the environment
    invoke(words)
    told = capsys.readouterr()
    assert told.out + told.err
    drawn = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.svg"))
    quoted = " ".join(words[1:])
    found = [*english(unwrapped(told.out)), *english(told.err), *english(drawn)]
    assert [run for run in found if run not in quoted] == []


def test_every_command_is_asked() -> None:
    assert {words[0] for words in COMMANDS_OF_A_USER} == set(COMMANDS)
