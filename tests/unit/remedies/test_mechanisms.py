"""The mechanism decides the remedy, not the cause alone."""

import pytest

from support.builders import by, incident, source
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Fix, Outcome
from unhang.model.events import (
    Event,
    ExceptionKind,
    NcclClass,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    PythonException,
    Reporter,
    StoreFault,
    StoreProblem,
)
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.remedies import suggest


def fixes(cause: Cause | None, *events: Event, **fields: object) -> tuple[Fix, ...]:
    verdict = Diagnosis(
        outcome=Outcome.LOCATED if cause is None else Outcome.CAUSE,
        cause=cause,
        summary=Message(key="summary.undetermined"),
        **fields,  # type: ignore[arg-type]
    )
    return suggest(incident(*events), verdict)[0]


def nccl(text: str) -> NcclFailure:
    return NcclFailure(
        source=source(text=text),
        origin=by(0),
        error_class=NcclClass.SYSTEM,
        reason=NcclReason.UNSPECIFIED,
        detail=text,
    )


def raised(exception: str, message: str) -> PythonException:
    return PythonException(
        source=source(text=f"{exception}: {message}"),
        origin=by(0),
        kind=ExceptionKind.USER,
        exception=exception,
        message=message,
    )


def store(problem: StoreProblem, host: str | None = None) -> StoreFault:
    return StoreFault(source=source(), origin=by(1), problem=problem, host=host)


@pytest.mark.parametrize(
    ("cause", "event", "first", "never"),
    [
        (
            Cause.RDMA_FAULT,
            nccl("NET/OFI Request failed: fi_cq_readerr, prov efa"),
            "efa_check",
            "ib_patience",
        ),
        (Cause.P2P_FAULT, nccl("ACS is enabled on a PCI switch"), "acs_off", "gid_index"),
        (
            Cause.RDMA_FAULT,
            nccl("NET/IB : Using [0]mlx5_0:1/IB [RO]; async event"),
            "ib_patience",
            "gid_index",
        ),
        (Cause.RDMA_FAULT, nccl("NET/IB : Using [0]mlx5_0:1/RoCE; async event"), "gid_index", ""),
        (
            Cause.RANK_EXCEPTION,
            raised("OSError", "[Errno 28] No space left on device"),
            "free_disk",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "Distributed package doesn't have NCCL built in"),
            "gloo_backend",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("NotImplementedError", "Using RTX 4000 series doesn't support"),
            "consumer_gpu",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "received 0 items of ancdata"),
            "share_by_files",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("OSError", "libnvidia-ml.so.1: cannot open shared object file"),
            "driver_library",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "mmap failed; increase vm.max_map_count"),
            "map_count",
            "fix_exception",
        ),
        (
            Cause.VERSION_MISMATCH,
            nccl("CUDA driver version is insufficient for CUDA runtime version"),
            "newer_driver",
            "change_version",
        ),
        (Cause.RENDEZVOUS, store(StoreProblem.KEY_TIMED_OUT), "late_rank", "one_endpoint"),
        (
            Cause.RENDEZVOUS,
            store(StoreProblem.CONNECT_TIMED_OUT, "127.0.0.1"),
            "late_rank",
            "one_endpoint",
        ),
        (
            Cause.RENDEZVOUS,
            store(StoreProblem.CONNECT_TIMED_OUT, "node-1"),
            "one_endpoint",
            "late_rank",
        ),
    ],
)
def test_the_words_of_the_evidence_decide(
    cause: Cause, event: Event, first: str, never: str
) -> None:
    remedies = [fix.remedy for fix in fixes(cause, event)]
    assert remedies[0] == first
    assert never not in remedies


def killed(rank: int) -> ProcessEnded:
    return ProcessEnded(
        source=source(), origin=by(), reporter=Reporter.ELASTIC, rank=Rank(rank), signal=9
    )


def test_a_kill_that_nobody_sent_is_most_often_memory() -> None:
    found = fixes(Cause.RANK_CRASH, killed(3), culprits=frozenset({Rank(3)}))
    assert found[0].remedy == "more_host_memory"


def test_a_rank_that_is_found_gets_advice_without_a_cause() -> None:
    found = fixes(None, killed(3), culprits=frozenset({Rank(3)}), phase=Phase.EVAL)
    assert [fix.remedy for fix in found][:1] == ["more_host_memory"]
    look = next(fix for fix in found if fix.remedy == "look_at_rank")
    assert "rank 3" in look.patch
    assert fixes(None, phase=None) == ()


def test_the_timeout_is_the_last_resort() -> None:
    for cause in (Cause.DATA_SLOW, Cause.EVAL_SLOW, Cause.COMPILE_SLOW):
        remedies = [fix.remedy for fix in fixes(cause)]
        if "longer_timeout" in remedies or "" in remedies:
            assert remedies[-1] in ("longer_timeout", "")
