"""What a report shows, before it is set."""

from dataclasses import replace

import pytest

from support.diagnoses import EVERY, HOSTILE, located, ranks, slow_save, stuck_call, undetermined
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import Rank
from unhang.model.provenance import Message, Problem
from unhang.reporters.parts import PAGE, SCREEN, LabelledText, View
from unhang.reporters.view import view


def english(diagnosis: Diagnosis) -> View:
    return view(diagnosis, "en", SCREEN)


def test_the_facts_of_a_verdict() -> None:
    assert english(slow_save()).facts == (
        LabelledText(label="culprit", text="rank 0 on node-0"),
        LabelledText(label="waiting", text="ranks 1-3"),
        LabelledText(label="phase", text="saving a checkpoint"),
        LabelledText(
            label="stuck in",
            text="ALLREDUCE #808 of group default_pg, 9,801,523 elements,"
            " given up after 30 min (limit 30 min)",
        ),
        LabelledText(label="confidence", text="93 %: the evidence proves it"),
    )


def test_a_call_without_group_number_or_times() -> None:
    bare = replace(stuck_call(), group=None, seq=None, joins={})
    facts = english(replace(located(), call=bare)).facts
    assert facts[-1] == LabelledText(label="stuck in", text="unknown")


def test_a_call_with_two_operations_names_both_and_no_size() -> None:
    call = stuck_call()
    other = replace(call.joins[Rank(1)], rank=Rank(2), op="BROADCAST")
    mixed = replace(call, joins={**call.joins, Rank(2): other})
    text = english(replace(located(), call=mixed)).facts[-1].text
    assert text.startswith("ALLREDUCE and BROADCAST #808 of group default_pg, given up")


def test_rank_zero_alone_is_a_culprit_and_not_nothing() -> None:
    assert english(located()).facts[0] == LabelledText(label="culprit", text="rank 0")


def test_a_host_without_ranks_is_named() -> None:
    host = replace(located(), culprits=frozenset(), culprit_hosts=frozenset({"gpu-07"}))
    assert english(host).facts[0] == LabelledText(label="culprit", text="host gpu-07")


def test_paths_are_shown_below_their_common_folder() -> None:
    shown = english(slow_save())
    assert [quote.place for quote in shown.evidence] == ["rank0.log:412", "rank3.log:398"]
    assert "Paths are below runs/7/" in shown.footer


def test_lines_that_differ_in_numbers_only_are_shown_once() -> None:
    leading = slow_save().candidates[0]
    lines = tuple(
        replace(leading.evidence[1], line=n, text=f"[Rank {n}] gave up after {n}00 ms at 0x{n}f")
        for n in range(2, 9)
    )
    many = replace(leading, evidence=(leading.evidence[0], *lines))
    shown = english(replace(slow_save(), candidates=(many,))).evidence
    assert [quote.place for quote in shown] == ["rank0.log:412", "rank3.log:2"]
    assert [quote.more for quote in shown] == ["", "… and 6 more lines like it"]


def test_the_leading_candidate_is_the_verdict_and_the_rest_is_also_possible() -> None:
    shown = english(slow_save())
    assert [fact.label for fact in shown.others] == ["timeout_short (30 %)"]


def test_who_and_where_have_their_evidence_too() -> None:
    shown = english(located())
    assert shown.why == "What happened"
    assert [quote.place for quote in shown.evidence] == ["rank3.log:398"]
    assert shown.footer[-1] == "More: unhang explain LOC001"


def test_hints_are_candidates_where_nothing_is_decided() -> None:
    hints = replace(undetermined(), candidates=slow_save().candidates)
    shown = english(hints)
    assert [fact.label for fact in shown.others] == [
        "checkpoint_slow (93 %)",
        "timeout_short (30 %)",
    ]


def test_a_screen_writes_out_the_first_fix_and_a_page_writes_all() -> None:
    fix = slow_save().fixes[0]
    three = replace(slow_save(), fixes=(fix, fix, fix))
    screen = english(three)
    assert [len(remedy.patch) for remedy in screen.fixes] == [3, 0, 0]
    assert screen.more_fixes == "Use --format markdown to see all of them in full"
    page = view(three, "en", PAGE)
    assert [len(remedy.patch) for remedy in page.fixes] == [3, 3, 3]
    assert page.more_fixes == ""


def test_a_long_patch_is_cut_on_a_screen() -> None:
    long = replace(slow_save().fixes[0], patch="\n".join(f"line {n}" for n in range(40)))
    patch = english(replace(slow_save(), fixes=(long,))).fixes[0].patch
    assert (len(patch), patch[-1]) == (SCREEN.patch_lines, "…")


def test_what_was_not_seen() -> None:
    assert english(slow_save()).unseen == (
        "no line is known to be of rank 4: what happened there is unknown",
        "the launcher dropped 7 lines, so a missing message proves nothing",
    )
    assert english(located()).unseen == ("the input contains none of: live stacks, the kernel log",)


def test_of_a_culprit_that_signed_no_line_the_view_says_so() -> None:
    told = replace(slow_save(), culprits=ranks(4))
    assert english(told).unseen[0] == (
        "no line is signed by rank 4: the verdict rests on other evidence"
    )


def test_earlier_starts_take_a_line_each() -> None:
    assert english(slow_save()).earlier == ("start 1: gpu_oom. A GPU ran out of memory",)


def test_many_earlier_starts_and_problems_are_counted_not_listed() -> None:
    one = slow_save().earlier[0]
    earlier = tuple(replace(one, incarnation=n) for n in range(9))
    problems = tuple(
        Problem(artifact=f"{n}.bin", component="reader", message="x") for n in range(9)
    )
    shown = english(replace(slow_save(), earlier=earlier, problems=problems))
    assert shown.earlier[0] == "6 more; --format json lists all"
    assert shown.earlier[-1].startswith("start 9: ")
    assert shown.problems == ("0.bin: x", "1.bin: x", "2.bin: x", "6 more; --format json lists all")


def test_a_long_story_keeps_its_beginning_and_its_end() -> None:
    step = slow_save().story[0]
    story = tuple(replace(step, at=f"t{n}") for n in range(30))
    shown = english(replace(slow_save(), story=story)).story
    assert [s.at for s in shown] == ["t0", "t1", "t2", "", "t27", "t28", "t29"]
    assert shown[3].what == "… 24 more steps"
    assert len(view(replace(slow_save(), story=story), "en", PAGE).story) == 30


def test_a_thousand_ranks_take_one_line() -> None:
    many = replace(slow_save(), victims=ranks(*range(4), *range(5, 1_024)))
    assert LabelledText(label="waiting", text="ranks 0-3,5-1023") in english(many).facts


def texts(value: object) -> list[str]:
    """All texts inside a view."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in texts(item)]
    fields = getattr(value, "__dataclass_fields__", {})
    return [text for name in fields for text in texts(getattr(value, name))]


@pytest.mark.parametrize("name", EVERY)
def test_all_text_is_harmless(name: str) -> None:
    found = texts(english(EVERY[name]))
    assert found
    assert [text for text in found if not text.isprintable()] == []


def test_hostile_text_is_kept_as_far_as_it_is_text() -> None:
    quote = english(EVERY["hostile"]).evidence[0]
    assert "\x1b" in HOSTILE
    assert quote.text.startswith("[bold red]x[/] <img src=x onerror=alert(1)> `a`")


def test_every_outcome_has_a_badge() -> None:
    badges = {english(replace(undetermined(), outcome=outcome)).badge for outcome in Outcome}
    assert len(badges) == len(Outcome)


def test_a_message_of_an_unknown_key_is_shown_as_it_is() -> None:
    strange = replace(undetermined(), summary=Message(key="no.such.key"))
    assert english(strange).summary == "no.such.key"
