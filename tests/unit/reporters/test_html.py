"""The page: one file, well formed, and whatever a log holds is text in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from support.diagnoses import EVERY, hostile, large, ranks, slow_save, waiting
from unhang.model.activity import Activity, ActivityBasis, ActivitySpan, fold_spans
from unhang.model.diagnosis import Diagnosis, Excerpt
from unhang.model.ids import Rank, RankSpans
from unhang.model.waits import Analysis, CallRef, Snapshot, Wait
from unhang.reporters.html import render
from unhang.reporters.html.frame import Section, page
from unhang.reporters.html.markup import Html, prose, table, tag
from unhang.reporters.html.wait_graph import GraphView, graph_of
from unhang.reporters.style import Style

VOID = {"meta", "link", "br", "input", "img"}


class Elements(HTMLParser):
    """Checks that every element is closed, and keeps names, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.said.append(data)


def drawn(told: Diagnosis) -> GraphView:
    return graph_of(told.waits, "en", [], culprits=told.culprits, victims=told.victims)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EVERY)
def test_every_verdict_is_one_well_formed_page(name: str, language: str) -> None:
    elements = Elements(render(EVERY[name], Style(language=language)))
    assert [found for found, _ in elements.found].count("h1") == 1
    names = [attributes["id"] for _, attributes in elements.found if attributes.get("id")]
    assert len(names) == len(set(names))
    linked = [a["href"] or "" for name, a in elements.found if name == "a"]
    assert all(link.startswith("#") and link[1:] in names for link in linked)


def test_nothing_is_loaded_and_nothing_else_runs() -> None:
    text = render(slow_save())
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    for name in ("script", "style"):
        [body] = re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy[1]
    elements = Elements(text)
    assert not [a for _, a in elements.found if a.keys() & {"src", "style", "onclick", "onload"}]
    assert [a["href"] for name, a in elements.found if name == "link"] == ["data:,"]


def test_hostile_text_is_text() -> None:
    told = hostile()
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' [a](http://b) \u202e"
    wait = Wait(call=CallRef(op=evil, description=evil), waiters=ranks(0), awaited=ranks(1))
    told = replace(
        told,
        excerpts={("x", 1): Excerpt(1, evil)},
        waits=Analysis(snapshot=Snapshot(waits=(wait,)), held_up=ranks(0)),
    )
    text = render(told)
    elements = Elements(text)
    assert [found for found, _ in elements.found].count("script") == 1
    assert "img" not in [found for found, _ in elements.found]
    assert "onerror" not in {key for _, attributes in elements.found for key in attributes}
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_the_culprit_stands_below_who_waits_for_it() -> None:
    told = replace(slow_save(), waits=waiting(awaited=0, of=4))
    view = drawn(told)
    assert [(str(box.ranks), box.role) for box in view.boxes] == [
        ("RankSpans('0')", "culprit"),
        ("RankSpans('1-3')", "waits"),
    ]
    [arrow] = view.arrows
    assert (arrow.source, arrow.target, arrow.kind) == (1, 0, "waits")
    assert arrow.label == "all_reduce #41 default_pg · 30 min"
    assert "ranks 1-3 wait for rank 0" in render(told)


def test_many_waits_are_summed_up_where_all_lead_to_the_culprit() -> None:
    """Rank 9's data parallel group waits for it, and each tensor parallel group for a member."""
    late, others = ranks(9), ranks(*range(80)) - ranks(9)
    column = ranks(*range(1, 80, 8)) - late
    waits = [Wait(call=CallRef(op="all_reduce"), waiters=column, awaited=late)]
    for first in range(0, 80, 8):
        row = ranks(*range(first, first + 8))
        behind = Wait(call=CallRef(seq=first), waiters=row - ranks(first + 1))
        waits.append(replace(behind, held=row & column, awaited=row & late))
    told = replace(slow_save(), culprits=late, victims=others)
    snapshot = Snapshot(waits=tuple(waits))
    view = drawn(replace(told, waits=Analysis(snapshot=snapshot, held_up=others)))
    assert sorted((len(box.ranks), box.role) for box in view.boxes) == [
        *((1, "culprit"), (16, "waits"), (63, "waits"))
    ]
    shown = [(len(view.boxes[a.source].ranks), len(view.boxes[a.target].ranks), a.label)
             for a in view.arrows]  # fmt: skip
    assert shown == [(16, 1, "2 calls"), (63, 16, "9 calls")]
    elsewhere = Wait(call=CallRef(seq=99), waiters=ranks(1), awaited=ranks(90))
    snapshot = Snapshot(waits=(*waits, elsewhere))
    view = drawn(replace(told, waits=Analysis(snapshot=snapshot, held_up=others)))
    assert len(view.boxes) > 3


def test_silence_is_drawn_as_a_guess() -> None:
    told = replace(
        EVERY["undetermined"], culprits=frozenset(), waits=waiting(awaited=3, of=4, unknown=True)
    )
    view = drawn(told)
    assert [arrow.kind for arrow in view.arrows] == ["guess"]
    assert [box.role for box in view.boxes] == ["waits", "unknown"]
    blamed = drawn(replace(told, culprits=ranks(3)))
    assert [(arrow.kind, blamed.boxes[arrow.target].role) for arrow in blamed.arrows] == [
        ("verdict", "culprit")
    ]


def test_a_verdict_without_a_recorded_wait_still_points_at_the_culprit() -> None:
    view = drawn(slow_save())
    assert [arrow.kind for arrow in view.arrows] == ["verdict"]


@pytest.mark.parametrize("size", [4, 1_024, 16_384])
def test_a_page_stays_small_however_many_ranks_there_are(size: int) -> None:
    text = render(large(size))
    Elements(text)
    assert len(text) < 400_000
    assert "heat-ranks" in text


def test_a_cell_shows_the_fault_of_one_rank_among_many() -> None:
    found = large(1_024).activity
    assert found is not None
    [strip] = found.fold([RankSpans.below(1_024)])
    assert strip[-1][1] is Activity.FAULT
    [strip] = found.fold([RankSpans.below(300)])
    assert [kind for _, kind in strip] == [Activity.WORK, Activity.WAIT]


def test_a_gap_is_a_gap() -> None:
    spans = {Rank(0): [ActivitySpan(0, 10, Activity.WORK), ActivitySpan(90, 100, Activity.WAIT)]}
    found = fold_spans(spans, ActivityBasis.LOG, columns=10)
    assert found is not None
    assert found.rows[0][1] == ((1, Activity.WORK), (8, None), (1, Activity.WAIT))


def test_the_lines_around_evidence_are_kept_with_their_numbers() -> None:
    told = slow_save()
    source = told.candidates[0].evidence[0]
    assert source.line is not None
    text = f"before\n<b>{source.text}</b>\nafter"
    excerpt = Excerpt(source.line - 1, text)
    page_text = render(replace(told, excerpts={(source.artifact, source.line): excerpt}))
    assert f"<mark>{source.line}  &lt;b&gt;{source.text[:20]}" in page_text
    assert f"{source.line + 1}  after" in page_text


def test_pages_of_other_commands_use_the_frame() -> None:
    body = table(["a", "b"], [["<x>", Html("<i>y</i>")]], "Sizes")
    sections = [
        Section(name="one", title="One", body=body),
        Section(name="no", title="No", body=None),
    ]
    text = page("Title", tag("h1", "T & U"), sections, "en", footer=["end"])
    elements = Elements(text)
    assert "&lt;x&gt;" in text
    assert "T &amp; U" in text
    assert "No" not in elements.said


def test_a_number_in_a_name_is_no_rank() -> None:
    assert "nb" not in prose("host gke-a3-2, rank 0 on 10.0.0-1 and node1-2")


def test_a_rank_without_a_record_has_a_row_of_gaps() -> None:
    spans = {Rank(n): [ActivitySpan(0, 10, Activity.WAIT)] for n in range(3)}
    found = fold_spans(spans, ActivityBasis.RECORDER, columns=10)
    told = replace(slow_save(), activity=found, culprits=ranks(3), victims=ranks(0, 1, 2))
    [drawn_rows] = re.findall(r'id="heat-ranks">(.*?)</script>', render(told))
    data = json.loads(drawn_rows)
    assert data["rows"][:4] == ["0", "1", "2", "3"]
    assert data["cells"][3] == [[10, ""]]


def test_prose_marks_names_and_keeps_ranks_together() -> None:
    assert prose("`<a>` 0-3,5 `") == '<code>&lt;a&gt;</code> <span class="nb">0-3,5</span> `'
