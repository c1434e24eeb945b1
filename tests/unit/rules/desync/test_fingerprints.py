"""DETAIL mode compares each rank with rank 0: who reports tells who is odd."""

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


def test_the_only_rank_that_differs_from_rank_0_is_odd() -> None:
    assert odd(mismatch(3, SENDS, 0, REDUCES)) == {3}


def test_it_is_odd_too_where_the_other_side_is_cut_off() -> None:
    assert odd(mismatch(3, SENDS, 0, None)) == {3}


def test_two_ranks_are_two_camps() -> None:
    world = WorldSeen(source=source(), origin=by(), world_size=2)
    assert odd(world, mismatch(1, SENDS, 0, REDUCES)) == {0, 1}


def test_where_all_others_report_rank_0_is_odd() -> None:
    events = [mismatch(r, REDUCES, 0, SENDS) for r in (1, 2, 3)]
    assert odd(*events) == {0}


def test_rank_0_compares_itself_with_one_other_and_accuses_nobody_alone() -> None:
    assert odd(mismatch(0, SENDS, 1, REDUCES)) == {0, 1}
