"""Files that nothing ties to the job are told of and judge nothing; those that are tied stay."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from fuzz.beside import flips, labelled
from fuzz.unrelated import KINDS
from support.gpu_tables import table
from unhang.api import diagnose
from unhang.engine.nature import nature_of_text
from unhang.model.causes import Cause
from unhang.model.diagnosis import Outcome

CASES = Path(__file__).parents[1] / "cases"
SAMPLE = (
    *("demo", "exception-lhotse-on-rank-3", "host-oom-kubernetes", "rdma-link-flap"),
    *("healthy-nccl-tests", "stacks-save-on-rank-0", "uneven-one-batch-less"),
    *("segfault-looks-like-network", "desync-one-node-reduces-to-one"),
    "timeout-45-seconds-save-58",
)
WRITTEN = (
    *("chat transcript", "to-do note", "environment of another job", "manual", "ticket", "script"),
    *("diff", "data set", "mail", "configuration of another job", "shell history"),
    *("output of tests", "texts of a test", "page", "table", "subtitles"),
    "samples of an evaluation",
)


@pytest.mark.parametrize("name", SAMPLE)
def test_what_people_write_changes_no_verdict(name: str) -> None:
    assert list(flips([CASES / name], WRITTEN)) == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WRITTEN])
def test_output_of_other_jobs_changes_no_verdict(kind: str) -> None:
    assert list(flips([CASES / name for name in SAMPLE], [kind])) == []


@pytest.mark.parametrize("kind", KINDS)
def test_who_wrote_it(kind: str) -> None:
    assert nature_of_text(KINDS[kind][1]()).is_document == (kind in WRITTEN)


def test_logs_of_labelled_jobs_are_no_documents() -> None:
    written = [
        path
        for case in labelled(CASES)
        for path in (case / "input").rglob("*")
        if path.is_file() and nature_of_text(path.read_text(errors="replace")).is_document
    ]
    assert written == []


def test_documents_in_an_archive_are_none_of_its_job(tmp_path: Path) -> None:
    case = CASES / "uneven-one-batch-less" / "input"
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(case, "job")
        for kind in WRITTEN:
            name, make = KINDS[kind]
            member = tarfile.TarInfo(f"job/{name}")
            data = make().encode()
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    alone, packed = diagnose(str(case)), diagnose(str(tmp_path / "job.tar.gz"))
    assert (packed.outcome, packed.cause, packed.culprits) == (
        alone.outcome,
        alone.cause,
        alone.culprits,
    )


def test_it_is_told(tmp_path: Path) -> None:
    for name in ("rank0.log", "rank1.log", "rank2.log", "rank3.log"):
        source = CASES / "uneven-one-batch-less" / "input" / name
        (tmp_path / name).write_bytes(source.read_bytes())
    alone = diagnose(str(tmp_path))
    (tmp_path / "chat.txt").write_text(KINDS["chat transcript"][1]())
    beside = diagnose(str(tmp_path))
    assert (beside.outcome, beside.cause, beside.culprits) == (
        alone.outcome,
        alone.cause,
        alone.culprits,
    )
    (problem,) = (p for p in beside.problems if p.component == "ties")
    assert problem.artifact.endswith("chat.txt")
    assert "people wrote" in problem.message


def test_a_launch_script_is_not_taken_for_the_log_of_another_job(tmp_path: Path) -> None:
    for name in ("rank0.log", "rank1.log", "rank2.log", "rank3.log"):
        source = CASES / "uneven-one-batch-less" / "input" / name
        (tmp_path / name).write_bytes(source.read_bytes())
    alone = diagnose(str(tmp_path))
    (tmp_path / "train.sh").write_text("#!/bin/sh\nexec torchrun --nproc-per-node 4 train.py\n")
    beside = diagnose(str(tmp_path))
    assert (beside.cause, beside.culprits) == (alone.cause, alone.culprits)
    assert not [p for p in beside.problems if p.component == "ties"]


def test_a_file_alone_is_the_job(tmp_path: Path) -> None:
    (tmp_path / "summary.log").write_text(KINDS["elastic summary of another year"][1]())
    assert diagnose(str(tmp_path)).cause is Cause.RANK_CRASH


def test_nobody_is_healthy_for_another(tmp_path: Path) -> None:
    (tmp_path / "mine.log").write_text(
        "".join(f"[2026-03-01 12:00:{n:02},000] [INFO] step {n}/300 loss 1.0\n" for n in range(40))
    )
    (tmp_path / "other.log").write_text(KINDS["healthy log of another job"][1]())
    assert diagnose(str(tmp_path)).outcome is not Outcome.HEALTHY


STEPS = "".join(f"step {n}/900 loss 1.{n}\n" for n in range(60))
DATED = "".join(f"2026-03-01 12:00:{n:02},000 INFO step {n}/900 loss 1.{n}\n" for n in range(60))
RAISED = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 61, in main
    loader = build(cfg)
ValueError: the table has 12 columns, not 11
"""
SUMMARY = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-03-01_12:03:10
  host      : node7
  rank      : 2 (local_rank: 2)
  exitcode  : -11 (pid: 4711)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 4711
============================================================
"""
_FRAMES = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 61, in main
    loader = build(cfg)
"""
LOST = f"""\
gpu4:811:811 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>
07/02 21:02:12 - mmengine - INFO - Distributed training is used: world_size 2
{_FRAMES}torch.distributed.DistBackendError: NCCL error in: NCCL.cpp:1970, remote process \
exited or there was a network error, NCCL version 2.20.5
ncclRemoteError: A call failed possibly due to a network error or a remote process exiting.
Last error:
socketProgress: Connection closed by remote peer gpu5<39000>
"""
DATED_RAISED = f"""\
gpu9:733:733 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>
07/02 21:02:09 - mmengine - INFO - Distributed training is used: world_size 2
{_FRAMES}KeyError: 'schema'
"""


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({"stdout.log": STEPS, "stderr.log": RAISED}, Cause.RANK_EXCEPTION),
        ({"slurm-48113.out": DATED, "slurm-48113.err": RAISED}, Cause.RANK_EXCEPTION),
        ({"train.log": DATED, "trouble.txt": RAISED}, Cause.RANK_EXCEPTION),
        (
            {"train.log": STEPS, "trouble.txt": RAISED, "env.txt": "A=1\nB=2\n"},
            Cause.RANK_EXCEPTION,
        ),
        ({"train.log": DATED, "launcher.log": SUMMARY}, Cause.RANK_CRASH),
        ({"build.log": "gcc -O2 -c a.c\n" * 200, "trouble.txt": RAISED}, Cause.RANK_EXCEPTION),
        ({"metrics.csv": "step,loss\n" + "1,2.0\n" * 400, "x.log": RAISED}, Cause.RANK_EXCEPTION),
        ({"notes.md": KINDS["manual"][1](), "x.log": RAISED}, Cause.RANK_EXCEPTION),
        # Kept for years beside what somebody added without a day: still the only job that is shown.
        ({"job.log": SUMMARY, "env.yml": "environment:\n  - NCCL_DEBUG=INFO\n"}, Cause.RANK_CRASH),
        (
            {"job.log": SUMMARY, "gpus.txt": "GPU 0: NVIDIA A100 (UUID: GPU-0b2e7c11-5a91)\n"},
            Cause.RANK_CRASH,
        ),
        # The logs of two nodes, named by what these do: one program, started at once.
        ({"first_master.log": LOST, "second_worker.log": DATED_RAISED}, Cause.RANK_EXCEPTION),
    ],
)
def test_what_is_of_the_job_is_never_set_aside(
    files: dict[str, str], cause: Cause, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert diagnose(str(tmp_path)).cause is cause


WHOLE = STEPS + "Training complete\n"
WHOLE_DATED = (
    "".join(f"2026-03-01 12:{n:02}:10,000 INFO step {n}/59 loss 1.{n}\n" for n in range(60))
    + "2026-03-01 13:00:10,000 INFO Training complete\n"
)
KILLED = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been"
    " OOM Killed."
)


@pytest.mark.parametrize(
    "text",
    [
        f"<h2>Errors</h2>\n<pre>\n{KILLED}\n</pre>\n",
        f"\\begin{{verbatim}}\n{KILLED}\n\\end{{verbatim}}\n",
        f"cat > alerts.txt <<EOF\n{KILLED}\nEOF\n",
        f"==> logs/old.log <==\n{KILLED}\n",
        f"[prompt]\nlines = '''\n{KILLED}\n'''\n",
    ],
)
def test_a_text_that_shows_a_failure_convicts_no_whole_job(text: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(WHOLE)
    (tmp_path / "other.txt").write_text(text)
    assert diagnose(str(tmp_path)).cause is None


ENDED_LONG_AGO = """\
[rank1]: RuntimeError: DataLoader worker (pid 81087) is killed by signal: Bus error. It is \
possible that dataloader's workers are out of shared memory.
E0810 06:06:04.461000 80780 torch/distributed/elastic/multiprocessing/api.py:869] failed \
(exitcode: 1) local_rank: 1 (pid: 80788) of binary: /usr/bin/python3
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
train.py FAILED
Root Cause (first observed failure):
[0]:
  time      : 2020-08-10_06:06:04
  host      : node04
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 80788)
"""
PAGE = (
    "<!DOCTYPE html>\n<body><p>I get</p><pre><code>\nray::A.step() (pid=39594, ip=10.4.0.7)\n"
    "RuntimeError: CUDA error: an illegal memory access was encountered\n</code></pre></body>\n"
)


def test_a_page_is_not_the_job_beside_the_end_of_an_old_one(tmp_path: Path) -> None:
    log, page = tmp_path / "run.log", tmp_path / "page.html"
    log.write_text(ENDED_LONG_AGO)
    page.write_text(PAGE)
    assert diagnose(str(log), str(page)).cause is Cause.SHM_SMALL


def test_what_a_job_outlived_by_its_dates_is_not_of_it(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(WHOLE_DATED)
    (tmp_path / "other.txt").write_text(SUMMARY)
    found = diagnose(str(tmp_path))
    assert found.outcome not in (Outcome.CAUSE, Outcome.LOCATED)


@pytest.mark.parametrize(("heard", "cause"), [(8, None), (7, Cause.GPU_HARDWARE)])
def test_an_unknown_host_is_at_most_that_of_a_rank_nobody_heard_of(
    heard: int, cause: Cause | None, tmp_path: Path
) -> None:
    waits = (
        f"[E ProcessGroupNCCL.cpp:523] [Rank {rank}] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=5011, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576,"
        " Timeout(ms)=600000) ran for 600052 milliseconds before timing out.\n"
        for rank in (0, 1, 2, 4, 5, 6, 7, 3)[:heard]
    )
    (tmp_path / "job.log").write_text("".join(waits))
    (tmp_path / "messages").write_text(
        "Feb  2 09:58:31 gn4 kernel: NVRM: Xid (PCI:0000:b1:00): 48, pid='<unknown>',"
        " name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the"
        " framebuffer.\n"
    )
    assert diagnose(str(tmp_path)).cause is cause


def test_a_kernel_log_is_the_job_only_where_nothing_else_is(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(WHOLE_DATED)
    (tmp_path / "kern.log").write_text(KINDS["kernel log of another host"][1]())
    assert diagnose(str(tmp_path)).outcome is Outcome.HEALTHY


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("WARNING attempt 1 of 5 failed: {}; retrying", None),
        ("Attempt 2 failed: {}; will retry in 30 s", None),
        ("ERROR attempt 5 of 5 failed: {}", Cause.HOST_OOM),
    ],
)
def test_a_failed_attempt_that_is_not_the_last_convicts_nobody(
    line: str, cause: Cause | None, tmp_path: Path
) -> None:
    (tmp_path / "job.log").write_text(STEPS + line.format(KILLED) + "\n")
    assert diagnose(str(tmp_path)).cause is cause


WAITED = """\
[E ProcessGroupNCCL.cpp:523] [Rank 3] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=11, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600052 \
milliseconds before timing out.
"""
STEP_KILLED = "srun: error: node9: task 5: Out Of Memory\n" + KILLED + "\n"


@pytest.mark.parametrize("loose", [RAISED, STEP_KILLED])
def test_a_job_that_tells_of_trouble_is_explained_by_nobody_else(
    loose: str, tmp_path: Path
) -> None:
    (tmp_path / "job.log").write_text(STEPS + WAITED)
    alone = diagnose(str(tmp_path))
    (tmp_path / "trouble.txt").write_text(loose)
    found = diagnose(str(tmp_path))
    assert (found.outcome, found.cause) == (alone.outcome, alone.cause)


def test_the_output_of_all_ranks_is_of_the_job_whose_ranks_say_the_same(tmp_path: Path) -> None:
    lost = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 67, in train
    work.wait()
RuntimeError: [unbound_buffer.cc:78] Timed out waiting 12000ms for recv operation to complete
"""
    begun = "".join(
        f"2026-03-01 12:00:0{n},400 [rank{n}] loading dataset shard data/part-{n}.npy\n"
        for n in range(3)
    )
    told = "".join(f"[rank{n}]: {line}\n" for n in (0, 1) for line in lost.splitlines())
    (tmp_path / "merged.log").write_text(begun + told)
    alone = diagnose(str(tmp_path))
    assert alone.coverage.ranks_seen == frozenset({0, 1, 2})
    for rank, text in enumerate((lost, lost, "\n")):
        (tmp_path / f"rank_{rank}.log").write_text(text)
    found = diagnose(str(tmp_path))
    assert found.coverage.ranks_seen == alone.coverage.ranks_seen
    assert found.candidates[0].cause is alone.candidates[0].cause


def test_what_stood_on_a_host_that_the_job_never_names_explains_no_job(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(STEPS)
    (tmp_path / "trouble.txt").write_text(STEP_KILLED)
    assert diagnose(str(tmp_path)).cause is None


def test_a_kernel_log_is_the_job_beside_what_tells_of_none(tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text(
        "[523602.980286] Out of memory: Killed process 4711 (python) total-vm:82957371kB, "
        "anon-rss:22805591kB, file-rss:73224kB, shmem-rss:14667668kB, UID:1000\n"
    )
    (tmp_path / "install.log").write_text(
        "Collecting torch==2.5.1\nERROR: Could not install packages due to an OSError: [Errno 28] "
        "No space left on device\n"
    )
    assert diagnose(str(tmp_path)).cause is Cause.HOST_OOM


@pytest.mark.parametrize("smi", ["Fri Nov 21 04:10:11 2025", None])
def test_a_folder_that_was_unpacked_is_saved_anew(smi: str | None, tmp_path: Path) -> None:
    """Two files of one time, long ago, tell that when they were saved says nothing."""
    stack = "    barrier (torch/distributed/distributed_c10d.py:3685)\n    fit (fit.py:8)\n"
    (tmp_path / "stacks.txt").write_text(
        "".join(
            f'# rank {r}\nProcess {r + 7}: python fit.py\nThread {r + 7} (idle): "MainThread"\n'
            + stack
            for r in range(4)
        )
    )
    (tmp_path / "out.log").write_text(
        "".join(f"[2025-11-21 03:4{i}:07] Building stage {i}\n" for i in range(6))
        + "ValueError: the index of shard 12 does not fit\n"
    )
    if smi is not None:
        (tmp_path / "smi.txt").write_text(f"{smi}\n" + table(4))
    for path in tmp_path.iterdir():
        os.utime(path, (1.80e9, 1.80e9))
    passed = any(
        p.component == "ties" and "out.log" in p.artifact for p in diagnose(str(tmp_path)).problems
    )
    assert passed is (smi is None)


AT_WORK = "".join(
    f"2021-07-24 00:4{n}:12,166 DEBUG TRAIN Batch 0/18{n}100 loss 4.57 lr 0.0005\n"
    for n in range(7)
)
CUT = """\
torch.distributed.launcher.api: [INFO] Starting elastic_operator with launch configs:
Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8
"""
STACK = """\
  pyexecutor/py_executor.py       in _executor_loop_overlap
  flashinfer/sampling.py:1977     in top_k_mask_logits
  flashinfer/sampling.py:68       in get_sampling_module
"""


@pytest.mark.parametrize(
    "kind",
    ["elastic summary of another year", "traceback of another year", "NCCL log of another year"],
)
@pytest.mark.parametrize("job", [AT_WORK, CUT, STACK])
def test_a_failure_of_a_host_or_a_day_that_a_small_log_does_not_know_is_not_its_own(
    job: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "job.log").write_text(job)
    name, make = KINDS[kind]
    (tmp_path / name).write_text(make())
    found = diagnose(str(tmp_path))
    assert found.outcome is Outcome.UNDETERMINED
    (told,) = (p for p in found.problems if "another job" in p.message)
    assert told.artifact.endswith("job.log")


def test_a_kernel_that_names_other_programs_tells_nothing_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(STEPS + WAITED)
    alone = diagnose(str(tmp_path))
    text = KINDS["kernel log of another host"][1]()
    (tmp_path / "kern.log").write_text(text)
    found = diagnose(str(tmp_path))
    assert (found.outcome, found.cause) == (alone.outcome, alone.cause)
    (told,) = (p for p in found.problems if p.artifact.endswith("kern.log"))
    assert "other programs" in told.message
    (tmp_path / "kern.log").write_text(text.replace("blender", "python"))
    assert diagnose(str(tmp_path)).cause is Cause.GPU_HARDWARE
