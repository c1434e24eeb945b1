"""What each process was at when it last spoke, in any words."""

import pytest

from support.job_text import incident_of
from unhang.model.events import RankWork
from unhang.model.ids import Rank
from unhang.model.phases import Phase


def works(*lines: str, **more: str) -> dict[int | None, RankWork]:
    return {w.origin.rank: w for w in incident_of(*lines, **more).all(RankWork)}


@pytest.mark.parametrize(
    "head",
    [
        "[06-11 22:06:28 r{rank}]",
        "[rank {rank}]",
        "[valid r{rank}]",
        "judge[{rank}]",
        "I1120 08:10:00.100233 4002 tuner.cc:1041] [p{rank}]",
        "(WorkerDict pid=51006, ip=10.12.0.5) [rollout r{rank}]",
    ],
)
def test_who_speaks_in_many_forms(head: str) -> None:
    lines = [f"{head.format(rank=rank)} scored {2 + rank}/24" for rank in range(3)]
    found = works(*lines)
    assert set(found) == {0, 1, 2}
    assert {w.phase for w in found.values()} == {Phase.EVAL}


def test_numbers_that_do_not_count_from_zero_are_no_ranks() -> None:
    assert not works("trainer[551] scored 2/24", "trainer[551] scored 3/24")


def test_work_begins_where_training_ended() -> None:
    found = works(
        "[rank 0] decoding 3/9",
        "[rank 0] step 7 loss 2.51",
        "[rank 0] exporting 1/9",
        "[rank 0] exporting 2/9",
    )[0]
    assert (found.phase, found.first, found.lines) == (Phase.SAVE, 3, 2)


def test_the_ranks_of_a_node() -> None:
    (found,) = incident_of(
        "cache of node 2 (ranks 16-23): empty", "fetched 12/512 shards", "fetched 24/512 shards"
    ).all(RankWork)
    assert found.ranks == set(map(Rank, range(16, 24)))


@pytest.mark.parametrize(
    ("last", "ended", "waits"),
    [
        ("scored 24/24", True, False),
        ("scored 23/24", False, False),
        ("finished 160/512", False, False),
        ("batch 9 still not finished", False, False),
        ("evaluation done, waiting for rank 0", True, True),
    ],
)
def test_what_the_last_line_says(last: str, ended: bool, waits: bool) -> None:
    found = works(f"[rank 1] {last}")[1]
    assert (found.ended, found.waits_by_its_words) == (ended, waits)


def test_trouble_and_heartbeats_are_no_work() -> None:
    assert not works("[rank 1] heartbeat 12/60", "[rank 1] RuntimeError: 1/2 shards lost")
