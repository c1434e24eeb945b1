"""What there is to say on a word."""

from dataclasses import replace
from typing import get_args

import pytest

from unhang.errors import UsageError
from unhang.explaining import card, explain
from unhang.model.causes import Cause
from unhang.model.events import Event
from unhang.model.explanation import Explanation, Topic
from unhang.reporters.catalogue import sentences, write
from unhang.reporters.explain import FORMS, render_explanation
from unhang.reporters.style import Style
from unhang.rules import RULES

TIMEOUT = (
    "[rank3]:[E1121 01:38:58.904 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective"
    " operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9801523,"
    " NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_has_its_whole_page_by_code_and_by_name(rule: object) -> None:
    code, name = getattr(rule, "code", ""), getattr(rule, "name", "")
    page = explain(code)
    assert page == explain(code.lower()) == explain(name)
    assert page.topic is Topic.RULE
    titles = [write(section.title) for section in page.sections]
    assert titles[:5] == [
        "What it finds",
        "Why it hangs",
        "When it stays quiet",
        "How to confirm",
        "What to do",
    ]


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_page(cause: Cause) -> None:
    page = explain(cause.value)
    assert page == explain(cause.value.replace("_", "-").upper())
    assert page.topic is Topic.CAUSE
    claiming = [c.code for c in map(card, RULES) if c.cause is cause]
    listed = [m.values["code"] for section in page.sections for m in section.body]
    assert listed == claiming


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("NCCL_TIMEOUT", "Nothing reads it."),
        ("nccl_ib_timeout", "Read by nccl."),
        ("ddp_timeout", "ddp_timeout (transformers, python): default 30 min; works"),
        ("NCCL_DEBUG=WARNING", "Values: "),
    ],
)
def test_a_setting_has_a_page(word: str, said: str) -> None:
    page = explain(word)
    assert page.topic is Topic.SETTING
    assert said in render_explanation(page, "terminal", Style(width=110))


def test_an_error_line_is_read_by_the_parsers() -> None:
    page = explain(TIMEOUT)
    assert page.topic is Topic.LINE
    assert "CollectiveTimeout" in page.name
    text = render_explanation(page, "terminal")
    assert "A rank waited 10 min in ALLREDUCE, sequence number 808" in text
    assert "This rank is a victim" in text


def test_a_line_that_is_repeated_is_explained_once() -> None:
    assert explain(TIMEOUT + "\n" + TIMEOUT).sections == explain(TIMEOUT).sections


def test_every_kind_of_event_has_both_sentences() -> None:
    kinds = {kind.__name__ for kind in get_args(Event)}
    texts = sentences("en")
    assert kinds == {k.removeprefix("event.") for k in texts if k.startswith("event.")}
    assert kinds == {k.removeprefix("means.") for k in texts if k.startswith("means.")}


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("chekpoint_slow", "checkpoint_slow"),
        ("NCCL_IB_TIMOUT", "NCCL_IB_TIMEOUT"),
        ("checkpoint-under-way", "checkpoint-under-way-at-timeout"),
        ("xyzzy", None),
        ("", None),
    ],
)
def test_an_unknown_word_is_refused_with_what_is_close(word: str, meant: str | None) -> None:
    with pytest.raises(UsageError) as refusal:
        explain(word)
    assert ("Did you mean" in str(refusal.value)) is (meant is not None)
    assert meant is None or meant in str(refusal.value)


def test_a_long_unknown_text_is_not_repeated_whole() -> None:
    with pytest.raises(UsageError) as refusal:
        explain("x y " * 10_000)
    assert len(str(refusal.value)) < 400


def test_a_page_without_a_translation_says_so() -> None:
    page = explain("DSY001")
    foreign = replace(page, summary=replace(page.summary, key="manuals.ZZZ999.summary"))
    remark = sentences("zh")["manual.untranslated"]
    for form in ("terminal", "markdown"):
        assert remark in render_explanation(foreign, form, Style(language="zh"))
        assert remark not in render_explanation(page, form, Style(language="zh"))
        assert sentences("en")["manual.untranslated"] not in render_explanation(foreign, form)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_holds_every_section(form: str) -> None:
    page: Explanation = explain("DSY001")
    text = render_explanation(page, form)
    assert page.name in text
    assert all(write(section.title) in text for section in page.sections)


GATHER = TIMEOUT.replace(
    "OpType=ALLREDUCE, NumelIn=9801523, NumelOut=9801523",
    "OpType=_ALLGATHER_BASE, NumelIn=262669312, NumelOut=1050677248",
)


def _text(page: Explanation) -> str:
    return render_explanation(page, "markdown")


def test_the_sizes_in_a_line_tell_the_tensors() -> None:
    told = _text(explain(GATHER))
    assert "2 x 128256 x 4096 + 4096 elements" in told
    assert "Over 4 ranks by its sizes" in told
    assert "What its sizes tell" not in _text(explain(TIMEOUT))


@pytest.mark.parametrize("words", ["262669312 1050677248", "262,669,312 1,050,677,248"])
def test_sizes_alone_tell_the_tensors(words: str) -> None:
    told = _text(explain(words))
    assert "Meta-Llama-3-8B" in told
    assert "4 ranks" in told


def test_a_size_that_no_model_has_says_so() -> None:
    assert "No tensor of a known model" in _text(explain("123456789"))
