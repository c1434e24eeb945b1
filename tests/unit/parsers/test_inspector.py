"""NCCL Inspector's logs: what was finished last, and how long it took."""

from dataclasses import replace

from support.feeding import feed, line, only
from support.inspector_logs import record
from unhang.model.events import CollectivesMeasured
from unhang.parsers.inspector import InspectorParser


def told(*lines: str) -> CollectivesMeasured:
    return only(CollectivesMeasured, feed(InspectorParser, *lines))


def test_the_last_collective_and_the_pace() -> None:
    found = told(*(record(2, seq, us=100.0 + seq, gbps=200.0 - seq) for seq in range(1, 21)))
    assert (found.comm, found.comm_rank, found.size) == ("7f8c496ae9f661", 2, 4)
    assert (found.last_op, found.last_seq, found.exact) == ("AllReduce", 20, True)
    assert (found.origin.host, found.origin.pid) == ("node1", 4002)
    assert found.at is not None
    (pace,) = found.paces
    assert (pace.op, pace.size_bytes, pace.count) == ("AllReduce", 64 << 20, 20)
    assert (pace.typical_us, pace.early_gbps, pace.late_gbps) == (110.5, 195.5, 183.5)


def test_communicators_and_processes_stay_apart() -> None:
    events = feed(
        InspectorParser,
        record(0, 7, comm="aa"),
        record(0, 3, comm="bb", ranks=2),
        record(1, 6, comm="aa"),
        record(0, 8, comm="aa", op="AllGather"),
    )
    found = {
        (e.comm, e.comm_rank, e.last_op, e.last_seq)
        for e in events
        if isinstance(e, CollectivesMeasured)
    }
    assert found == {
        ("aa", 0, "AllGather", 8),
        ("bb", 0, "AllReduce", 3),
        ("aa", 1, "AllReduce", 6),
    }


def test_lines_that_were_skipped_leave_the_last_one_open() -> None:
    first, other, last = (
        line(record(0, 1, comm="aa"), number=1),
        line(record(0, 1, comm="bb"), number=2),
        replace(line(record(0, 900, comm="bb"), number=900), gap=True),
    )
    events = feed(InspectorParser, first, other, last)
    exact = {e.comm: e.exact for e in events if isinstance(e, CollectivesMeasured)}
    assert exact == {"aa": False, "bb": True}


def test_what_is_not_timed_on_the_gpu_tells_no_pace() -> None:
    assert told(record(0, 1, coll_timing_source="collective_cpu")).paces == ()
    assert told(record(0, 1, coll_exec_time_us=None)).paces == ()


def test_cut_and_strange_lines() -> None:
    whole = record(0, 5)
    events = feed(
        InspectorParser,
        whole,
        record(0, 6)[:-40],
        '{"header": 7, "coll_perf": [1]}',
        '{"header": {"rank": "x"}, "coll_perf": {}}',
        '["coll_perf"]',
    )
    assert only(CollectivesMeasured, events).last_seq == 5
