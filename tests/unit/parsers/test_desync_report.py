"""The desync report, whole and cut."""

from support.feeding import feed
from unhang.model.events import DesyncReported
from unhang.parsers.desync_report import DesyncReportParser


def reports(*lines: str) -> list[DesyncReported]:
    return [e for e in feed(DesyncReportParser, *lines) if isinstance(e, DesyncReported)]


def test_the_whole_report() -> None:
    found = reports(
        "\t - [7] Timeout at collective: ALLREDUCE, #1182",
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:",
        "\t   - [3] finished collective #1181, but didn't join collective #1182 (count from 1)",
        "\t     [0, 1, 2, 4] joined but didn't finish collective #1182 (count from 1)",
        "\t - Snapshot of ranks' latest states:",
        "\t   #1181 finished ranks:",
        "\t     [3] finished ALLREDUCE",
        "\t   #1182 started ranks:",
        "\t     [0, 1, 2, 4, 5, 6, 7] started ALLREDUCE",
    )
    absent, joined, snapshot = found
    assert absent.absent == {3}
    assert absent.seq == 1182
    assert joined.joined == {0, 1, 2, 4}
    assert joined.absent == frozenset()
    assert snapshot.absent == {3}
    assert (snapshot.seq, snapshot.op) == (1182, "ALLREDUCE")
    assert snapshot.joined == {0, 1, 2, 4, 5, 6, 7}


def test_ranks_that_never_joined() -> None:
    (found,) = reports(
        "\t - To our best knowledge, ranks [3, 11] are the lagging ranks that caused this timeout. "
        "They never joined any collectives"
    )
    assert found.never_joined
    assert found.absent == {3, 11}


def test_all_joined_accuses_nobody() -> None:
    (found,) = reports("   - [0, 1, 2, 3] joined but didn't finish collective #39 (count from 1)")
    assert found.absent == frozenset()
    assert found.joined == {0, 1, 2, 3}


def test_a_snapshot_without_its_first_headline() -> None:
    (found,) = reports(
        "             [0] finished _REDUCE_SCATTER_BASE",
        "           #330 started ranks:",
        "             [1] started _REDUCE_SCATTER_BASE",
    )
    assert found.joined == {1}
    assert found.absent == {0}
    assert found.seq == 330


def test_a_rank_that_finished_a_later_collective_is_not_behind() -> None:
    (found,) = reports(
        "   #12 started ranks:",
        "     [0, 1] started ALLREDUCE",
        "   #13 finished ranks:",
        "     [2] finished ALLREDUCE",
    )
    assert found.absent == frozenset()
