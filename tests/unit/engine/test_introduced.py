"""Trouble at the end of a running log, and who speaks in front of it and behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.engine.introduced import introduced
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.model.incident import Introduced
from unhang.sources.artifact import Artifact

WORK = [f"step {n}/90 loss {9 - n / 10:.4f}" for n in range(1, 13)]
MEMORY = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
RAISED = [
    "Traceback (most recent call last):",
    '  File "/job/train.py", line 12, in <module>',
    "    loss.backward()",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
]
TABLE = [
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
    "train.py FAILED",
    "------------------------------------------------------------",
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2026-05-01_10:01:58",
    "  host      : gpu07",
    "  rank      : 2 (local_rank: 2)",
    "  exitcode  : -11 (pid: 11896)",
    "  error_file: <N/A>",
    "  traceback : Signal 11 (SIGSEGV) received by PID 11896",
]
XID = "[93442.118234] NVRM: Xid (PCI:0000:9b:00): 79, pid=4711, GPU has fallen off the bus."


def asked(lines: list[str], first: int, last: int, tmp_path: Path) -> Introduced | None:
    path = tmp_path / "job.log"
    path.write_text("\n".join(lines) + "\n")
    return introduced(Artifact(name="job.log", open=lambda: path.open("rb")), first, last)


def judged(tmp_path: Path, *lines: str) -> Diagnosis:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(tmp_path))


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        (["check: one line is old"], ["check: passed"], Introduced.ENCLOSED),
        (["check: one line is old"], ["check: passed", "Now it begins."], Introduced.ENCLOSED),
        (["check: one line is old"], [], Introduced.LED_TO),
        (["check: one line is old"], ["The end."], Introduced.LED_TO),
        # another rank says what this one said, or the voice sums up what it said before
        (["data: shard 3 is read"], ["data: shard 4 is read"], Introduced.LED_TO),
        (["wandb: tracking", "wandb: offline"], ["wandb: synced"], Introduced.LED_TO),
        # more trouble follows
        (["check: one line is old"], ["check: passed", "srun: error: exit 1"], Introduced.LED_TO),
        # people speak on both sides, or labels of one form stand there
        (["can somebody have a look"], ["*mei*", "Ask for more of it."], Introduced.ENCLOSED),
        (["can somebody have a look"], ["kept 4"], Introduced.LED_TO),
        (["Here is what Mei sent in:"], ["kept 4"], Introduced.SAID),
        (["Reading /data/3.bin took 3 s"], ["Is that a mismatch of the two?"], Introduced.LED_TO),
        (["[prompt] 3, why?"], ["[score] 0.25"], Introduced.ENCLOSED),
        (["[prompt] 3, why?", "[prompt] 4, why?"], ["[score] 0.25"], Introduced.LED_TO),
        (["[node1] model 4b"], ["[node2] done"], Introduced.LED_TO),
        (["```console"], ["```", "kept: 4"], Introduced.ENCLOSED),
        (["Sample (4): «one", "two"], ["three»"], Introduced.ENCLOSED),
        (["Sample (4): «one", "two"], ["three"], Introduced.LED_TO),
        (["step 3/90 loss 8.2"], ["step 4/90 loss 8.1"], None),
        (["2026-05-01 10:00:00 INFO saved"], [], None),
        ([], ["check: passed"], None),
    ],
)
def test_who_speaks_around_trouble(
    above: list[str], below: list[str], expected: Introduced | None, tmp_path: Path
) -> None:
    lines = [*WORK, *above, *RAISED, *below]
    first = len(WORK) + len(above) + 1
    assert asked(lines, first, first + len(RAISED) - 1, tmp_path) is expected


def test_lines_that_are_not_there_introduce_nothing(tmp_path: Path) -> None:
    assert asked(["all is well"], 7, 9, tmp_path) is None
    gone = Artifact(name="x", open=lambda: (tmp_path / "no").open("rb"))
    assert introduced(gone, 1, 1) is None


@pytest.mark.parametrize("shown", [[MEMORY], TABLE, [XID]], ids=["memory", "table", "kernel"])
def test_what_lacks_its_beginning_and_is_led_to_ends_no_work(
    shown: list[str], tmp_path: Path
) -> None:
    lead = "Unconditional sample, temperature 0.8"
    assert judged(tmp_path, *WORK, lead, *shown).cause is None
    assert judged(tmp_path, *WORK, *shown).cause is not None
    assert judged(tmp_path, lead, *shown).cause is not None
    assert judged(tmp_path, lead, *shown, *WORK).cause is None


def test_a_whole_failure_ends_work_unless_a_voice_encloses_it(tmp_path: Path) -> None:
    lead = "Writing what was generated to /out/step-12"
    assert judged(tmp_path, *WORK, lead, *RAISED).cause is Cause.GPU_KERNEL_FAULT
    shown = ("check: one line is old", *RAISED, "check: passed")
    assert judged(tmp_path, *WORK, *shown).cause is None
    assert judged(tmp_path, *shown).cause is not None, "where nothing is at work it may have failed"
    other = MEMORY.replace("rank2", "rank3")
    assert judged(tmp_path, *WORK, lead, MEMORY, other).cause is Cause.GPU_OOM


TRACE_OF_A_RANK = [f"[rank2]: {line}" for line in RAISED]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([f"logs/old.log:{n}:{line}" for n, line in enumerate(TRACE_OF_A_RANK)], True),
        ([f"S-12\t{line}" for line in TRACE_OF_A_RANK], True),
        ([f"E         + {line}" for line in RAISED], True),
        ([f"      {line}" for line in TRACE_OF_A_RANK], True),
        (["row[4] = " + repr("\n".join(TRACE_OF_A_RANK))], True),
        (["Shard 3: «" + TRACE_OF_A_RANK[0], *TRACE_OF_A_RANK[1:-1], RAISED[-1] + "»"], True),
        (TRACE_OF_A_RANK, False),
        ([" 40%|####   | 4/9 [00:03<00:02]" + TRACE_OF_A_RANK[0], *TRACE_OF_A_RANK[1:]], False),
        ([f"(RayTrainWorker pid=99) {line}" for line in RAISED], False),
        ([f"worker-0: {line}" for line in TRACE_OF_A_RANK], False),
        ([f"2026-05-01 10:00:00 ERROR {line}" for line in RAISED], False),
    ],
)
def test_what_stands_in_front_of_each_line_shows_it(
    lines: list[str], shown: bool, tmp_path: Path
) -> None:
    assert (judged(tmp_path, *WORK, *lines).cause is None) is shown


def test_what_a_line_breaks_off_before_below_the_good_end_is_not_the_job(tmp_path: Path) -> None:
    done, lead = "Training complete", "Here is what Mei sent in:"
    assert judged(tmp_path, *WORK, done, lead, *RAISED).cause is None
    assert judged(tmp_path, *WORK, lead, *RAISED).cause is not None
    assert judged(tmp_path, *WORK, done, "Saving the final model now.", *RAISED).cause is not None
