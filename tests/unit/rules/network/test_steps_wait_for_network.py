"""NET206: steps that mostly communicate over a slow way."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause

_SOCKETS = [
    f"nid{n}:70:71 [0] NCCL INFO {text}"
    for n in (1, 2)
    for text in ("Using network Socket", f"Channel 00/0 : {n}[1] -> {n + 1}[0] via NET/Socket/0")
]
_SAR = [
    "09:10:01 AM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   %ifutil",
    "09:10:01 AM      eno8  79022.04  80505.77 117702.62 117638.73      0.00     96.03",
]
_SLOW = [
    f"step {n} | fwd 0.51{n} bwd 1.0 rs+ag wait 8.8{n} opt 0.03 | data 0.004" for n in range(8)
]
_OTHER = [f"it {n} fwd_bwd=1.3{n}s grad_sync=3.7{n}s opt=0.08s" for n in range(8)]
_FAST = [f"step {n} | fwd 0.51{n} bwd 1.0 rs+ag wait 0.1{n} opt 0.03" for n in range(8)]
_RAISED = ["Traceback (most recent call last):", '  File "a.py", line 3, in f', "ValueError: bad"]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*_SOCKETS, *_SLOW], True),
        ([*_SOCKETS, *_OTHER], True),
        ([*_SLOW, *_SAR], True),
        ([*_SOCKETS, *_FAST], False),
        (_SLOW, False),
        ([*_SOCKETS, *_SLOW[:3]], False),
        ([*_SOCKETS, *_SLOW, *_RAISED], False),
    ],
    ids=["sockets", "other words", "full", "fast", "no slow way", "few", "raised"],
)
def test_communication_takes_most_of_a_step(lines: list[str], found: bool, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    cause = unhang.diagnose(str(tmp_path / "job.log")).cause
    assert (cause is Cause.BANDWIDTH_LOW) is found
