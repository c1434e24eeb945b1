"""What torchfrtrace prints of dumps."""

from support.feeding import feed, only
from unhang.model.events import DesyncReported, FingerprintMismatch
from unhang.parsers.torchfrtrace import TorchfrtraceParser

ENTRY = (
    "internal record id: 40",
    "group info: 0:default_pg",
    "collective: nccl:all_reduce",
    "{missing}",
    "input sizes: [[64]]",
    "output sizes: [[64]]",
    "world size: 4",
    "expected ranks: {{0, 1, 2, 3}}",
    "collective state: scheduled",
    "{error}",
)


def entry(head: str, *, missing: str = "", error: str = "") -> list[str]:
    return [head, *(line.format(missing=missing, error=error) for line in ENTRY)]


def test_ranks_that_did_not_join() -> None:
    head = "Not all ranks joining collective, sequence number: 17"
    report = only(
        DesyncReported, feed(TorchfrtraceParser, *entry(head, missing="missing ranks: {1, 3}"))
    )
    assert (report.seq, report.op) == (17, "ALL_REDUCE")
    assert (set(report.absent), set(report.joined)) == ({1, 3}, {0, 2})
    assert report.by_tool


def test_a_rank_that_joins_another_call() -> None:
    head = "Collective sequence number: 17 has errors"
    error = (
        "error msg: Culprit rank 2; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type:"
        " 'all_reduce' does not match found collective type: 'broadcast'"
    )
    events = feed(TorchfrtraceParser, *entry(head, error=error))
    told = [e for e in events if isinstance(e, FingerprintMismatch)]
    assert {e.other_rank for e in told} == {0, 1, 3}
    assert {(e.rank, e.runs.op) for e in told} == {(2, "BROADCAST")}
    assert {e.other_runs.op for e in told if e.other_runs} == {"ALL_REDUCE"}


def test_states_that_differ_tell_nothing() -> None:
    head = "Collective sequence number: 17 has errors"
    error = "error msg: Culprit rank 2; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: 'a'"
    assert not feed(TorchfrtraceParser, *entry(head, error=error))


def test_without_its_head_a_line_is_somebody_else_s() -> None:
    assert not feed(TorchfrtraceParser, *entry("summary", missing="missing ranks: {1}"))
