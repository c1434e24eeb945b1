"""One process for each rank, whatever processes tell its number; fresh reports only."""

from __future__ import annotations

from unhang.live.judge.roster import Roster
from unhang.live.messages.reports import Beat, GroupBeat, NodeReport, ProcessFacts, ProcessReport
from unhang.model.ids import Rank


def process(
    pid: int,
    rank: int | None,
    *,
    ppid: int = 1,
    alive: bool = True,
    restart: int | None = None,
    local_rank: int | None = 0,
    groups: bool = False,
    under: int | None = None,
) -> ProcessReport:
    beat = Beat(
        host="gn1",
        pid=pid,
        ppid=ppid,
        process_started_s=float(pid),
        rank=None if rank is None else Rank(rank),
        local_rank=local_rank,
        restart=restart,
        groups={"0": GroupBeat(name="0")} if groups else {},
    )
    facts = ProcessFacts(alive=alive, under=under)
    return ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.1)


class Node:
    """Sends reports, one each second."""

    def __init__(self) -> None:
        self.roster = Roster()
        self.now_s = 100.0

    def report(self, *processes: ProcessReport, after_s: float = 1.0, took_s: float = 0.0) -> bool:
        self.now_s += after_s
        told = NodeReport(
            host="gn1", wall_s=0.0, mono_s=self.now_s - took_s, processes=tuple(processes)
        )
        return self.roster.hear(told, self.now_s)

    def seated(self) -> dict[int, int]:
        return {int(rank): track.beat.pid for rank, track in self.roster.by_rank.items()}


def test_processes_without_a_number_are_no_ranks() -> None:
    node = Node()
    node.report(process(10, None), process(11, 0), process(12, 1))
    assert node.seated() == {0: 11, 1: 12}


def test_helpers_of_a_rank_and_their_helpers_are_not_taken_for_it() -> None:
    node = Node()
    node.report(process(11, 0))
    node.report(process(11, 0), process(20, 0, ppid=11), process(21, 0, ppid=20))
    assert node.seated() == {0: 11}
    assert node.roster.begun == 0


def test_a_launcher_that_carries_the_number_of_its_node_gives_way_to_its_child() -> None:
    node = Node()
    node.report(process(10, 0, local_rank=None))
    assert node.seated() == {0: 10}
    node.report(process(10, 0, local_rank=None), process(11, 0, ppid=10))
    assert node.seated() == {0: 11}
    assert node.roster.begun == 0


def test_a_child_that_makes_process_groups_is_the_rank() -> None:
    node = Node()
    node.report(process(10, 0), process(11, 0, ppid=10, groups=True))
    assert node.seated() == {0: 11}


def test_a_new_start_replaces_all_and_the_old_ones_do_not_come_back() -> None:
    node = Node()
    node.report(process(11, 0), process(12, 1))
    old = (process(11, 0, alive=False), process(12, 1, alive=False))
    node.report(*old)
    node.report(*old, process(21, 0))
    node.report(*old, process(21, 0))
    assert node.seated() == {0: 21}
    node.report(*old, process(21, 0), process(22, 1))
    assert node.seated() == {0: 21, 1: 22}
    assert node.roster.begun == 1


def test_the_number_of_the_start_decides_where_it_is_known() -> None:
    node = Node()
    node.report(process(21, 0, restart=1))
    node.report(process(21, 0, restart=1), process(99, 1, restart=0))
    assert node.seated() == {0: 21}
    assert node.roster.restart == 1


def test_a_rank_that_is_started_anew_by_itself_leaves_the_others_seated() -> None:
    node = Node()
    node.report(process(11, 0), process(12, 1))
    node.report(process(11, 0), process(12, 1, alive=False), process(22, 1))
    assert node.seated() == {0: 11, 1: 22}


def test_a_process_that_is_told_of_no_more_has_ended() -> None:
    node = Node()
    node.report(process(11, 0), process(12, 1))
    node.report(process(11, 0))
    assert node.roster.by_rank[Rank(1)].ended


def test_reports_that_come_out_of_order_are_left_aside() -> None:
    node = Node()
    node.report(process(11, 0))
    assert not node.report(process(11, 0, alive=False), took_s=5.0)
    assert not node.roster.by_rank[Rank(0)].ended


def test_a_gap_and_a_late_report_begin_the_looks_anew() -> None:
    node = Node()
    for _ in range(5):
        node.report(process(11, 0))
    track = node.roster.by_rank[Rank(0)]
    assert track.looks == 5
    node.report(process(11, 0), after_s=30.0)
    assert track.looks == 0
    for _ in range(3):
        node.report(process(11, 0))
    assert track.looks == 3
    node.report(process(11, 0), after_s=4.0, took_s=3.2)
    assert track.looks == 0


def test_who_is_silent_is_known_whatever_the_order_of_the_hosts() -> None:
    roster = Roster()
    for now_s, hosts in ((1.0, "abc"), (4.0, "ca"), (5.5, "a")):
        for host in hosts:
            roster.hear(NodeReport(host=host, wall_s=0.0, mono_s=now_s, processes=()), now_s)
    assert [roster.silent(at_s) for at_s in (5.0, 5.5, 8.5, 20.0)] == [
        set(), {"b"}, {"b", "c"}, {"a", "b", "c"},
    ]  # fmt: skip


def test_a_host_that_was_started_anew_counts_from_a_new_clock() -> None:
    node = Node()
    node.report(process(11, 0))
    node.now_s += 600
    told = NodeReport(host="gn1", wall_s=0.0, mono_s=5.0, processes=(process(70, 0),))
    assert node.roster.hear(told, node.now_s)
    assert node.seated() == {0: 70}


def test_a_job_that_a_rank_has_started_for_itself_is_another_one() -> None:
    """Rank 0 runs an evaluation under a launcher of its own: its ranks count from 0 again."""
    node = Node()
    outer = [process(11, 0, groups=True), process(12, 1, groups=True)]
    inner = [process(31 + r, r, ppid=30, under=11, groups=True) for r in range(2)]
    for _ in range(5):
        node.report(*outer, *inner)
    assert node.seated() == {0: 11, 1: 12}
    assert not node.roster.contested(node.now_s)
    nested = node.roster.nested_in(node.roster.by_rank[Rank(0)])
    assert {int(rank): track.beat.pid for rank, track in nested.items()} == {0: 31, 1: 32}
    outer[1] = process(12, 1, groups=True, alive=False)
    inner[1] = process(32, 1, ppid=30, groups=True, alive=False)  # nobody can ask what has ended
    node.report(*outer, *inner)
    assert node.seated() == {0: 11, 1: 12}


def test_the_ranks_below_a_launcher_that_carries_a_number_are_the_job() -> None:
    node = Node()
    launcher = process(10, 0, local_rank=None)
    node.report(launcher)
    node.report(launcher, *(process(11 + r, r, ppid=10, under=10, groups=True) for r in range(2)))
    assert node.seated() == {0: 11, 1: 12}
