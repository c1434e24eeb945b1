"""Work that a longer time-out would have let end."""

from dataclasses import replace

import pytest

from support.builders import at, by, source, timeout
from support.job_text import judge_text, timed_out
from support.phase_builders import bar, begun, findings, strength
from unhang.model.events import Fingerprint, FingerprintMismatch, PhaseMark, Progress
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.slow.timeout_too_short import check


def test_work_near_its_end_is_a_hint_beside_the_work_itself() -> None:
    events = (bar(Phase.DATA, elapsed_s=610, remaining_s=300), timeout(2, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_work_far_from_its_end_is_none() -> None:
    events = (bar(Phase.DATA, elapsed_s=610, remaining_s=9_000), timeout(2, numel=1, line=2))
    assert strength(check, *events) is None


def test_a_step_longer_than_the_timeout() -> None:
    events = (
        bar(Phase.TRAIN, done=10, elapsed_s=1_300),
        timeout(2, line=2, timeout_ms=100_000),
    )
    assert strength(check, *events) is Strength.SUPPORTS


def test_a_step_almost_as_long_is_a_hint() -> None:
    events = (
        bar(Phase.TRAIN, done=10, elapsed_s=900),
        timeout(2, line=2, timeout_ms=100_000),
    )
    assert strength(check, *events) is Strength.HINTS


def test_short_steps_are_none() -> None:
    assert strength(check, bar(Phase.TRAIN, done=10, elapsed_s=20), timeout(2, line=2)) is None


def test_long_steps_of_ranks_that_differ_are_a_hint() -> None:
    mismatch = FingerprintMismatch(
        source=source(3),
        origin=by(0),
        rank=Rank(0),
        runs=Fingerprint(op="BARRIER"),
        other_rank=Rank(1),
        other_runs=Fingerprint(op="GATHER"),
    )
    events = (
        bar(Phase.TRAIN, done=10, elapsed_s=1_300),
        timeout(2, line=2, timeout_ms=100_000),
        mismatch,
    )
    assert strength(check, *events) is Strength.HINTS


def test_a_limit_that_nothing_can_keep() -> None:
    assert strength(check, timeout(2, line=2, timeout_ms=100)) is Strength.SUPPORTS
    assert strength(check, timeout(2, line=2, timeout_ms=30_000)) is None


def counts(rank: int, *states: tuple[float, int]) -> list[Progress]:
    """A count to 60 of one rank, by the clock."""
    return [
        replace(bar(None, done=done, total=60, rank=rank, line=n), at=at(when))
        for n, (when, done) in enumerate(states, start=1)
    ]


STEADY = ((0, 4), (250, 22), (500, 44))


def test_ranks_that_count_on_while_the_others_wait() -> None:
    alarm = timeout(1, numel=1, global_rank=1, line=9, when=650)
    (finding,) = findings(check, *counts(0, *STEADY), *counts(7, *STEADY), alarm)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {0, 7}


@pytest.mark.parametrize(
    ("rank", "states"),
    [
        (1, STEADY),  # it waits itself
        (0, ((0, 4), (40, 22), (80, 44))),  # it stood since
        (0, ((0, 1), (250, 2), (500, 3))),  # its end is far
        (0, ((0, 20), (250, 40), (500, 60))),  # it was done
    ],
)
def test_other_counts_tell_nothing(rank: int, states: tuple[tuple[float, int], ...]) -> None:
    alarm = timeout(1, numel=1, global_rank=1, line=9, when=650)
    assert findings(check, *counts(rank, *states), alarm) == []


def took(seconds: float, line: int) -> PhaseMark:
    """The end of some generation, with its length."""
    mark = begun(Phase.GENERATE, edge=PhaseEdge.END, line=line)
    return replace(mark, detail=f"Generation time: {seconds} seconds, 9511.8 tok/s")


@pytest.mark.parametrize(
    ("lengths", "told"),
    [((520.5, 590.0, 612.4), True), ((612.4,), False), ((700.0, 612.4), False), ((1, 2), False)],
)
def test_work_that_outgrew_the_timeout(lengths: tuple[float, ...], told: bool) -> None:
    *before, last = lengths
    events = [took(s, n) for n, s in enumerate(before, start=1)]
    found = findings(check, *events, timeout(2, numel=1, line=8), took(last, 9))
    assert [f.strength for f in found] == ([Strength.SUPPORTS] if told else [])
    assert findings(check, *events, took(last, 7), timeout(2, numel=1, line=8)) == []


@pytest.mark.parametrize(("last", "names"), [(630, {0}), (540, None)])
def test_a_save_that_outgrew_the_limit_is_of_the_one_that_did_not_wait(
    last: int, names: set[int] | None
) -> None:
    lines = [f"[2026-11-21 00:{10 + 9 * n}:00] s_{n}.tar written ({500 + n} s)" for n in range(3)]
    waits = [timed_out(rank) for rank in (1, 2, 3)]
    late = f"[2026-11-21 01:31:50] s_3.tar written ({last} s)"
    found = [set(f.culprits) for f in judge_text(check, *lines, *waits, late)]
    assert found == ([] if names is None else [names])
