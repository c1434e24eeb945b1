"""Watchdog lines of torch 1.9 to 2.13, and what they are easily misread as."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import (
    CollectiveTimeout,
    GroupRef,
    GroupStatus,
    Teardown,
    WatchdogAborted,
)
from unhang.parsers.watchdog import WatchdogParser

ALARM = "Watchdog caught collective operation timeout: "
DEFAULT = GroupRef(guid="0", local_id=0, description="default_pg")


def timeout(text: str) -> CollectiveTimeout:
    return only(CollectiveTimeout, feed(WatchdogParser, text))


def status(text: str) -> GroupStatus:
    return only(GroupStatus, feed(WatchdogParser, text))


def test_the_oldest_form_has_neither_number_nor_size() -> None:
    found = timeout(
        f"[Rank 3] {ALARM}WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) "
        "ran for 1803170 milliseconds before timing out."
    )
    assert (found.group_rank, found.seq, found.op) == (3, None, "ALLREDUCE")
    assert (found.timeout_ms, found.elapsed_ms, found.numel_in) == (1_800_000, 1_803_170, None)


def test_the_form_of_1_12_may_have_a_shape() -> None:
    found = timeout(
        f"[Rank 0] {ALARM}WorkNCCL(SeqNum=41, OpType=BROADCAST, TensorShape=[1024, 768], "
        "Timeout(ms)=1800000) ran for 1800212 milliseconds before timing out."
    )
    assert (found.seq, found.shape) == (41, (1024, 768))


def test_the_form_since_2_1_has_sizes() -> None:
    found = timeout(
        f"[Rank 5] {ALARM}WorkNCCL(SeqNum=808, OpType=_ALLGATHER_BASE, NumelIn=512, "
        "NumelOut=4096, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    )
    assert (found.op, found.numel_in, found.numel_out) == ("_ALLGATHER_BASE", 512, 4096)
    assert found.blocking is False


def test_garbage_sizes_are_unknown() -> None:
    found = timeout(
        f"[Rank 5] {ALARM}WorkNCCL(SeqNum=2, OpType=RECV, NumelIn=18446744073709551615, "
        "NumelOut=0, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    )
    assert (found.numel_in, found.numel_out) == (None, 0)


def test_blanks_lost_at_a_wrap_do_not_matter() -> None:
    found = timeout(
        "[Rank 5] Watchdog caughtcollective operationtimeout:WorkNCCL(SeqNum=49209,OpType=REDUCE,"
        "NumelIn=1,NumelOut=1,Timeout(ms)=600000) ranfor 600020milliseconds before timing out."
    )
    assert (found.seq, found.op, found.elapsed_ms) == (49209, "REDUCE", 600_020)


def test_a_cut_message_still_tells_what_was_stuck() -> None:
    cut = f"[Rank 2] {ALARM}WorkNCCL(SeqNum=7, OpType=ALLGATHER, NumelIn=3, NumelOut=6, Timeout("
    found = timeout(cut)
    assert (found.seq, found.op, found.timeout_ms) == (7, "ALLGATHER", None)


@pytest.mark.parametrize("op", ["ALLGATHER", "_ALLGATH", "A", ""])
def test_a_name_without_its_delimiter_may_be_another_one(op: str) -> None:
    found = timeout(f"[Rank 2] {ALARM}WorkNCCL(SeqNum=7, OpType={op}")
    assert found.seq == 7
    assert found.op is None


def test_the_teardown_line_names_the_group_of_the_time_out_inside_it() -> None:
    text = (
        "[PG ID 2 PG GUID 5(mesh_tp) Rank 2] Process group watchdog thread terminated with "
        f"exception: [Rank 2] {ALARM}WorkNCCL(SeqNum=40, OpType=ALLTOALL_BASE, NumelIn=8, "
        "NumelOut=8, Timeout(ms)=1800000) ran for 1800018 milliseconds before timing out."
    )
    events = feed(WatchdogParser, line(text, cpp=2057))
    found = only(CollectiveTimeout, events)
    assert found.group == GroupRef(guid="5", local_id=2, description="mesh_tp")
    assert only(WatchdogAborted, events).reason is Teardown.TIMEOUT


def test_blocking_wait() -> None:
    found = timeout(
        "[Rank 1] Work WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=10, NumelOut=10, "
        "Timeout(ms)=30000) timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1)."
    )
    assert found.blocking
    assert found.elapsed_ms is None


def test_a_work_that_nccl_failed_did_not_time_out() -> None:
    text = (
        "[Rank 1] Collective WorkNCCL(SeqNum=3, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
        "Timeout(ms)=30000) raised the following async exception: NCCL error: remote process "
        "exited or there was a network error"
    )
    assert feed(WatchdogParser, text) == []


@pytest.mark.parametrize(
    ("text", "group"),
    [
        (
            "[PG 1 Rank 1] Timeout at NCCL work: 46, last enqueued NCCL work: 49, "
            "last completed NCCL work: 45.",
            GroupRef(local_id=1),
        ),
        (
            "[PG 0 (default_pg) Rank 1] Exception (either an error or timeout) detected by "
            "watchdog at work: 46, last enqueued NCCL work: 49, last completed NCCL work: 45.",
            GroupRef(local_id=0, description="default_pg"),
        ),
        (
            "[PG ID 2 PG GUID 3 Rank 1] Exception (either an error or timeout) detected by "
            "watchdog at work: 46, last enqueued NCCL work: 49, last completed NCCL work: 45.",
            GroupRef(guid="3", local_id=2),
        ),
        (
            "[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work "
            "sequence id: 46 PG status: last enqueued work: 49, last completed work: 45",
            DEFAULT,
        ),
        (
            "[PG ID 0PG GUID 0(default_pg)Rank 1]failure detected by watchdog at worksequence "
            "id: 46 PG status: last enqueued work: 49, last started work: 47, "
            "last completed work: 45",
            DEFAULT,
        ),
    ],
)
def test_status_of_all_versions(text: str, group: GroupRef) -> None:
    found = status(text)
    assert found.group == group
    assert found.group_rank == 1
    assert (found.failed, found.enqueued, found.completed) == (46, 49, 45)


def test_nothing_completed_is_minus_one_also_when_unsigned() -> None:
    for none in ("-1", "18446744073709551615"):
        found = status(
            "[PG ID 0 PG GUID 0 Rank 1]  failure detected by watchdog at work sequence id: 1 "
            f"PG status: last enqueued work: 1, last completed work: {none}"
        )
        assert found.completed == -1


def test_garbage_counters_are_unknown() -> None:
    found = status(
        "[PG 0 Rank 1] Timeout at NCCL work: 46, last enqueued NCCL work: 910344404, "
        "last completed NCCL work: 930344404."
    )
    assert (found.failed, found.enqueued, found.completed) == (46, None, None)


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("CUDA error: an illegal memory access was encountered", Teardown.CUDA),
        ("NCCL error: remote process exited or there was a network error", Teardown.NCCL),
        (f"[Rank 1] {ALARM}WorkNCCL(SeqNum=1", Teardown.TIMEOUT),
        ("traceMap[thisSeq][myRank].second == kEventStart INTERNAL ASSERT FAILED", Teardown.OTHER),
    ],
)
def test_why_a_watchdog_ended_its_process(why: str, reason: Teardown) -> None:
    for prefix in ("[PG 1 Rank 1] Process group", "[Rank 1] NCCL"):
        events = feed(WatchdogParser, f"{prefix} watchdog thread terminated with exception: {why}")
        assert only(WatchdogAborted, events).reason is reason


def test_the_teardown_sentence_alone_does_not_tell_why() -> None:
    text = "[Rank 1] To avoid data inconsistency, we are taking the entire process down."
    found = only(WatchdogAborted, feed(WatchdogParser, text))
    assert (found.reason, found.group_rank) == (Teardown.OTHER, 1)
