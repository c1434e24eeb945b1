"""DETAIL mode compares each rank with ranks 0, 1, 2 … and reports the first that differs."""

from support.builders import by, incident, source
from unhang.model.events import Event, Fingerprint, FingerprintMismatch, WorldSeen
from unhang.model.ids import Rank, SeqId
from unhang.rules.desync.fingerprints import compare

REDUCES = Fingerprint(op="ALLREDUCE", seq=SeqId(9), shape=(64,))
SENDS = Fingerprint(op="BROADCAST", seq=SeqId(9), shape=(1,))


def mismatch(rank: int, runs: Fingerprint, other: int, other_runs: Fingerprint | None) -> Event:
    return FingerprintMismatch(
        source=source(rank + 1),
        origin=by(rank),
        rank=Rank(rank),
        runs=runs,
        other_rank=Rank(other),
        other_runs=other_runs,
    )


def odd(*events: Event) -> frozenset[Rank]:
    found = compare(incident(*events))
    assert found is not None
    return found.odd


def test_one_report_of_many_is_a_partial_log() -> None:
    """Whoever differs from anybody raises: with rank 3 alone, all others would report it."""
    assert odd(mismatch(3, SENDS, 0, REDUCES)) == set()
    assert odd(mismatch(3, SENDS, 0, None)) == set()


def test_who_reports_rank_2_agrees_with_ranks_0_and_1() -> None:
    assert odd(mismatch(3, REDUCES, 2, SENDS)) == {2}


def test_a_vote_needs_the_voters() -> None:
    events = [mismatch(r, REDUCES, 0, SENDS) for r in (1, 2)]
    for size, expected in ((3, {0}), (4, set())):
        world = WorldSeen(source=source(), origin=by(), world_size=size)
        assert odd(world, *events) == expected


def test_of_different_numbers_the_lower_one_is_behind() -> None:
    behind = Fingerprint(op="ALLREDUCE", seq=SeqId(8), shape=(64,))
    assert odd(mismatch(1, REDUCES, 0, behind)) == {0}


def test_two_ranks_are_two_camps() -> None:
    world = WorldSeen(source=source(), origin=by(), world_size=2)
    assert odd(world, mismatch(1, SENDS, 0, REDUCES)) == {0, 1}


def test_where_all_others_report_rank_0_is_odd() -> None:
    events = [mismatch(r, REDUCES, 0, SENDS) for r in (1, 2, 3)]
    assert odd(*events) == {0}


def test_rank_0_compares_itself_with_one_other_and_accuses_nobody_alone() -> None:
    assert odd(mismatch(0, SENDS, 1, REDUCES)) == {0, 1}
