"""DETAIL-mode mismatches and monitored barriers."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import BarrierMissing, Fingerprint, FingerprintMismatch
from unhang.model.ids import SeqId
from unhang.parsers.wrapper import WrapperParser

OPTIONS = (
    "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), "
    "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
)
HEAD = "RuntimeError: Detected mismatch between collectives on ranks. "


def mismatch(text: str) -> FingerprintMismatch:
    return only(FingerprintMismatch, feed(WrapperParser, text))


def test_both_sides() -> None:
    found = mismatch(
        f"{HEAD}Rank 2 is running collective: CollectiveFingerPrint(SequenceNumber=21, "
        f"OpType=ALLREDUCE, TensorShape=[10, 3], TensorDtypes=Float, TensorDeviceTypes={OPTIONS}), "
        "but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=21, "
        f"OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long, TensorDeviceTypes={OPTIONS})."
        "Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST"
    )
    assert (found.rank, found.other_rank) == (2, 0)
    assert found.runs == Fingerprint(
        op="ALLREDUCE", seq=SeqId(21), shape=(10, 3), dtype="Float", device="cuda"
    )
    assert found.other_runs == Fingerprint(
        op="BROADCAST", seq=SeqId(21), shape=(1,), dtype="Long", device="cuda"
    )


def test_the_old_form_has_one_side_and_no_number() -> None:
    found = mismatch(
        f"{HEAD}Rank 1 is running inconsistent collective: CollectiveFingerPrint("
        f"OpType=ALLGATHER, TensorShape=[40, 8], TensorDtypes=Float, TensorDeviceTypes={OPTIONS})"
    )
    assert (found.rank, found.runs.seq, found.runs.shape) == (1, None, (40, 8))
    assert found.other_rank is None


def test_a_barrier_has_no_tensor_and_no_comma() -> None:
    found = mismatch(
        f"{HEAD}Rank 13 is running collective: CollectiveFingerPrint(SequenceNumber=17"
        "OpType=BARRIER), but Rank 0 is running collective: CollectiveFingerPrint("
        "SequenceNumber=45OpType=BARRIER).Collectives differ"
    )
    assert (found.runs.op, found.runs.seq) == ("BARRIER", 17)
    assert found.other_runs == Fingerprint(op="BARRIER", seq=SeqId(45))


def test_an_empty_fingerprint_means_elsewhere() -> None:
    found = mismatch(
        f"{HEAD}Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=101, "
        f"OpType=ALLGATHER, TensorShape=[1], TensorDtypes=Long, TensorDeviceTypes={OPTIONS}), "
        "but Rank 7 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE)."
    )
    assert found.other_runs == Fingerprint(op=None, seq=SeqId(0))


def test_a_cut_second_side_is_unknown() -> None:
    found = mismatch(
        f"{HEAD}Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=101, "
        f"OpType=ALLGATHER, TensorShape=[1], TensorDtypes=Long, TensorDeviceTypes={OPTIONS}), "
        "but Rank 7 is running collective: CollectiveFingerPrint(SequenceNum"
    )
    assert (found.other_rank, found.other_runs) == (7, None)


def test_trace_output_is_no_mismatch() -> None:
    text = "[Rank 0] Running collective: CollectiveFingerPrint(SequenceNumber=3, OpType=ALLREDUCE)"
    assert feed(WrapperParser, text) == []


@pytest.mark.parametrize(
    ("text", "missing", "limit"),
    [
        ("[Rank 0]: Rank 2 failed to pass monitoredBarrier in 3000 ms", {2}, 3000),
        ("[Rank 0]: Ranks 2, 13 failed to pass monitoredBarrier in 3000 ms", {2, 13}, 3000),
        ("[Rank 0]: Rank 2 timed out in monitoredBarrier after 5000 ms.", {2}, 5000),
        ("barrier failed -- missing ranks: 1, 4", {1, 4}, None),
    ],
)
def test_the_barrier_names_who_is_missing(text: str, missing: set[int], limit: int | None) -> None:
    found = only(BarrierMissing, feed(WrapperParser, line(text, rank=0)))
    assert found.missing == missing
    assert (found.timeout_ms, found.direct) == (limit, True)
    assert found.reporter == 0


def test_who_reached_the_barrier_is_a_victim() -> None:
    found = only(
        BarrierMissing,
        feed(
            WrapperParser,
            "Rank 3 successfully reached monitoredBarrier, but received errors while waiting for "
            "send/recv from rank 0. Please check rank 0 logs for faulty rank.",
        ),
    )
    assert found.missing == {0}
    assert (found.reporter, found.direct) == (3, False)
