"""LOC208, SLO202, NET202: what NCCL Inspector adds, and when it says nothing."""

from collections.abc import Callable

import pytest

from support.inspector_logs import log, record
from support.job_text import incident_of, judge_text, timed_out
from unhang.model.finding import Strength
from unhang.model.rule import Rule
from unhang.rules.locate.last_finished import check as LOC208
from unhang.rules.network.bandwidth_fell import check as NET202
from unhang.rules.slow.joins_late import check as SLO202
from unhang.verdict.rule_results import judge

ALL = (LOC208, NET202, SLO202)
GAVE_UP = [timed_out(rank) for rank in range(4)]


def logs(one: Callable[[int, int], str], *, ranks: int = 4, last: int = 40) -> dict[str, str]:
    """A log for each rank."""
    return {
        f"node1-pid{4000 + rank}.log": log(one(rank, seq) for seq in range(1, last + 1))
        for rank in range(ranks)
    }


def well(rank: int, seq: int) -> str:
    """Times scatter by a third."""
    return record(rank, seq, us=200 + 7 * ((rank + seq) % 10), gbps=180 - 5 * (seq % 7))


def late(rank: int, seq: int) -> str:
    """Rank 2 comes two seconds after the others."""
    return record(rank, seq, us=300 if rank == 2 else 2_000_300)


def fallen(rank: int, seq: int) -> str:
    """The network became twenty times slower."""
    slow = seq > 20
    return record(rank, seq, us=4_000 if slow else 200, gbps=9 if slow else 180)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_job_that_is_well_gives_no_finding(rule: Rule) -> None:
    assert judge_text(rule, "", **logs(well)) == []


def test_no_rule_at_all_speaks_of_a_job_that_is_well() -> None:
    assert judge(incident_of("", **logs(well))).findings == ()


def test_the_last_finished_collective_is_a_remark() -> None:
    (finding,) = judge_text(LOC208, *GAVE_UP, **logs(well))
    assert (finding.strength, finding.culprits) == (Strength.HINTS, frozenset())
    assert finding.claim.values["seq"] == 40
    assert judge_text(LOC208, "", **logs(well)) == []


def test_a_rank_that_is_late_again_and_again() -> None:
    (finding,) = judge_text(SLO202, *GAVE_UP, **logs(late))
    assert set(finding.culprits) == {2}
    assert finding.strength is Strength.HINTS
    assert judge_text(SLO202, "", **logs(late)) != []


def test_a_rank_that_is_late_by_much_of_the_timeout() -> None:
    def much(rank: int, seq: int) -> str:
        return record(rank, seq, us=300 if rank == 2 else 90_000_000)

    (finding,) = judge_text(SLO202, *GAVE_UP, **logs(much))
    assert finding.strength is Strength.SUPPORTS


def test_two_ranks_or_few_collectives_tell_nobody_late() -> None:
    assert judge_text(SLO202, *GAVE_UP, **logs(late, ranks=2)) == []
    assert judge_text(SLO202, *GAVE_UP, **logs(late, last=4)) == []


def test_small_delays_are_how_jobs_are() -> None:
    def little(rank: int, seq: int) -> str:
        return record(rank, seq, us=300 if rank == 2 else 50_000)

    assert judge_text(SLO202, *GAVE_UP, **logs(little)) == []


def test_bandwidth_that_fell() -> None:
    (finding,) = judge_text(NET202, *GAVE_UP, **logs(fallen))
    assert (finding.strength, finding.claim.values["after"]) == (Strength.SUPPORTS, 9.0)
    assert judge_text(NET202, "", **logs(fallen)) == []


def test_one_late_rank_does_not_make_the_network_slow() -> None:
    """All others wait for it, so that their bandwidth seems to fall."""

    def waiting(rank: int, seq: int) -> str:
        slow = seq > 20 and rank != 2
        return record(rank, seq, us=4_000 if slow else 200, gbps=9 if slow else 180)

    assert judge_text(NET202, *GAVE_UP, **logs(waiting)) == []


def test_the_log_of_one_rank_is_a_hint() -> None:
    (finding,) = judge_text(NET202, *GAVE_UP, **logs(fallen, ranks=1))
    assert finding.strength is Strength.HINTS
