"""Which lines of a file are such as programs of a job write."""

import pytest

from unhang.engine.nature import nature_of_text


def strange(text: str) -> list[str]:
    lines = text.splitlines()
    return [lines[number - 1] for number in nature_of_text(text).strange]


def test_programs_say_when_and_who_and_how_bad() -> None:
    text = """\
2026-05-01 10:00:00,123 starts
[rank3]: anything at all
gpu07:4711:4790 [2] NCCL INFO comm 0x1
srun: error: gpu07: task 3: Killed
worker-0: [2026-05-01 10:00:00,001] [INFO] [launch.py:145:main] starts
worker-1: {'loss': 1.2, 'epoch': 0.5}
Building the tree of the shop
"""
    assert strange(text) == ["Building the tree of the shop"]


def test_programs_count() -> None:
    assert strange("".join(f"it {n} ok\n" for n in range(12))) == []


def test_stacks_are_those_of_a_job_where_they_hold_what_jobs_run_on() -> None:
    other = ("#0  0x00007f in IMB_allocImBuf () from libimbuf.so", "#1  0x00007f in main ()")
    assert strange("\n".join(other)) == list(other)
    ours = ("#0  0x00007f in ncclGroupEnd () from libnccl.so.2", *other)
    assert strange("\n".join(ours)) == []


def test_source_below_a_frame_belongs_to_it() -> None:
    text = """\
Traceback (most recent call last):
  File "train.py", line 9, in f
    torch.cuda.synchronize()
    ~~~~~~~~~~^^^^^^^^^^^^^
"""
    assert strange(text) == []


@pytest.mark.parametrize(
    ("command", "shows"),
    [
        ("sudo dmesg | tail", False),
        ("rocm-smi --showuse | grep use", False),
        ("kubectl get events", False),
        ("cat notes/last_week.log", True),
    ],
)
def test_what_a_host_answers_is_shown_by_nobody(command: str, shows: bool) -> None:
    answer = "Memory cgroup out of memory: Killed process 4711 (python)\nrank 3 was killed\n"
    assert nature_of_text(f"$ {command}\n{answer}").shows is shows


def test_what_pdsh_prefixes_is_output() -> None:
    lines = [
        f"gpu22: [2026-03-11 02:10:4{n},118] [INFO] [launch.py:{n}:main] x={n}" for n in range(9)
    ]
    assert not nature_of_text("\n".join(lines)).is_document
