"""What another failure leaves behind accuses nobody, however its log is cut, thinned or renamed.

Each log is the smallest that once did: what it holds against somebody is an echo, the error of
somebody who only looked on, or work that was over.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from metamorphic.jobs import ORDER, judge
from metamorphic.test_any_change import ALL
from unhang.model.finding import Strength

_STEPS = [f"[rank0] step {n}/900 loss 2.{n}" for n in range(40, 60)]
_RAISED = (
    'Traceback (most recent call last):\n  File "/w/{file}.py", line 52, in {file}\n    {code}'
)
_GAVE_UP = (
    "[rank1]:[E303 22:24:40.118210001 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective"
    " operation timeout: WorkNCCL(SeqNum=301, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
    " Timeout(ms)=600000) ran for 600022 milliseconds before timing out."
)
_LOST = (
    "[rank{r}]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] "
    "Connection closed by peer [10.0.0.7]:41{r}00"
)

ECHOES = {
    "a worker is gone, and its engine cancels its reads": (
        [
            *_STEPS,
            "(EngineCore pid=420) ERROR 08-19 15:07:40 [ray_executor_v2.py:402] RayWorkerProc "
            "rank=[3] died unexpectedly, shutting down executor.",
            _RAISED.format(file="shm_broadcast", code='raise RuntimeError("cancelled")'),
            "RuntimeError: cancelled",
        ],
        {"rank_exception"},
        {3},
    ),
    "tools fail and are handled, then an actor dies": (
        [
            *_STEPS[:6],
            *(f"[rank0] WARNING tool {n}: ValueError: no such city" for n in range(6)),
            *_STEPS,
            _RAISED.format(file="main_ppo", code="output = ray.get(output)"),
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this"
            " task.",
            "\tpid: 31502\n\tname: pQ7w2mWorkerDict_0:1\n\tip: 10.21.4.77",
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR",
        ],
        {"rank_exception", "host_oom"},
        {1},
    ),
    "a client raises what its service told it": (
        [
            *_STEPS,
            _RAISED.format(file="run", code="estimator.fit(inputs)"),
            "ValueError: Error training r-7: Failed Reason: AlgorithmError: Exit Code: 139",
        ],
        {"rank_exception", "host_oom"},
        set(),
    ),
    "a save that was over before the evaluation": (
        [
            "[rank0] Saving checkpoint at 1 epochs",
            "[rank0] Validation: [ 10/600] time 1.1",
            "[rank0] Validation: [300/600] time 1.1",
            "[rank0] Validation: [590/600] time 1.1",
            "[rank0] Accumulating metric data...",
            _GAVE_UP,
        ],
        {"checkpoint_slow"},
        {0},
    ),
    "the peer of a connection says that it was closed": (
        [*(f"[rank{r}] world_size=4" for r in range(4)), *_STEPS]
        + [_LOST.format(r=r) for r in (0, 1, 3)],
        {"rank_exception", "net_interface"},
        {2},
    ),
    "a state of gRPC": (
        [
            *_STEPS,
            _RAISED.format(file="train", code="model.fit(ds)"),
            "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted"
            " by: Connection reset by peer",
        ],
        {"rank_exception"},
        set(),
    ),
}


@pytest.mark.parametrize("how", [None, *ALL])
@pytest.mark.parametrize("name", ECHOES)
def test_an_echo_accuses_nobody(name: str, how: str | None, tmp_path: Path) -> None:
    lines, never, known = ECHOES[name]
    files = {"job/train.log": ("\n".join(lines) + "\n").encode()}
    chance = random.Random(f"{name}{how}")
    for number in range(1 if how is None else 3):
        changed = files if how is None else ALL[how](files, chance)
        said = judge(changed, tmp_path / str(number))
        least = Strength.SUPPORTS if how is None else Strength.PROVES
        claimed = ORDER[said.strength] >= ORDER[least]
        assert not (claimed and said.cause in never), said
        assert said.culprits <= known, said
