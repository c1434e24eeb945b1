"""DETAIL mode: operations, shapes, parameters, numbers, and ranks that are elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from support.builders import incident
from support.crashes import raised
from support.steps import mismatch, ranks, runs, world
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Fingerprint
from unhang.model.finding import Strength
from unhang.model.ids import SeqId
from unhang.rules.desync import fingerprint_sizes_differ, fingerprints_differ

GATHER = runs("ALLGATHER", 1)
ELSEWHERE = Fingerprint(op=None, seq=SeqId(0))


def test_operations_differ() -> None:
    found = incident(
        mismatch(1, GATHER, 0, runs("BROADCAST", 1)), mismatch(2, GATHER, 0, runs("BROADCAST", 1))
    )
    (finding,) = fingerprints_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)
    assert finding.culprits == ranks(0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (runs("ALLGATHER", 41, 256), runs("ALLGATHER", 40, 256)),
        (runs("_ALLGATHER_BASE", 359, 1, 1435), runs("_ALLGATHER_BASE", 359, 1, 1436)),
        (runs("ALLREDUCE", 10), runs("ALLREDUCE", 12)),
        (runs("ALLREDUCE", 512), runs("ALLREDUCE", 512, dtype="Half")),
    ],
)
def test_shapes_and_types_of_data_differ(one: Fingerprint, other: Fingerprint) -> None:
    (finding,) = fingerprints_differ.check(incident(mismatch(1, one, 0, other), world(2)))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)
    assert finding.culprits == ranks(0, 1)


def test_flat_parameters_differ() -> None:
    found = incident(
        mismatch(0, runs("_ALLGATHER_BASE", 256), 1, runs("_ALLGATHER_BASE", 2048)), world(2)
    )
    (finding,) = fingerprint_sizes_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.MODEL_DIVERGENCE, Strength.SUPPORTS)
    assert list(fingerprints_differ.check(found)) == []


@pytest.mark.parametrize(("line", "cause"), [(88, Cause.MODEL_DIVERGENCE), (140, Cause.DESYNC)])
def test_sizes_differ_because_the_calls_do(line: int, cause: Cause, tmp_path: Path) -> None:
    """One number, and one operation, from two lines of the program."""
    sides = {0: ("ALLREDUCE", 497_464, line), 1: ("ALLREDUCE", 344_502, 88)}
    log = ""
    for rank, (op, size, place) in sides.items():
        other = sides[1 - rank]
        text = (
            "Traceback (most recent call last):",
            f'  File "/home/me/fit.py", line {place}, in work',
            "    dist.all_reduce(x)",
            "RuntimeError: Detected mismatch between collectives on ranks. Rank "
            f"{rank} is running collective: CollectiveFingerPrint(SequenceNumber=9, OpType={op}, "
            f"TensorShape=[{size}], TensorDtypes=Float), but Rank {1 - rank} is running collective:"
            f" CollectiveFingerPrint(SequenceNumber=9, OpType={other[0]}, "
            f"TensorShape=[{other[1]}], TensorDtypes=Float).",
        )
        log += "".join(f"[rank{rank}]: {part}\n" for part in text)
    (tmp_path / "job.log").write_text(log)
    assert unhang.diagnose(str(tmp_path / "job.log")).cause is cause


def test_one_rank_reduces_another_bucket() -> None:
    found = incident(
        mismatch(0, runs("ALLREDUCE", 497_464), 1, runs("ALLREDUCE", 344_502)),
        mismatch(5, runs("ALLREDUCE", 344_502), 0, runs("ALLREDUCE", 497_464)),
    )
    (finding,) = fingerprint_sizes_differ.check(found)
    assert finding.culprits == ranks(0)


def test_the_other_side_is_cut_off() -> None:
    (finding,) = fingerprints_differ.check(incident(mismatch(0, GATHER), world(2)))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)
    assert finding.culprits == frozenset()


def test_a_rank_that_is_elsewhere_proves_nothing() -> None:
    found = incident(mismatch(1, GATHER, 7, ELSEWHERE))
    (finding,) = fingerprints_differ.check(found)
    assert finding.strength is Strength.HINTS
    assert finding.culprits == ranks(7)


def test_barriers_with_numbers_close_together_are_a_hint() -> None:
    found = incident(mismatch(13, runs("BARRIER", seq=43), 0, runs("BARRIER", seq=45)))
    (finding,) = fingerprints_differ.check(found)
    assert finding.strength is Strength.HINTS


def test_later_mismatches_are_echoes_of_the_first() -> None:
    found = incident(
        mismatch(1, runs("ALLREDUCE", 8, seq=40), 0, runs("BARRIER", seq=40), line=9),
        mismatch(2, runs("ALLGATHER", 8, seq=21), 0, runs("REDUCE", 8, seq=21), line=5),
    )
    (finding,) = fingerprints_differ.check(found)
    assert finding.claim.values["ops"] == {"ALLGATHER", "REDUCE"}


def test_its_own_exception_is_no_rival() -> None:
    error = raised(1, "RuntimeError", kind=ExceptionKind.MISMATCH, line=4)
    found = incident(error, mismatch(1, GATHER, 0, runs("BROADCAST", 1)))
    (finding,) = fingerprints_differ.check(found)
    assert finding.strength is Strength.PROVES


def test_an_earlier_exception_is_a_rival() -> None:
    found = incident(raised(3, line=1), mismatch(1, GATHER, 0, runs("BROADCAST", 1)))
    (finding,) = fingerprints_differ.check(found)
    assert finding.strength is Strength.SUPPORTS


def test_without_a_mismatch_there_is_nothing_to_say() -> None:
    assert list(fingerprints_differ.check(incident())) == []
    assert list(fingerprint_sizes_differ.check(incident())) == []
