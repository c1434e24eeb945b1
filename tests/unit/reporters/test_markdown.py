"""Markdown for issue trackers: nothing of a log becomes markup."""

import re

import pytest

from support.diagnoses import EVERY, hostile, slow_save
from unhang.reporters.markdown import code, escape, fence, render


def test_sections_of_a_full_verdict() -> None:
    text = render(slow_save())
    assert text.startswith("## ROOT CAUSE: `checkpoint_slow`\n")
    titles = re.findall(r"^### (.*)$", text, flags=re.MULTILINE)
    assert titles == [
        "Why",
        "Evidence",
        "What happened",
        "What to do",
        "Settings in use that have no effect",
        "Also possible",
        "What would decide",
        "Missing evidence",
        "Could not be read",
        "Other starts of this job",
    ]
    assert "`rank0.log:412`" in text
    assert "<details><summary>Evidence</summary>" in text
    assert "   dist.init_process_group(\n       timeout=timedelta(hours=2),\n   )" in text


@pytest.mark.parametrize("name", ["undetermined", "healthy"])
def test_sections_without_content_are_left_out(name: str) -> None:
    assert "### Evidence" not in render(EVERY[name])


def test_no_html_of_a_log_survives_outside_code() -> None:
    text = re.sub(r"(`{3,})text\n.*?\n\s*\1", "", render(hostile()), flags=re.DOTALL)
    plain = re.sub(r"(?<!\\)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "img" in plain
    assert "<img" not in plain.replace("\\<", "")
    assert not re.search(r"(?<!\\)\]\(", plain)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b*c", r"a\_b\*c"),
        ("![x](y)", r"\!\[x\](y)"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("# title", r"\# title"),
        ("`x_y` z_", r"`x_y` z\_"),
        ("a | b", r"a \| b"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


@pytest.mark.parametrize(
    "text", ["@everyone", "see user/repo#12", "see #12", "http://evil", "www.evil.com"]
)
def test_nothing_becomes_a_link_or_a_mention(text: str) -> None:
    assert not re.search(r"@\w|://|www\.|#\d", escape(text).replace("\\", ""))


def test_backticks_cannot_leave_their_code() -> None:
    assert code("```") == "```` ``` ````"
    assert list(fence(["```", "x"])) == ["````text", "```", "x", "````"]
