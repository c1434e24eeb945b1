"""From the code to the generated parts of the documentation: `make docs`.

Whole pages (rules, causes, schema) and blocks between `<!-- NAME:begin -->` and `<!-- NAME:end -->`
in pages that people write. A test compares them with what is on disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import click

import man
import unhang
from unhang import api
from unhang.commands import COMMANDS, cli
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.explanation import RuleCard
from unhang.reporters import render
from unhang.reporters.catalogue import sentences
from unhang.reporters.explain import render_explanation
from unhang.reporters.style import Style

ROOT = Path(__file__).parents[1]
DEMO = "tests/cases/demo/input"
FAMILIES = {
    "LOC": "who and where",
    "DSY": "ranks run different things",
    "CRA": "a process is gone",
    "SLO": "a rank is late",
    "NET": "the network",
    "DEV": "GPUs and hosts",
    "CFG": "start-up and settings",
}
_GENERATED = "<!-- Made by `make docs` from {origin}; edit that, not this page. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated page and every page with generated blocks, by path below the root."""
    written = ("README.md", "README.zh-CN.md", "docs/commands.md")
    return {
        **{f"docs/rules/{card.code}.md": _rule_page(card) for card in api.rules()},
        "docs/rules/index.md": _rule_index(),
        "docs/causes.md": _cause_page(),
        "docs/schemas/diagnosis-1.json": _schema(),
        "docs/unhang.1": man.page(),
        **{name: _fill((ROOT / name).read_text(encoding="utf-8")) for name in written},
    }


def leftovers(wanted: dict[str, str]) -> list[str]:
    """Pages of rules that there are no more."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "docs/rules").glob("*.md"))
        if str(path.relative_to(ROOT)) not in wanted
    ]


def main() -> None:
    """Write what differs."""
    os.chdir(ROOT)
    wanted = pages()
    for name in leftovers(wanted):
        (ROOT / name).unlink()
        print(f"removed {name}")
    for name, text in wanted.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")


def _rule_page(card: RuleCard) -> str:
    """The manual page of `unhang explain CODE`, as it stands in the rule's docstring."""
    module = sys.modules[_rule_module(card.code)]
    source = Path(str(module.__file__)).relative_to(Path(unhang.__file__).parents[1])
    text = render_explanation(api.explain(card.code), "markdown", Style())
    return _GENERATED.format(origin=f"`src/{source}`") + text + "\n"


def _rule_module(code: str) -> str:
    from unhang.rules import RULES

    return next(rule.check.__module__ for rule in RULES if rule.code == code)


def _rule_index() -> str:
    return _GENERATED.format(origin="the rules") + "\n".join(_rule_rows()) + "\n"


def _rule_rows() -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield "A rule is a pure function on the facts of a job. Its code leads from the terminal to"
    yield "its page (`unhang explain CODE`), its source and its tests."
    for family, title in FAMILIES.items():
        cards = [card for card in api.rules() if card.code.startswith(family)]
        if cards:
            yield from (
                "",
                f"## {family}: {title}",
                "",
                "| Code | Finds | Claims |",
                "|---|---|---|",
            )
        for card in cards:
            cause = "" if card.cause is None else f"[`{card.cause.value}`](../causes.md)"
            yield f"| [{card.code}]({card.code}.md) | {card.summary} | {cause} |"


def _cause_page() -> str:
    return (
        _GENERATED.format(origin="`src/unhang/model/causes.py`") + "\n".join(_cause_rows()) + "\n"
    )


def _cause_rows() -> Iterator[str]:
    texts = sentences("en")
    yield "# Causes"
    yield ""
    yield "A verdict names one of these causes, or says that the evidence does not decide. The ids"
    yield "are the same in the terminal, in JSON and in the library."
    yield from ("", "| Cause | Meaning | Rules that can show it |", "|---|---|---|")
    for cause in Cause:
        codes = [card.code for card in api.rules() if card.cause is cause]
        links = ", ".join(f"[{code}](rules/{code}.md)" for code in codes)
        yield f"| `{cause.value}` | {texts[f'cause.{cause.value}']} | {links} |"


def _schema() -> str:
    return files("unhang.reporters").joinpath("schemas/diagnosis-1.json").read_text("utf-8")


def _fill(page: str) -> str:
    """Replace the generated blocks of a page."""
    blocks: dict[str, Callable[[], str]] = {"demo": _demo, "demo zh": partial(_demo, "zh")}
    blocks |= {f"help {name}": partial(_help_of, name) for name in COMMANDS}
    for name, write in blocks.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, found, rest = page.partition(begin)
        if found:
            after = rest.partition(end)[2]
            page = f"{before}{begin}\n{write()}\n{end}{after}"
    return page


def _demo(language: str = "en") -> str:
    """The verdict of `make demo`; only the seconds are set to a round figure."""
    diagnosis: Diagnosis = api.diagnose(DEMO)
    steady = replace(diagnosis, stats=replace(diagnosis.stats, seconds=0.1))
    return f"```text\n{render(steady, 'terminal', Style(width=100, language=language))}\n```"


def _help_of(name: str) -> str:
    """The help of one command, as it is printed on a screen of 90 columns."""
    root = click.Context(cli, info_name="unhang", **cli.context_settings)
    command = cli.get_command(root, name)
    assert command is not None, name
    command._help_option = None  # click keeps that of the context that asked first
    context = click.Context(command, info_name=name, parent=root, terminal_width=90)
    return f"```text\n{command.get_help(context)}\n```"


if __name__ == "__main__":
    main()
