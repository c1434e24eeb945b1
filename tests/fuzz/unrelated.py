"""Files that people keep beside their logs and that tell of other jobs, or of none.

Each is written for this purpose. Put beside a job's own files, none may change the verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.50 GiB. GPU 1 has a total"
_KILL = "slurmstepd: error: Detected 1 oom_kill event in StepId=771203.0. Some of the step tasks"
_WATCHDOG = (
    "[Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE,"
    " NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600012 milliseconds before timing"
    " out."
)
_XID = "NVRM: Xid (PCI:0000:b1:00): 79, pid=912, GPU has fallen off the bus."
_TRACE = """\
Traceback (most recent call last):
  File "/srv/old/train.py", line 88, in <module>
    main()
  File "/srv/old/train.py", line 61, in main
    loader = build(cfg)
"""


def _chat() -> str:
    return f"""\
#ml-infra, exported by the archive bot

[10:41] mei: the sweep on the other cluster is dead again, can you look?
[10:42] jonas: yes, the step says this:
{_KILL} have been OOM Killed.
[10:42] jonas: so it is the host memory, not us
[10:44] mei: ok, I will ask for more and restart it tomorrow
[10:51] jonas: thanks! lunch?
"""


def _todo() -> str:
    return f"""\
TODO
- ask for two more nodes in March
- rank 3 crashed last week: torch.OutOfMemoryError, see the thread with Mei
- {_OOM} capacity of 79.15 GiB
- clean /scratch before Friday
- update the slides
"""


def _old_elastic() -> str:
    return """\
[2023-02-11 04:12:55,310] torch.distributed.elastic.multiprocessing.api: [ERROR] failed \
(exitcode: -11) local_rank: 2 (pid: 30911) of binary: /opt/conda/bin/python
============================================================
pretrain.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2023-02-11_04:12:55
  host      : viking-19.hpc.example.org
  rank      : 18 (local_rank: 2)
  exitcode  : -11 (pid: 30911)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 30911
============================================================
"""


def _healthy_job() -> str:
    steps = "".join(
        f"[2024-05-03 08:{n // 60:02}:{n % 60:02},100] [INFO] step {n}/300 loss {9 / (n + 3):.4f}\n"
        for n in range(0, 301, 10)
    )
    return (
        "W0503 08:00:00.000000 4100 torch/distributed/run.py:792] node fjord-02, 4 workers\n"
        + steps
        + "Training completed. Do not forget to share your model on huggingface.co/models =)\n"
        "{'train_runtime': 300.1, 'train_samples_per_second': 12.1, 'epoch': 1.0}\n"
        "Training complete\n"
    )


def _environment() -> str:
    return """\
PATH=/usr/local/bin:/usr/bin:/bin
WORLD_SIZE=512
RANK=311
LOCAL_RANK=7
MASTER_ADDR=viking-01
MASTER_PORT=29511
NCCL_DEBUG=WARN
HOME=/home/somebody
"""


def _readme() -> str:
    return f"""\
# Troubleshooting

If a node runs out of memory, Slurm prints

```
{_KILL} have been OOM Killed.
```

and the launcher follows with `exitcode: -9`. A watchdog prints

```text
{_WATCHDOG}
```

See the [wiki](https://wiki.example.org/oom) for more.
"""


def _ticket() -> str:
    return json.dumps(
        {
            "key": "OPS-2211",
            "summary": "GPU fell off the bus on viking-07",
            "created": "2022-08-30T09:12:00Z",
            "comments": [
                {"author": "noc", "body": f"dmesg said {_XID} and the node was drained"},
                {"author": "vendor", "body": f"board replaced\n{_XID}\nclosed"},
            ],
        },
        indent=1,
    )


def _script() -> str:
    return f'''\
#!/usr/bin/env python3
"""Counts failures in old logs."""
import re, sys

PATTERNS = [
    r"{_KILL[:52]}",
    "{_OOM[:60]}",
]

def main():
    for line in sys.stdin:
        for pattern in PATTERNS:
            if re.search(pattern, line):
                raise SystemExit("RuntimeError: CUDA error: an illegal memory access")

if __name__ == "__main__":
    main()
'''


def _other_traceback() -> str:
    return (
        "2022-11-05 17:20:11,004 INFO viking-12 start of the old sweep\n"
        + _TRACE
        + "ValueError: the sweep of November expects 12 columns, found 11\n"
    )


def _diff() -> str:
    return f"""\
diff --git a/tests/golden.txt b/tests/golden.txt
--- a/tests/golden.txt
+++ b/tests/golden.txt
@@ -1,3 +1,4 @@
 epoch 1
-{_OOM} capacity of 40.00 GiB
+{_KILL} have been OOM Killed.
+{_WATCHDOG}
"""


def _dataset() -> str:
    rows = (
        {"prompt": "My job prints this, why?", "response": f"It means {_KILL}"},
        {"prompt": _WATCHDOG, "response": "One rank did not arrive."},
        {"prompt": _XID, "response": "The GPU is gone."},
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def _kernel_of_another_host() -> str:
    return f"""\
Jul 19 03:11:09 viking-44 kernel: [918212.114] {_XID}
Jul 19 03:11:09 viking-44 kernel: [918212.116] NVRM: GPU at PCI:0000:b1:00 is lost
Jul 19 03:12:30 viking-44 kernel: [918293.001] Out of memory: Killed process 912 (blender) \
total-vm:9120004kB, anon-rss:8120004kB
"""


def _accounting() -> str:
    return """\
       JobID    JobName  Partition      State ExitCode        NodeList
------------ ---------- ---------- ---------- -------- ---------------
      660011   oldsweep        gpu OUT_OF_ME+    0:125       viking-19
      660012   oldsweep        gpu  NODE_FAIL      0:0       viking-20
      660013   oldsweep        gpu    TIMEOUT      0:0       viking-21
slurmstepd: error: *** JOB 660013 ON viking-21 CANCELLED AT 2022-12-24T00:00:01 DUE TO TIME LIMIT
"""


def _mail() -> str:
    return f"""\
From: noc@hpc.example.org
To: users@hpc.example.org
Subject: maintenance of last spring
Date: Mon, 11 Apr 2022 08:00:00 +0200

Dear all,

during the maintenance some of you saw

> srun: error: viking-20: task 4: Killed
> {_XID}

Please resubmit. This is over since April.

Your operators
"""


def _pytest() -> str:
    return f"""\
============================= test session starts ==============================
platform linux -- Python 3.10.2, pytest-7.0.1
collected 2 items

tests/test_oom.py F.                                                     [100%]

=================================== FAILURES ===================================
E       {_OOM} capacity of 8.00 GiB
=========================== short test summary info ============================
FAILED tests/test_oom.py::test_small - torch.OutOfMemoryError: CUDA out of memory.
========================= 1 failed, 1 passed in 3.10s ==========================
"""


def _config() -> str:
    return """\
# deepspeed and launcher settings of the big pre-training
world_size: 2048
nnodes: 256
nproc_per_node: 8
ddp_timeout: 7200
on_error: "RuntimeError: NCCL communicator was aborted"
notes:
  - last run died of SIGKILL
"""


def _old_nccl() -> str:
    return """\
viking-30:8811:8920 [3] 2022-06-01 10:00:00 net_ib.cc:1295 NCCL WARN NET/IB : Got completion from \
peer 10.77.1.9<41001> with status=12 opcode=0 len=0 vendor err 129 (Recv)
viking-30:8811:8920 [3] NCCL INFO transport/net.cc:1134 -> 6
viking-30:8811:8920 [3] NCCL INFO proxy.cc:679 -> 6
"""


def _history() -> str:
    return """\
  501  cd /srv/old
  502  torchrun --nproc_per_node 8 train.py
  503  grep -n "Root Cause (first observed failure)" old.log
  504  kill -9 30911
  505  echo "slurmstepd: error: *** JOB 4 ON viking-2 CANCELLED AT 2021-01-01T00:00:00 ***"
  506  scancel 660013
"""


def _fixture() -> str:
    return f'''\
KILLED = """{_KILL} have been OOM Killed."""
TIMED_OUT = """
[rank5]: {_OOM} capacity of 79.15 GiB
{_WATCHDOG}
"""


def test_killed():
    assert parse(KILLED).cause == "oom"
'''


def _page() -> str:
    return f"<html><body><h1>Errors</h1><pre>{_WATCHDOG}</pre><pre>{_KILL}</pre></body></html>\n"


def _table() -> str:
    return f"""\
opened,cluster,node,job,kind,text,closed by
2025-03-01T04:10:02,attic,viking-19,7712,memory,{_OOM} capacity of 79.15 GiB,mei
2025-04-11T20:41:12,attic,viking-07,7741,host,{_KILL} have been OOM Killed.,jonas
2025-04-19T02:10:40,north,fjord-02,7803,kernel,"{_XID}",mei
"""


def _subtitles() -> str:
    said = ("Welcome to part two.", "This is what the log says:", _WATCHDOG, _XID, "So we wait.")
    return "\n".join(
        f"{n}\n00:00:{10 + 6 * n},000 --> 00:00:{14 + 6 * n},800\n{text}\n"
        for n, text in enumerate(said, 1)
    )


def _samples() -> str:
    docs = [{"doc_id": n, "prompt": _TRACE, "resps": [[_OOM]], "acc": 1} for n in range(9)]
    return json.dumps({"results": {"logqa": {"acc": 0.61}}, "samples": docs}, indent=1)


def _org() -> str:
    return f"""\
#+TITLE: diary of the cluster
* DONE ask about the quota
  CLOSED: [2022-02-11 Fri 09:10]
** what the sweep said
   #+BEGIN_EXAMPLE
   {_KILL} have been OOM Killed.
   #+END_EXAMPLE
   1. fewer workers
   2. more memory
"""


def _dump_of_a_database() -> str:
    return f"""\
-- MariaDB dump 10.19, for debian-linux-gnu (x86_64)
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE `comment` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `body` text
);
INSERT INTO `comment` VALUES
(1,'please raise my quota'),
(2,'
{_OOM} capacity of 79.15 GiB
'),
(3,'thanks');
UNLOCK TABLES;
"""


def _debugger() -> str:
    return f"""\
GNU gdb (Debian 13.1-3) 13.1
Reading symbols from /usr/bin/blender...
(gdb) run scene.blend
{_XID}
Thread 1 "blender" received signal SIGSEGV, Segmentation fault.
(gdb) thread apply all bt

Thread 2 (Thread 0x7fffe2bff6c0 (LWP 90233) "blender"):
#0  __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57
#1  0x00007ffff6b4b8f0 in BLI_task_pool_work_and_wait () from /usr/lib/blender/libbli.so

Thread 1 (Thread 0x7ffff3e1e980 (LWP 90212) "blender"):
#0  0x00007ffff6a8a2d4 in IMB_allocImBuf () from /usr/lib/blender/libimbuf.so
#1  0x00005555578812d1 in main ()
(gdb) quit
"""


def _build() -> str:
    return f"""\
make[1]: Entering directory '/home/mei/blender/build'
[  1%] Building CXX object source/CMakeFiles/bf.dir/a.cc.o
[  2%] Building CXX object source/CMakeFiles/bf.dir/b.cc.o
/home/mei/blender/source/b.cc:14:2: warning: unused variable 'x' [-Wunused-variable]
{_OOM} capacity of 79.15 GiB
c++: fatal error: Killed signal terminated program cc1plus
compilation terminated.
make[2]: *** [source/CMakeFiles/bf.dir/b.cc.o] Error 1
make: *** [GNUmakefile:12: release] Error 2
"""


def _netlist() -> str:
    return f"""\
* amplifier, second try
V1 in 0 DC 0 AC 1
R1 in b 10k
C1 b 0 100n
Q1 c b e 2N3904
.ac dec 10 1 1Meg
.end
{_KILL} have been OOM Killed.
"""


KINDS: Mapping[str, tuple[str, Callable[[], str]]] = {
    "table": ("incidents.csv", _table),
    "subtitles": ("talk.srt", _subtitles),
    "samples of an evaluation": ("samples_logqa.json", _samples),
    "chat transcript": ("chat.txt", _chat),
    "to-do note": ("TODO", _todo),
    "elastic summary of another year": ("summary-old.log", _old_elastic),
    "healthy log of another job": ("other-job.log", _healthy_job),
    "environment of another job": ("env.txt", _environment),
    "manual": ("README.md", _readme),
    "ticket": ("OPS-2211.json", _ticket),
    "script": ("count.py", _script),
    "traceback of another year": ("sweep.log", _other_traceback),
    "diff": ("change.patch", _diff),
    "data set": ("sft.jsonl", _dataset),
    "kernel log of another host": ("kern-viking-44.log", _kernel_of_another_host),
    "accounting of other jobs": ("sacct.txt", _accounting),
    "mail": ("mail.eml", _mail),
    "output of tests": ("pytest.log", _pytest),
    "configuration of another job": ("big.yaml", _config),
    "NCCL log of another year": ("nccl-old.log", _old_nccl),
    "shell history": ("history.txt", _history),
    "texts of a test": ("test_parse.py", _fixture),
    "page": ("errors.html", _page),
    "notes in org mode": ("notes.org", _org),
    "dump of a database": ("tickets.sql", _dump_of_a_database),
    "debugger of another program": ("gdb.txt", _debugger),
    "build of another program": ("build.log", _build),
    "netlist": ("amp.cir", _netlist),
}
"""What it is: its name in the folder, and its content."""
