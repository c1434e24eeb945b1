"""Failure texts as their programs print them, and the ways in which a healthy job quotes them.

`GENUINE` are whole messages, written from the formats; each convicts or locates when a program
prints it. A context turns such a message into lines that a healthy job's log may hold because it
trains on texts, prints its script, or shows what somebody searched for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

Lines = list[str]

GENUINE: Mapping[str, Lines] = {
    "xid": ["NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."],
    "ib-completion": [
        "gpu07:4711:4790 [2] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
        "10.0.0.7<43210> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    ],
    "oom-kill-event": [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks "
        "have been OOM Killed."
    ],
    "child-failed": [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "train.py FAILED",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-05-01_10:01:58",
        "  host      : gpu07",
        "  rank      : 2 (local_rank: 2)",
        "  exitcode  : -9 (pid: 11896)",
        "  error_file: <N/A>",
        "  traceback : Signal 9 (SIGKILL) received by PID 11896",
    ],
    "kernel-oom": [
        "Out of memory: Killed process 4711 (python) total-vm:81234567kB, anon-rss:79876543kB, "
        "file-rss:1234kB, shmem-rss:0kB, UID:1000 pgtables:160000kB oom_score_adj:0"
    ],
    "no-route": [
        "gpu07:4711:4790 [2] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
        "10.0.0.7<43210> failed : No route to host"
    ],
    "duplicate-gpu": [
        "gpu07:4711:4790 [0] init.cc:871 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both "
        "on CUDA device 3b000"
    ],
    "agent-exit": [
        "failed (exitcode: -9) local_rank: 3 (pid: 20549) of binary: /opt/venv/bin/python3"
    ],
    "srun-task": ["srun: error: gpu07: task 3: Killed"],
    "bus-error": [
        "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Bus error. It is possible "
        "that dataloader's workers are out of shared memory."
    ],
    "address-in-use": [
        "The server socket has failed to listen on any local network address. port: 29500, "
        "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    ],
    "caught-signal": [
        "[gpu07:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object at "
        "address 0x10)"
    ],
    "cuda-ecc": ["RuntimeError: CUDA error: uncorrectable ECC error encountered"],
    "cuda-oom": [
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a "
        "total capacity of 79.15 GiB of which 1.12 GiB is free."
    ],
    "gloo-closed": [
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by "
        "peer [10.0.0.7]:28397"
    ],
    "watchdog": [
        "[rank3]:[E501 10:01:45.172185860 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9801523, "
        "NumelOut=9801523, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    ],
    "barrier": ["[Rank 0]: Ranks 2, 3 failed to pass monitoredBarrier in 3000 ms"],
    "link-down": ["mlx5_core 0000:3b:00.0 ib0: Link down"],
    "shm": [
        "gpu07:4711:4790 [2] misc/shmutils.cc:72 NCCL WARN Error: failed to extend "
        "/dev/shm/nccl-6mS to 9637892 bytes, error: No space left on device (28)"
    ],
    "cancelled": [
        "slurmstepd: error: *** STEP 4711.0 ON gpu07 CANCELLED AT 2026-05-01T10:01:27 DUE TO TIME "
        "LIMIT ***"
    ],
    "mpi-abort": [
        "mpirun noticed that process rank 5 with PID 4711 on node gpu07 exited on "
        "signal 9 (Killed)."
    ],
    "subprocess": [
        "[2026-05-01 10:01:52,557] [INFO] [launch.py:325:sigkill_handler] "
        "['python', '-u', 'train.py'] exits with return code = -9"
    ],
    "oom-killed": ["    Reason:       OOMKilled", "    Exit Code:    137"],
    "shell-killed": ["/bin/bash: line 1:  4711 Killed                  python train.py"],
    "unique-id": [
        "[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d "
        "key-value store by key '0', but store->get('0') got error: Socket Timeout"
    ],
}

Context = Callable[[Lines], Lines]


def _each(form: Callable[[str], str]) -> Context:
    return lambda lines: [form(line) for line in lines]


def _fenced(lines: Lines) -> Lines:
    return [
        "Sample 3 (step 120):",
        "My training fails with:",
        "```",
        *lines,
        "```",
        "What can I do?",
    ]


def _diff(lines: Lines) -> Lines:
    return [
        "diff --git a/docs/faq.md b/docs/faq.md",
        "--- a/docs/faq.md",
        "+++ b/docs/faq.md",
        "@@ -10,2 +10,3 @@ Errors",
        " Known texts:",
        *(f"+{line}" for line in lines),
    ]


def _script(lines: Lines) -> Lines:
    return [
        "#!/bin/bash",
        "check_log() {",
        *(f'    grep -q "{line}" "$1" && exit 1' for line in lines),
        "}",
    ]


def _python(lines: Lines) -> Lines:
    return [
        "def explain(error):",
        "    known = {",
        *(f'        "{line}": "ask the administrator",' for line in lines),
        "    }",
        "    return known.get(str(error))",
    ]


def _docstring(lines: Lines) -> Lines:
    return [
        '    """Explain a failure such as',
        "",
        *(f"        {line}" for line in lines),
        '    """',
    ]


def _config(lines: Lines) -> Lines:
    return [
        "config:",
        "  seed: 1234",
        *(f"  system_prompt: {line}" for line in lines),
        "  max_length: 4096",
    ]


def _sample(lines: Lines) -> Lines:
    return ["Sample 3:", *(f"  prompt: {line}" for line in lines), "  completion: restart it"]


CONTEXTS: Mapping[str, Context] = {
    "json-sample": lambda lines: [json.dumps({"text": "\n".join(lines), "label": 3})],
    "json-chat": lambda lines: [
        json.dumps({"messages": [{"role": "user", "content": "\n".join(lines)}]})
    ],
    "json-of-a-rank": lambda lines: [
        json.dumps({"id": 7, "input": "\n".join(f"[rank2]: {x}" for x in ["so " * 300, *lines])})
    ],
    "json-pretty": lambda lines: [
        "{",
        '  "prompt": ' + json.dumps("\n".join(lines)) + ",",
        '  "answer": "restart"',
        "}",
    ],
    "repr": lambda lines: [f"batch[0] = {{'text': {chr(10).join(lines)!r}, 'id': 7}}"],
    "quote": _each(lambda line: f"> {line}"),
    "comment": _each(lambda line: f"# {line}"),
    "c-comment": _each(lambda line: f"// {line}"),
    "diff": _diff,
    "grep": _each(lambda line: f"old/run3.log:118:{line}"),
    "grep-plain": _each(lambda line: f"old/run3.log:{line}"),
    "xtrace": _each(lambda line: f"+ echo '{line}'"),
    "echo": _each(lambda line: f'echo "{line}"'),
    "script": _script,
    "python": _python,
    "docstring": _docstring,
    "fence": _fenced,
    "config": _config,
    "sample": _sample,
    "csv": _each(lambda line: f'17,"{line}",hardware'),
    "generated": _each(lambda line: f"Generated (step 120): {line}"),
    "html": _each(lambda line: f"<p>{line}</p>"),
    "logged-repr": _each(lambda line: f"INFO dataset: first example is {line!r}"),
    "bullet": _each(lambda line: f"- {line}"),
    "prose": _each(lambda line: f"The user asked why the log says {line}"),
}


_DATE = "2026-05-01 10:"


def healthy(inner: Lines, *, dated: bool, finished: bool = True, after: int = 20) -> str:
    """A healthy log with `inner` between its lines."""
    lines = [
        *(step(number, dated=dated) for number in range(1, 41)),
        *inner,
        *(step(number, dated=dated) for number in range(41, 41 + after)),
    ]
    if finished:
        lines.append(f"{_DATE}10:00,000 INFO Training complete" if dated else "Training complete")
    return "\n".join(lines) + "\n"


def step(number: int, *, dated: bool) -> str:
    """A line of a job at work."""
    text = f"step {number}/60 loss {3 / number + 1:.4f} lr 1.0e-04"
    time = f"{_DATE}{number // 6:02}:{number % 6 * 10:02},123"
    return f"{time} INFO {text}" if dated else text
