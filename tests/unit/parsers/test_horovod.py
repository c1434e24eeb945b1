"""Horovod's stall reports name the ranks that did not come."""

from __future__ import annotations

from support.feeding import feed, only
from unhang.model.events import DesyncReported, FingerprintMismatch
from unhang.parsers.horovod import HorovodParser

HEAD = (
    "[2026-05-01 10:01:07.345988: W horovod/common/stall_inspector.cc:107] One or more tensors "
    "were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for "
    "remainder of ranks for more than 60 seconds."
)


def test_missing_ranks_stand_below_the_head() -> None:
    found = only(
        DesyncReported,
        feed(HorovodParser, HEAD, "Missing ranks:", "0: [grads/a, grads/b ...]", "3!: [grads/a]"),
    )
    assert found.absent == {0, 3}


def test_old_releases_name_them_behind_the_tensor() -> None:
    found = only(
        DesyncReported, feed(HorovodParser, HEAD, "Stalled ops:grads/a [missing ranks: 1, 2]")
    )
    assert found.absent == {1, 2}


def test_older_ones_say_who_came() -> None:
    tensors = "Stalled ops: Reduce/a [ready ranks: 3], Reduce/b [ready ranks: 0, 3]"
    found = only(DesyncReported, feed(HorovodParser, HEAD, tensors))
    assert found.joined == {0, 3}
    assert not found.absent
    assert found.all_joined


def test_where_each_tensor_has_a_line_some_may_be_lost() -> None:
    assert feed(HorovodParser, HEAD, "grads/a [ready ranks: 0, 3]") == []


def test_only_the_last_report_counts() -> None:
    lines = [HEAD, "Missing ranks:", "0: [a]", "step 7", HEAD, "Missing ranks:", "2: [b]"]
    assert only(DesyncReported, feed(HorovodParser, *lines)).absent == {2}


def test_a_block_without_a_head_tells_nothing() -> None:
    assert feed(HorovodParser, "Missing ranks:", "0: [a]") == []


def test_ranks_that_stall_again_and_again_with_tensors_of_their_own_submit_different_ones() -> None:
    report = (HEAD, "Stalled ops:", "a/grads [ready ranks: 0]", "b/grads [ready ranks: 1]")
    assert not feed(HorovodParser, *report), "both may still come"
    found = only(FingerprintMismatch, feed(HorovodParser, *report, *report))
    assert (found.rank, found.other_rank) == (1, 0)
    assert (found.runs.op, found.other_runs and found.other_runs.op) == ("b/grads", "a/grads")
    shared = (HEAD, "Stalled ops:", "a/grads [ready ranks: 0, 1]", "b/grads [ready ranks: 2]")
    assert not feed(HorovodParser, *shared, *shared)


def test_two_sides_that_lack_each_others_tensors() -> None:
    head = (
        "[2020-04-21 10:4{n}:18.4: W horovod/common/stall_inspector.cc:105] One or more tensors "
        "were submitted to be reduced, gathered or broadcasted by subset of ranks"
    )
    rows = ("Missing ranks:", "0: [grads_0 ...]", "1: [swa_kernel]", "2: [swa_kernel]")
    told = feed(HorovodParser, head.format(n=1), *rows, head.format(n=2), *rows)
    assert [(e.rank, e.other_rank) for e in told if isinstance(e, FingerprintMismatch)] == [
        (1, 0),
        (2, 0),
    ]
    once = feed(HorovodParser, head.format(n=1), *rows)
    assert not any(isinstance(e, FingerprintMismatch) for e in once)
