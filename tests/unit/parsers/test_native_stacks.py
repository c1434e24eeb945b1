"""Frames of native crash stacks."""

import pytest

from support.feeding import feed
from unhang.parsers.native_stacks import NativeStacksParser


@pytest.mark.parametrize(
    "text",
    [
        " 1 0x00000000005ce34a cublasLt_for_cublas_ZZZ()  ???:0",
        "#3 0x00007f01c2 in cublasLtMatmulAlgoGetHeuristic () from /opt/lib/libcublasLt.so.12",
        "frame #4: <unknown function> + 0x5ce34a (0x7f in /opt/lib/libcublasLt.so.12)",
    ],
)
def test_the_library_is_said_once(text: str) -> None:
    assert len(feed(NativeStacksParser, text, text)) == 1


def test_a_message_about_the_library_is_no_frame() -> None:
    assert feed(NativeStacksParser, "set the cublasLt workspace size before the first call") == []
