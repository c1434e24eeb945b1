"""Logs named after pods, and what the cluster says of these pods, are of one job."""

from __future__ import annotations

from pathlib import Path

import unhang
from unhang.model.causes import Cause

EVENTS = """\
$ kubectl get events
3m    Normal    Preempted   pod/{job}-worker-0    Preempted by ops/eval on node n7
3m    Normal    Killing     pod/{job}-worker-0    Stopping container main
"""
LOST = """\
Traceback (most recent call last):
  File "fit.py", line 9, in <module>
    loss.backward()
RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.1.2.3]:3184
"""


def steps(total: int) -> str:
    lines = (f"epoch 2 step {step}/{total} loss 2.0" for step in range(0, 200, 10))
    return "\n".join(lines) + "\n"


def folder(at: Path, *, other: int = 900) -> Path:
    (at / "launcher-0.log").write_text(steps(900) + LOST)
    (at / "worker-0.log").write_text(steps(other))
    (at / "pods.txt").write_text(EVENTS.format(job="t5-large"))
    return at


def test_the_cluster_names_who_was_stopped(tmp_path: Path) -> None:
    found = unhang.diagnose(folder(tmp_path))
    assert found.cause is Cause.EXTERNAL_STOP
    assert not found.problems


def test_names_of_members_tie_whatever_they_count(tmp_path: Path) -> None:
    found = unhang.diagnose(folder(tmp_path, other=750))
    assert found.cause is Cause.EXTERNAL_STOP
    assert not found.problems


def test_another_loop_is_another_job(tmp_path: Path) -> None:
    folder(tmp_path, other=750)
    (tmp_path / "worker-0.log").rename(tmp_path / "sweep.log")
    found = unhang.diagnose(tmp_path)
    assert found.cause is not Cause.EXTERNAL_STOP
    assert [Path(p.artifact).name for p in found.problems] == ["pods.txt"]


ECC = """\
[INFO] GE(71,python3):2026-11-05-08:00:44.010.221 [rank_table] RankID:13 device 5 server 10.7.0.5
[ERROR] RUNTIME(71,python3):2026-11-05-08:29:11.901.007 [a.cc:7]72 F: HBM multi bit ecc error
"""
WAITS = """\
[2026-11-05 08:00:00] iteration 1/900 loss 2.0
[2026-11-05 08:29:00] iteration 2/900 loss 2.0
EI0002: [PID: 22] 2026-11-05-08:59:41.220.118 The wait execution of the Notify register times out.
"""


def test_a_pod_s_folder_is_numbered_like_the_pods_of_the_only_set(tmp_path: Path) -> None:
    (tmp_path / "worker-1").mkdir()
    (tmp_path / "worker-1" / "plog-71.log").write_text(ECC)
    (tmp_path / "job-a-worker-0.log").write_text(WAITS)
    found = unhang.diagnose(tmp_path)
    assert found.cause is Cause.GPU_HARDWARE
    assert found.culprits == {13}
    (tmp_path / "job-b-worker-0.log").write_text(WAITS)
    assert unhang.diagnose(tmp_path).cause is None


def test_what_a_scheduler_answers_of_the_only_job(tmp_path: Path) -> None:
    answer = '{\n  "jobs": [{\n    "statusReason": "Host EC2 (instance i-1) terminated."\n  }]\n}\n'
    (tmp_path / "train.log").write_text(steps(900) + LOST)
    (tmp_path / "one.json").write_text(answer)
    assert unhang.diagnose(tmp_path).cause is Cause.EXTERNAL_STOP
    own = LOST.replace(
        "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection", "ValueError:"
    )
    (tmp_path / "train.log").write_text(steps(900) + own)
    assert unhang.diagnose(tmp_path).cause is Cause.RANK_EXCEPTION


def test_a_job_that_goes_on_needs_no_answer_of_a_scheduler(tmp_path: Path) -> None:
    evicted = "152m   Warning  Evicted   pod/x-w-3   The node was low on resource: memory.\n"
    (tmp_path / "events.txt").write_text("LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\n" + evicted)
    (tmp_path / "train.log").write_text(steps(900) + LOST + steps(900))
    assert unhang.diagnose(tmp_path).cause is not Cause.EXTERNAL_STOP
