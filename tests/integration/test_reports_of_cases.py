"""Every report of every scenario keeps the contract, fits a screen and words all sentences."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import unhang
from support.chinese import english, page_text, printed_by, unquoted
from unhang.model.diagnosis import Diagnosis
from unhang.model.provenance import Message
from unhang.reporters import render
from unhang.reporters.catalogue import LANGUAGES, sentences
from unhang.reporters.catalogue.wording import Wording
from unhang.reporters.prompt import MOST_TOKENS, tokens
from unhang.reporters.style import Style

CASES = sorted(path for path in (Path(__file__).parents[1] / "cases").glob("*/input"))


@cache
def diagnosed(case: Path) -> Diagnosis:
    """Judged once by each process that tests its reports."""
    return unhang.diagnose(str(case))


@pytest.fixture(scope="module")
def contract() -> jsonschema.Draft202012Validator:
    text = files("unhang.reporters").joinpath("schemas/diagnosis-1.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def messages(value: object) -> Iterator[Message]:
    """All messages inside a diagnosis."""
    if isinstance(value, Message):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from messages(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from messages(getattr(value, field.name))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_reports(case: Path, contract: jsonschema.Draft202012Validator) -> None:
    diagnosis = diagnosed(case)
    contract.validate(json.loads(render(diagnosis, "json")))
    texts = sentences("en")
    for message in messages(diagnosis):
        template = texts.get(message.key, message.english) or ""
        assert Wording(texts).vformat(template, (), message.values).strip(), message
    lines = render(diagnosis, "terminal").split("\n")
    assert len(lines) <= 60
    assert all(len(line) <= 100 and line.isprintable() for line in lines)
    assert render(diagnosis, "markdown").startswith("## ")
    for language in LANGUAGES:
        assert tokens(render(diagnosis, "prompt", Style(language=language))) <= MOST_TOKENS


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_a_chinese_report_holds_no_english_sentence(case: Path) -> None:
    """But what the job itself printed."""
    printed = printed_by(case)
    diagnosis = diagnosed(case)
    for form in ("terminal", "markdown", "prompt", "oneline"):
        text = render(diagnosis, form, Style(language="zh", width=10_000))
        parts = re.split(r"\n| {2,}", unquoted(text))  # what a log says stands by itself
        found = [run for part in parts for run in english(part)]
        assert [run for run in found if run not in printed] == [], form
    page = page_text(render(diagnosis, "html", Style(language="zh")))
    found = [run for part in page.split("\n") for run in english(part)]
    assert [run for run in found if run not in printed] == []
