"""Plans, comparisons, checks and fleets as pages: well formed, complete, hostile names are text."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from support.pages import HOSTILE, check_report, fleet
from unhang import plan
from unhang.comparing import compare_runs
from unhang.model.comparison import RunFacts
from unhang.model.ids import Rank
from unhang.model.measurements import RankSetting
from unhang.model.plan import Plan
from unhang.model.provenance import Problem, say
from unhang.reporters.check import render_check
from unhang.reporters.compare import render_comparison
from unhang.reporters.fleet import render_fleet
from unhang.reporters.plan import render_plan
from unhang.reporters.style import Style

VOID = {"meta", "link", "br", "input", "img"}


class Elements(HTMLParser):
    """Checks that every element is closed; keeps scripts and the text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.scripts = 0
        self.said = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)
        self.scripts += tag == "script"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.said += data


def _plan() -> Plan:
    return plan(
        "llama-3-8b", world=8, gpu_memory="24GB", seq=4096, write_speed="1GB/s", eval_s="2h",
        framework="trl",
    )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_plan_is_one_page_with_every_figure(language: str) -> None:
    made = _plan()
    page = Elements(render_plan(made, "html", Style(language=language)))
    assert page.scripts == 1
    for limit in made.time_limits:
        assert str(limit.seconds) in page.said
    for call in made.collectives:
        assert f"{call.numel:,}" in page.said
    assert made.patches[0].text.strip().splitlines()[0] in page.said


def test_hostile_names_are_text_in_a_plan() -> None:
    made = replace(_plan(), model=HOSTILE, notes=(say("plan.unread", "{file}", file=HOSTILE),))
    page = Elements(render_plan(made, "html"))
    assert page.scripts == 1
    assert "\x1b" not in page.said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_comparison_is_one_page_with_its_picture(language: str) -> None:
    before = [RunFacts(name=str(i), hours=4.0, failed=True) for i in range(6)]
    after = [RunFacts(name="a", hours=72.0, failed=True)]
    text = render_comparison(compare_runs(before, after), "html", Style(language=language))
    page = Elements(text)
    assert page.scripts == 1
    assert text.count("<circle") == 2
    assert "0.0139 (0.000352 - 0.0774)" in page.said


def test_without_a_rate_there_is_no_picture() -> None:
    run = RunFacts(name="a", hours=0.0, failed=False)
    assert "<svg" in render_comparison(compare_runs([run], [run]), "html")


def test_hostile_names_are_text_in_a_comparison() -> None:
    def run(value: str) -> RunFacts:
        ranks = frozenset({Rank(0)})
        setting = RankSetting(name=HOSTILE, value=value, ranks=ranks)
        return RunFacts(name=HOSTILE, hours=1.0, failed=True, settings=(setting,), world_size=2)

    problem = Problem(artifact=HOSTILE, component="compare", message=HOSTILE)
    comparison = compare_runs([run("a")], [run(HOSTILE)], [problem])
    page = Elements(render_comparison(comparison, "html"))
    assert page.scripts == 1
    assert "\x1b" not in page.said
    assert "\u202e" not in page.said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_fleet_is_one_page_with_every_failure(language: str) -> None:
    page = Elements(render_fleet(fleet(40), "html", Style(language=language)))
    assert page.scripts == 1
    assert all(f"job-{number}" in page.said for number in range(40))
    assert "srun --exclude=gpu-07" in page.said
    assert "\x1b" not in page.said
    assert HOSTILE[:8] in page.said


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_check_is_one_page_with_what_to_do(language: str) -> None:
    page = Elements(render_check(check_report(), "html", Style(language=language)))
    assert page.scripts == 1
    assert "\x1b" not in page.said
    assert "gpu-07" in page.said
