"""NET015: what a setting that cures the hang tells."""

from __future__ import annotations

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.model.causes import Cause
from unhang.model.rule import Strength
from unhang.rules.network.setting_cures_it import check

WORDS = "with {}: no hang in ten runs"


@pytest.mark.parametrize(
    ("setting", "cause"),
    [
        ("NCCL_P2P_DISABLE=1", Cause.P2P_FAULT),
        ("NCCL_IB_DISABLE=1", Cause.RDMA_FAULT),
        ("NCCL_SOCKET_IFNAME=ens5", Cause.NET_INTERFACE),
        ("NCCL_LAUNCH_ORDER_IMPLICIT=1", Cause.PG_DEADLOCK),
    ],
)
def test_the_setting_tells_the_cause(setting: str, cause: Cause) -> None:
    (finding,) = judge_text(check, timed_out(0), timed_out(1), WORDS.format(setting))
    assert (finding.cause, finding.strength) == (cause, Strength.SUPPORTS)
    assert not finding.culprits


def test_two_different_cures_tell_nothing() -> None:
    words = [WORDS.format(s) for s in ("NCCL_P2P_DISABLE=1", "NCCL_IB_DISABLE=1")]
    assert judge_text(check, timed_out(0), *words) == []


def test_a_process_that_failed_by_itself_makes_it_a_hint() -> None:
    lines = [*raised(1, "ValueError: bad batch"), timed_out(0)]
    (finding,) = judge_text(check, *lines, WORDS.format("NCCL_P2P_DISABLE=1"))
    assert finding.strength is Strength.HINTS


def test_the_job_that_hung_had_it_already() -> None:
    launch = "+ NCCL_P2P_DISABLE=1 torchrun --nproc_per_node=2 train.py"
    words = WORDS.format("NCCL_P2P_DISABLE=1")
    assert judge_text(check, launch, timed_out(0), timed_out(1), words) == []


def test_the_good_end_is_that_of_the_trial() -> None:
    log = [
        "$ ./all_reduce_perf -b 8 -e 2G -g 2",
        "#       size         count      type   redop    root     time   algbw   busbw #wrong",
        "^C",
        "$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -b 8 -e 2G -g 2",
        "# Out of bounds values : 0 OK",
        "# Avg bus bandwidth    : 5.8",
    ]
    (finding,) = judge_text(check, "\n".join(log))
    assert finding.cause is Cause.P2P_FAULT
