"""What torch logs in the name of a rank tells whose process it is."""

from __future__ import annotations

import pytest

from support.job_text import incident_of
from unhang.model.events import WorldSeen
from unhang.model.ids import Rank

RAY = "(WorkerDict pid={pid}) [rank{rank}]:W1121 08:19:32.861000 {pid} torch/fx/trace.py:56] slow"
LATE = (
    "Traceback (most recent call last):",
    '  File "/x/site-packages/ray/_private/worker.py", line 1053, in get_objects',
    "    raise value.as_instanceof_cause()",
    "ray.exceptions.RayTaskError(RuntimeError): ray::WorkerDict.compute_log_prob() (pid=4712, "
    "ip=192.0.2.2, actor_id=28502b1b, repr=<WorkerDict object at 0x7fe1>)",
    '  File "/x/site-packages/torch/distributed/distributed_c10d.py", line 3252, in all_reduce',
    "    work.wait()",
    "RuntimeError: [/x/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 12000ms for "
    "recv operation to complete",
)


def test_a_worker_of_ray_that_fails_has_a_rank() -> None:
    voices = (RAY.format(pid=4712, rank=1), RAY.format(pid=4711, rank=0))
    job = incident_of(*voices, *LATE)
    (failure,) = job.failures
    assert failure.rank == Rank(1)
    assert set(job.roster) == {0, 1}


def test_each_process_is_told_once() -> None:
    job = incident_of(*[RAY.format(pid=4711, rank=0)] * 3)
    assert len(job.all(WorldSeen)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "W1121 08:19:32.861000 4711 torch/distributed/run.py:774] an agent has no rank",
        "[rank0]:W1121 without a header",
        "[rank0]:[E1121 01:38:58.9 ProcessGroupNCCL.cpp:607] of C++, without a process",
    ],
)
def test_other_lines_tell_of_nobody(text: str) -> None:
    assert incident_of(text).all(WorldSeen) == ()
