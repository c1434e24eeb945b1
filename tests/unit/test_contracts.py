"""The contracts of the architecture: what one file adds is listed, named and documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import unhang
import unhang.engine
import unhang.parsers
import unhang.rules
from unhang.model.causes import Cause
from unhang.model.events import Event
from unhang.model.rule import Fact, Rule
from unhang.parsers import PARSERS, READ_ANY_WORDS
from unhang.parsers.base import Parser
from unhang.rules import RULES

REPOSITORY = Path(__file__).resolve().parents[2]
FAMILIES = {
    "locate": "LOC",
    "desync": "DSY",
    "crash": "CRA",
    "slow": "SLO",
    "network": "NET",
    "device": "DEV",
    "config": "CFG",
}
SECTIONS = (
    "What it finds",
    "Why it hangs",
    "When it stays quiet",
    "How to confirm",
    "What to do",
    "References",
)

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
every_parser = pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.NAME)


def modules_of(package: ModuleType) -> list[ModuleType]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(info.name) for info in found]


def module_of(rule: Rule) -> ModuleType:
    module = inspect.getmodule(rule.check)
    assert module is not None
    return module


def lines_beside_sentences(file: Path) -> int:
    text = file.read_text(encoding="utf-8")
    said = (
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "say"
    )
    return len(text.splitlines()) - len({line for lines in said for line in lines})


def test_every_rule_is_found() -> None:
    folder = Path(inspect.getfile(unhang.rules)).parent
    written = [
        code
        for path in folder.rglob("*.py")
        for code in re.findall(r'^@rule\(\s*"(\w+)"', path.read_text("utf-8"), re.MULTILINE)
    ]
    assert sorted(written) == [rule.code for rule in RULES]


def test_codes_and_names_are_unique_and_ordered() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert max(Counter(rule.name for rule in RULES).values()) == 1


@every_rule
def test_a_rule_is_in_the_folder_of_its_family(rule: Rule) -> None:
    family = module_of(rule).__name__.split(".")[-2]
    assert re.fullmatch(rf"{FAMILIES[family]}\d{{3}}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)


@every_rule
def test_a_rule_says_without_what_it_cannot_run(rule: Rule) -> None:
    assert len(rule.needs) > 0


@every_rule
def test_the_manual_page_of_a_rule_is_complete(rule: Rule) -> None:
    page = inspect.getdoc(module_of(rule)) or ""
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert tuple(titles) == SECTIONS[: len(titles)]
    assert len(titles) >= len(SECTIONS) - 1, "only the references may be missing"
    bodies = re.split(r"^## .+$", page, flags=re.MULTILINE)
    assert all(body.strip() for body in bodies)


@every_rule
def test_a_rule_is_small_and_has_a_test(rule: Rule) -> None:
    file = Path(inspect.getfile(rule.check))
    assert lines_beside_sentences(file) <= 150
    tests = (REPOSITORY / "tests" / "unit" / "rules").rglob("test_*.py")
    assert any(re.search(rf"{rule.code}|{file.stem}", t.read_text(encoding="utf-8")) for t in tests)


def test_locating_rules_name_no_cause() -> None:
    assert [r.code for r in RULES if r.code.startswith("LOC") and r.cause is not None] == []


def test_every_cause_can_be_claimed() -> None:
    # Rules may claim further causes than their main one: a look at the source is enough.
    source = "".join(inspect.getsource(m) for m in modules_of(unhang.rules))
    assert [c.value for c in Cause if f"Cause.{c.name}" not in source] == []


def test_every_fact_is_needed_by_a_rule() -> None:
    assert set(Fact) == {fact for rule in RULES for fact in rule.needs}


def test_every_parser_is_found() -> None:
    folder = Path(inspect.getfile(unhang.parsers)).parent
    head = re.compile(r'\nclass \w+\(\s*LineParser,\s*name="([^"]+)"')
    texts = (path.read_text("utf-8") for path in folder.rglob("*.py"))
    written = [name for text in texts for name in head.findall(text)]
    assert sorted(written) == sorted(parser.NAME for parser in PARSERS)


def test_names_of_parsers_are_unique() -> None:
    assert max(Counter(parser.NAME for parser in PARSERS).values()) == 1


def test_nothing_of_the_scaffold_is_left_to_fill() -> None:
    texts = (path for path in (REPOSITORY / "src").rglob("*.*") if path.suffix in (".py", ".toml"))
    assert [p.name for p in texts if "to fill" in p.read_text("utf-8").lower()] == []


def test_who_reads_any_words_is_a_parser() -> None:
    assert {parser.NAME for parser in PARSERS} >= READ_ANY_WORDS


@every_parser
def test_a_parser_says_what_it_wants_and_what_it_reads(parser: type[Parser]) -> None:
    assert parser.NEEDLES
    assert all(len(needle) >= 2 for needle in parser.NEEDLES)
    assert inspect.getdoc(inspect.getmodule(parser))
    assert inspect.getdoc(parser)


def test_every_event_is_said_by_a_parser() -> None:
    """Or, where no parser understood the line, by the engine that reads what they left."""
    modules = [*modules_of(unhang.parsers), *modules_of(unhang.engine)]
    source = "".join(inspect.getsource(m) for m in modules)
    silent = [e.__name__ for e in get_args(Event) if f"{e.__name__}(" not in source]
    assert silent == []


@pytest.mark.parametrize("name", [n for n in unhang.__all__ if not n.startswith("__")])
def test_public_names_are_documented(name: str) -> None:
    public = getattr(unhang, name)
    assert inspect.getdoc(public)
    if inspect.isfunction(public):
        signature = inspect.signature(public)
        page = inspect.getdoc(public) or ""
        assert all(parameter in page for parameter in signature.parameters)
        assert signature.return_annotation is not inspect.Signature.empty
