"""Work that a longer time-out would have let end."""

from support.builders import by, source, timeout
from support.phase_builders import bar, strength
from unhang.model.events import Fingerprint, FingerprintMismatch
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
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
