"""Calls: who joined, who is behind, who went past, who is silent."""

from support.builders import DEFAULT_PG, incident, source, status, timeout
from unhang.model.events import DesyncReported, GroupRef, WorldSeen
from unhang.model.ids import Rank, SeqId
from unhang.model.provenance import Origin


def test_ranks_at_one_number_make_one_call() -> None:
    found = incident(timeout(0), timeout(1), timeout(3))
    (call,) = found.calls
    assert call.joined == {0, 1, 3}


def test_the_rank_at_a_lower_number_is_absent_from_the_later_call() -> None:
    found = incident(
        timeout(0, 9, group=DEFAULT_PG),
        timeout(1, 9, group=DEFAULT_PG),
        timeout(2, 5, group=DEFAULT_PG),
    )
    late = next(c for c in found.calls if c.seq == 9)
    early = next(c for c in found.calls if c.seq == 5)
    assert late.absent == {2}
    assert early.passed == {0, 1}


def test_numbers_of_different_groups_are_not_compared() -> None:
    tp, dp = GroupRef(guid="3"), GroupRef(guid="4")
    found = incident(timeout(0, 9, group=tp), timeout(1, 5, group=dp))
    assert all(not call.absent and not call.passed for call in found.calls)


def test_the_status_line_names_the_group_of_the_time_out() -> None:
    found = incident(timeout(3, 7, global_rank=3), status(3, 7, 9, 6))
    (call,) = found.calls
    assert call.group == DEFAULT_PG
    assert call.joins[Rank(3)].enqueued == 9
    assert call.joins[Rank(3)].completed == 6


def test_silent_ranks_are_not_absent() -> None:
    world = WorldSeen(source=source(), origin=Origin(), world_size=4)
    found = incident(world, timeout(0, group=DEFAULT_PG), timeout(1, group=DEFAULT_PG))
    (call,) = found.calls
    assert call.silent == {2, 3}
    assert call.absent == frozenset()


def test_a_desync_report_names_the_absent_rank() -> None:
    report = DesyncReported(
        source=source(),
        origin=Origin(),
        absent=frozenset({Rank(2)}),
        joined=frozenset({Rank(0), Rank(1)}),
        seq=SeqId(7),
    )
    found = incident(timeout(0), timeout(1), report)
    assert found.calls[0].absent == {2}


def test_repeated_prints_of_one_time_out_are_one() -> None:
    found = incident(timeout(0, line=1), timeout(0, line=2), timeout(0, line=3))
    assert len(found.timeouts) == 1


def test_the_group_rank_is_global_only_where_nothing_contradicts() -> None:
    tp = GroupRef(guid="12", description="mesh_tp")
    found = incident(timeout(1, group=tp, global_rank=5), timeout(0, group=tp, global_rank=4))
    assert found.calls[0].joined == {4, 5}
