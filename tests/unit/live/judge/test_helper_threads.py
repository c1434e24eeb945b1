"""Which threads beside the main one may let a rank, or those that wait for it, go on."""

from __future__ import annotations

import pytest

from support.live_jobs import MAIN, PLACES
from unhang.live.judge.beat_stacks import where
from unhang.live.messages.reports import Beat, FramePlace

LIB = "/usr/lib/python3.11/"
THREAD = (
    FramePlace(f"{LIB}threading.py", 982, "run"),
    FramePlace(f"{LIB}threading.py", 1045, "_bootstrap_inner"),
)
WAITS = FramePlace(f"{LIB}threading.py", 327, "wait")
POOL = FramePlace(f"{LIB}concurrent/futures/thread.py", 81, "_worker")


@pytest.mark.parametrize(
    ("stack", "helped"),
    [
        ((FramePlace("/home/u/train.py", 12, "send_later"), *THREAD), True),
        ((FramePlace("train.py", 12, "send_later"), *THREAD), True),
        ((WAITS, *THREAD), True),
        ((POOL, *THREAD), False),
        ((FramePlace(f"{LIB}concurrent/futures/thread.py", 58, "run"), POOL, *THREAD), True),
        ((FramePlace("/home/u/train.py", 12, "ask"), POOL, *THREAD), True),
        ((FramePlace(f"{LIB}urllib/request.py", 1348, "do_open"), POOL, *THREAD), True),
        ((WAITS, FramePlace(f"{LIB}multiprocessing/queues.py", 231, "_feed"), *THREAD), False),
        ((WAITS, FramePlace("/e/site-packages/tqdm/_monitor.py", 60, "run")), False),
        ((FramePlace("/e/site-packages/vllm/engine.py", 9, "loop"), *THREAD), True),
    ],
    ids=[
        *("the program's", "a relative path", "a timer", "an idle pool", "a native task"),
        *("a task", "a request", "a feeder", "a progress bar", "a library's"),
    ],
)
def test_all_but_threads_that_wait_for_orders_may_act(
    stack: tuple[FramePlace, ...], helped: bool
) -> None:
    beat = Beat(host="gn1", pid=7, stack=(PLACES["lock"][0], MAIN), threads=(stack,))
    assert where(beat).helped is helped
