"""LOC209: the one rank that does not answer torch's debug server."""

from support.debug_pages import SAVES, WAITS, text_dump
from support.job_text import judge_text, timed_out
from unhang.model.finding import Strength
from unhang.rules.locate.gives_no_stack import check as LOC209


def test_the_rank_without_an_answer_is_named() -> None:
    (finding,) = judge_text(LOC209, "", **{"stacks.txt": text_dump([WAITS, WAITS, 408, WAITS])})
    assert set(finding.culprits) == {2}
    assert finding.strength is Strength.SUPPORTS
    assert "Rank 2" in finding.evidence[0].text


def test_while_nobody_waits_it_is_a_hint() -> None:
    text = text_dump([SAVES, SAVES, 503, SAVES])
    (finding,) = judge_text(LOC209, "", **{"stacks.txt": text})
    assert finding.strength is Strength.HINTS
    (finding,) = judge_text(LOC209, timed_out(0), **{"stacks.txt": text})
    assert finding.strength is Strength.SUPPORTS


def test_where_many_are_silent_it_is_the_server() -> None:
    assert judge_text(LOC209, "", **{"stacks.txt": text_dump([WAITS, 503, 503, WAITS])}) == []
    assert judge_text(LOC209, "", **{"stacks.txt": text_dump([503, 503])}) == []


def test_a_rank_that_answered_another_time_is_not_silent() -> None:
    texts = {"a.txt": text_dump([WAITS, WAITS, 408]), "b.txt": text_dump([WAITS, WAITS, SAVES])}
    assert judge_text(LOC209, "", **texts) == []
