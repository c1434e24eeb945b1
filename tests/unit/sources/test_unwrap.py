"""Wrapped messages are joined; whole ones and those of others never."""

from __future__ import annotations

import re
import textwrap
import time

import pytest

from unhang.sources.clean import clean
from unhang.sources.peel import peel
from unhang.sources.unwrap import LineUnit, rejoin

C10 = "[rank3]:[E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607] "
TIMEOUT = (
    C10 + "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, "
    "OpType=ALLREDUCE, NumelIn=9801523, NumelOut=9801523, Timeout(ms)=600000) ran for 600020 "
    "milliseconds before timing out."
)
STATUS = (
    C10 + "[PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence "
    "id: 808 PG status: last enqueued work: 811, last completed work: 80799"
)
RESTART = (
    "W0801 10:00:12.000000 9 torch/distributed/elastic/agent/server/api.py:906] [default] Worker "
    "group FAILED. 2/3 attempts left; will restart worker group"
)
NOTICE = (
    C10 + "[Rank 3] Some NCCL operations have failed or timed out. Due to the asynchronous nature "
    "of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data."
)
MISMATCH = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank 2 is running collective: "
    "CollectiveFingerPrint(SequenceNumber=21, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes="
    "Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)), but Rank 0 is "
    "running collective: CollectiveFingerPrint(SequenceNumber=21, OpType=BROADCAST).Collectives "
    "differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST"
)


def join(*lines: str) -> list[str]:
    return [u.text for u in rejoin(LineUnit(number=n, text=t) for n, t in enumerate(lines, 1))]


def essence(message: str) -> str:
    """What must not be lost, without blanks."""
    return squeeze(re.split(r" before timing out| \t Op type", message)[0])


def squeeze(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("message", [TIMEOUT, STATUS, NOTICE, MISMATCH, RESTART])
@pytest.mark.parametrize("width", range(84, 220, 3))
@pytest.mark.parametrize("pad", [False, True])
def test_wrapped_inside_words(message: str, width: int, pad: bool) -> None:
    lines = [message[i : i + width] for i in range(0, len(message), width)]
    if pad:
        lines = [line.ljust(width + 7) for line in lines]
    joined = join("before", *lines, "[rank1]: ValueError: x", "after")
    needed = essence(message)
    assert squeeze(joined[1])[: len(needed)] == needed
    assert joined[-2:] == ["[rank1]: ValueError: x", "after"]


@pytest.mark.parametrize("message", [TIMEOUT, STATUS, MISMATCH])
@pytest.mark.parametrize("width", [90, 100, 120, 140, 180])
def test_wrapped_at_blanks(message: str, width: int) -> None:
    joined = join(*textwrap.wrap(message, width, break_long_words=False), "[rank1]: next")
    needed = essence(message)
    assert squeeze(joined[0])[: len(needed)] == needed
    assert joined[-1] == "[rank1]: next"


def test_the_wrapper_is_repeated_on_the_second_half() -> None:
    half = TIMEOUT.index("NumelIn")
    lines = ["(W pid=4) " + TIMEOUT[:half], "(W pid=4) " + TIMEOUT[half:]]
    assert join(*lines) == ["(W pid=4) " + TIMEOUT[:half].rstrip() + TIMEOUT[half:]]


def test_what_was_wrapped_and_then_quoted() -> None:
    half = TIMEOUT.index("Numel") + 3
    lines = ["> " + TIMEOUT[:half], "> " + TIMEOUT[half:]]
    assert join(*lines) == ["> " + TIMEOUT]


@pytest.mark.parametrize(
    "follower",
    [
        C10.replace("rank3", "rank1") + "[Rank 1] Watchdog",
        "[rank1]: ValueError: x",
        "(W pid=9) NumelIn=3, ran for 600020 milliseconds",
        "Traceback (most recent call last):",
        "RuntimeError: milliseconds",
        "[2026-06-02 11:17:52,557] [INFO] [launch.py:315:main] milliseconds",
        "node:5192:5325 [1] NCCL INFO milliseconds",
        "",
    ],
)
def test_a_message_of_its_own_is_never_swallowed(follower: str) -> None:
    lines = (TIMEOUT[: TIMEOUT.index("NumelIn")], follower)
    assert join(*lines) == list(lines)


def test_a_message_whose_end_never_comes_swallows_nothing() -> None:
    lines = (TIMEOUT[: TIMEOUT.index("NumelIn")], *(f"step {n} loss 2.1" for n in range(20)))
    assert join(*lines) == list(lines)


@pytest.mark.parametrize("message", [TIMEOUT, STATUS, NOTICE, MISMATCH, "Worker(a=1", "step 3"])
def test_whole_messages_stay_alone(message: str) -> None:
    assert join(message, "step 12: loss 3", "86 batches") == [
        message,
        "step 12: loss 3",
        "86 batches",
    ]


def test_a_gap_ends_the_message() -> None:
    half = TIMEOUT.index("NumelIn")
    units = [
        LineUnit(number=1, text=TIMEOUT[:half]),
        LineUnit(number=9, text=TIMEOUT[half:], gap=True),
    ]
    assert list(rejoin(iter(units))) == units


@pytest.mark.parametrize(
    "seed",
    ["[", "(", " ", "1:", "> ", "[rank1]", "\x1b[", "[PG ", "]: ", "WorkNCCL(", "but Rank ", "[E1"],
)
def test_long_nonsense_takes_linear_time(seed: str) -> None:
    line = seed * (60_000 // len(seed))
    started = time.process_time()
    list(peel(clean(line)))
    list(rejoin(iter([LineUnit(number=n, text=line[:4_000]) for n in range(20)])))
    assert time.process_time() - started < 2
