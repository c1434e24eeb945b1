"""Ranks that work on while the others wait, and those that only seem to."""

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.rules.slow.works_on import check


def only(*lines: str) -> Finding:
    (found,) = judge_text(check, *lines)
    return found


def at(minute: int, rank: int, text: str) -> str:
    return f"[2026-11-21 01:{minute:02d}:00 r{rank}] {text}"


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("polygon eval {}/900", Cause.EVAL_SLOW),
        ("uploading part {}/900", Cause.CHECKPOINT_SLOW),
        ("fetched {}/900 shards", Cause.DATA_SLOW),
        ("compiled {} of 900 kernels", Cause.COMPILE_SLOW),
    ],
)
@pytest.mark.parametrize("rank", [0, 3])
def test_the_words_tell_what_it_was_at(words: str, cause: Cause, rank: int) -> None:
    lines = [at(minute, rank, words.format(minute)) for minute in (21, 25, 29)]
    others = [timed_out(other) for other in range(4) if other != rank]
    found = only(*lines, *others)
    assert (found.cause, found.strength) == (cause, Strength.SUPPORTS)
    assert found.culprits == {rank}


def test_the_others_ended_the_same() -> None:
    lines = [f"judge[{rank}] batch 9 scored 24/24 answers" for rank in (0, 1, 3)]
    lines += [f"judge[2] batch 9 scored {done}/24 answers" for done in (4, 5, 6, 7)]
    found = only(*lines, *(timed_out(rank) for rank in (0, 1, 3)))
    assert found.cause is Cause.UNEVEN_WORK
    assert found.culprits == {2}


def test_nobody_signs_but_one_alone_has_not_ended() -> None:
    lines = [f"[2026-11-21 01:20:0{rank} r{rank}] engine loaded, done" for rank in (0, 1, 2)]
    lines.append(at(20, 3, "engine of another GPU, rebuild"))
    lines += [
        f"[2026-11-21 01:{minute}:00] [TRT] autotuning, tactic {minute}" for minute in (21, 25, 29)
    ]
    found = only(*lines, *(timed_out(rank) for rank in (0, 1, 2)))
    assert found.cause is Cause.COMPILE_SLOW
    assert found.culprits == {3}


def test_others_say_that_they_wait() -> None:
    lines = [at(20, rank, "epoch done, waiting for the metric") for rank in (1, 2)]
    lines += [at(minute, 0, f"eval line {minute}/900") for minute in (21, 30, 40)]
    assert only(*lines).culprits == {0}


WORK = [at(minute, 0, f"polygon eval {minute}/900") for minute in (21, 25, 29)]


@pytest.mark.parametrize(
    "lines",
    [
        [*WORK, *map(timed_out, range(4))],  # it gave up as well
        [*WORK, at(29, 0, "polygon eval done"), *map(timed_out, (1, 2, 3))],
        [*WORK, at(29, 0, "waiting at the barrier"), *map(timed_out, (1, 2, 3))],
        [at(1, 0, "polygon eval 1/900"), *map(timed_out, (1, 2, 3))],  # long before the wait
        [*(at(m, 0, f"frobnicating {m}/900") for m in (21, 25, 29)), *map(timed_out, (1, 2, 3))],
        [
            *WORK,
            *(at(m, 1, f"polygon eval {m}/900") for m in (21, 25, 29)),
            *map(timed_out, (2, 3)),
        ],
        WORK,  # nobody waits
    ],
)
def test_nobody_is_named(lines: list[str]) -> None:
    assert not judge_text(check, *lines)


def test_beside_a_failure_it_is_a_hint() -> None:
    lines = [*raised(2, "ValueError: no such sample"), *WORK, *map(timed_out, (1, 3))]
    assert only(*lines).strength is Strength.HINTS
