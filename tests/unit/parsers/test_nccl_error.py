"""NCCL errors raised through frameworks."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import NcclClass, NcclFailure, NcclReason
from unhang.parsers.nccl_error import NcclErrorParser

HEAD = (
    "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/"
    "NCCLUtils.cpp:77, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version "
    "2.21.5"
)
CLASS = (
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device "
    "error. "
)
REFUSED = "socketStartConnect: Connect to 10.0.0.7<43211> failed : Connection refused"


def test_the_block_of_torch() -> None:
    event = only(NcclFailure, feed(NcclErrorParser, HEAD, CLASS, "Last error:", REFUSED))
    assert event.error_class is NcclClass.SYSTEM
    assert event.reason is NcclReason.CONNECT_REFUSED
    assert (event.nccl_version, event.peer, event.warning) == ("2.21.5", "10.0.0.7", False)
    assert event.source.line == 4


@pytest.mark.parametrize(
    "tail",
    [
        ("Last error:", "", REFUSED),
        ("Last error: " + REFUSED,),
        ("last error:", REFUSED),
    ],
)
def test_forms_of_the_last_error(tail: tuple[str, ...]) -> None:
    event = only(NcclFailure, feed(NcclErrorParser, HEAD, CLASS, *tail))
    assert event.reason is NcclReason.CONNECT_REFUSED


def test_without_a_last_error_the_class_is_all() -> None:
    event = only(NcclFailure, feed(NcclErrorParser, HEAD, CLASS))
    assert (event.error_class, event.reason) == (NcclClass.SYSTEM, NcclReason.UNSPECIFIED)


def test_a_stack_is_no_last_error() -> None:
    frame = "Exception raised from getNCCLComm at /pytorch/x.cpp:1 (most recent call first):"
    event = only(NcclFailure, feed(NcclErrorParser, HEAD, CLASS, "Last error:", frame))
    assert event.reason is NcclReason.UNSPECIFIED


def test_blocks_of_two_ranks_interleave() -> None:
    lines = [
        line(HEAD, rank=0, number=1),
        line(HEAD, rank=1, number=2),
        line("Last error:", rank=0, number=3),
        line("Last error:", rank=1, number=4),
        line("Cuda failure 'out of memory'", rank=1, number=5),
        line("Bootstrap : no socket interface found", rank=0, number=6),
    ]
    events = feed(NcclErrorParser, *lines)
    told = {e.origin.rank: e.reason for e in events if isinstance(e, NcclFailure)}
    assert told == {0: NcclReason.NO_INTERFACE, 1: NcclReason.CUDA_OOM}


def test_the_watchdog_is_asynchronous() -> None:
    text = (
        "[Rank 3] Process group watchdog thread terminated with exception: NCCL error: remote "
        "process exited or there was a network error, NCCL version 2.14.3"
    )
    event = only(NcclFailure, feed(NcclErrorParser, text))
    assert event.error_class is NcclClass.REMOTE
    assert event.asynchronous
    assert event.nccl_version == "2.14.3"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
            NcclClass.CUDA,
        ),
        ("RuntimeError: ncclAllReduce failed: invalid usage", NcclClass.USAGE),
        (
            "cupy_backends.cuda.libs.nccl.NcclError: NCCL_ERROR_SYSTEM_ERROR: unhandled "
            "system error",
            NcclClass.SYSTEM,
        ),
        (
            "node1: Test NCCL failure common.cu:1005 'internal error - please report this issue'",
            NcclClass.INTERNAL,
        ),
        (
            "RuntimeError: NCCL error in: ../c10d/ProcessGroupNCCL.cpp:825, invalid usage, NCCL "
            "version 2.7.8",
            NcclClass.USAGE,
        ),
        ("NCCL timeout in: ProcessGroupNCCL.cpp:10", NcclClass.TIMEOUT),
    ],
)
def test_other_frameworks(text: str, kind: NcclClass) -> None:
    event = only(NcclFailure, feed(NcclErrorParser, text))
    assert (event.error_class, event.reason) == (kind, NcclReason.UNSPECIFIED)


def test_jax_has_all_on_one_line() -> None:
    event = only(
        NcclFailure,
        feed(
            NcclErrorParser,
            "INTERNAL: nccl_utils.cc:305: NCCL operation ncclCommInitRank(&comm) failed: unhandled "
            "system error. Last NCCL warning(error) log entry (may be unrelated) 'Bootstrap : no "
            "socket interface found'.",
        ),
    )
    assert (event.error_class, event.reason) == (NcclClass.SYSTEM, NcclReason.NO_INTERFACE)


def test_duplicate_gpu_names_both_ranks() -> None:
    text = "Duplicate GPU detected : rank 3 and rank 0 both on CUDA device f000"
    event = only(NcclFailure, feed(NcclErrorParser, HEAD, "Last error:", text))
    assert event.ranks == {0, 3}
