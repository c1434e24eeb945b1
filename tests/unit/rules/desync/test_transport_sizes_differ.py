"""Bytes that the transport did not expect."""

from __future__ import annotations

from support.builders import by, incident, source
from support.crashes import gone, raised
from support.steps import ranks, sizes_mixed_by_gloo
from unhang.model.causes import Cause
from unhang.model.events import (
    GlooFault,
    GlooProblem,
    HoldUp,
    NcclFailure,
    NcclReason,
    Reporter,
    Stage,
    SuspicionReason,
)
from unhang.model.finding import Strength
from unhang.rules.desync.transport_sizes_differ import check


def test_gloo_proves_it() -> None:
    (finding,) = check(incident(sizes_mixed_by_gloo()))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)


def test_the_last_calls_of_the_others_name_who_was_elsewhere() -> None:
    told = HoldUp(
        source=source(9),
        origin=by(0),
        charge=SuspicionReason.MISMATCH,
        stage=Stage.WATCHED,
        culprits=ranks(3),
        victims=ranks(0, 1, 2),
        move="all_reduce of 1 float32 in f (t.py):4",
    )
    (finding,) = check(incident(sizes_mixed_by_gloo(), told))
    assert (finding.culprits, finding.strength) == (ranks(3), Strength.PROVES)
    assert list(check(incident(told))) == []


def test_the_abort_that_it_ends_in_is_no_rival() -> None:
    abort = gone(0, signal=6, reporter=Reporter.SELF, line=4)
    (finding,) = check(incident(abort, sizes_mixed_by_gloo()))
    assert finding.strength is Strength.PROVES


def test_an_earlier_failure_is_a_rival() -> None:
    (finding,) = check(incident(raised(2, line=1), sizes_mixed_by_gloo()))
    assert finding.strength is Strength.SUPPORTS


def test_nccl_only_supports_it() -> None:
    warning = NcclFailure(
        source=source(3),
        origin=by(0),
        reason=NcclReason.SIZE_MISMATCH,
        detail="local size 8192 remote size 4096",
        warning=True,
    )
    (finding,) = check(incident(warning))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)
    assert finding.against is not None


def test_a_closed_pair_is_an_echo() -> None:
    closed = GlooFault(source=source(3), origin=by(0), problem=GlooProblem.PEER_CLOSED)
    assert list(check(incident(closed))) == []
