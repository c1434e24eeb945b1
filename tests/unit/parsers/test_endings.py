"""Good ends and fresh starts."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import Finished, Restarted
from unhang.parsers.endings import EndingsParser

NOHUP = "nohup: ignoring input"


@pytest.mark.parametrize(
    ("text", "whole_job"),
    [
        ("[launcher] all 4 workers returned 0", True),
        ("all ranks exited with code 0", True),
        ("4/4 processes finished successfully", True),
        (
            ':::MLLOG {"time_ms": 1, "key": "run_stop", "value": null, "metadata": {"file": '
            '"fit.py", "status": "success"}}',
            True,
        ),
        ("Job 'raysubmit_x1' succeeded", True),
        ("Process finished with exit code 0", True),
        ("job 4711 finished, exit code 0", True),
        ("# Out of bounds values : 0 OK", False),
        ("exit status of trainer: 0", True),
        ("<info> [2026-05-09 23:26:20] container exited successfully with a zero exit code", True),
        ("<info> [2026-05-09 23:26:22] experiment 1392 state changed to COMPLETED", True),
        ("(Controller pid=6) [State Transition] SHUTTING_DOWN -> FINISHED.", True),
        ("Number of trials: 4/4 (4 TERMINATED)", True),
        ("`Trainer.fit` stopped: `max_epochs=10` reached.", False),
        ("{'train_runtime': 812.4, 'train_samples_per_second': 3.1}", False),
        ("2026-02-13 09:56:29.660 INFO: Training complete", False),
        ("[launch.py:350:main] Process 4711 exits successfully.", False),
        ("[INFO] 2026-07-31 07:55:16,413 api: [default] All workers successfully finished.", True),
        ("0: RESULT,LANGUAGE_MODEL,,1200,nvidia,2026-06-01", False),
        ("***** train metrics *****", False),
        ("| INFO | fairseq_cli.train | done training in 3600.1 seconds", False),
        ("Finished Training", False),
        ("Training time 3:14:15", False),
        ("Total training time: 1 day, 2:03:04", False),
        ("[exiting program after 412.3 minutes] datetime: 2026-05-01", False),
    ],
)
def test_good_ends(text: str, whole_job: bool) -> None:
    assert only(Finished, feed(EndingsParser, text)).whole_job is whole_job


@pytest.mark.parametrize(
    "text",
    [
        ':::MLLOG {"key": "run_stop", "metadata": {"status": "aborted"}}',
        "Training will be completed in 3 hours",
        "Finished training epoch 3, 992 samples",
        "3 of 4 workers returned 0",
        "all 4 workers exited with code 1",
        "Job 4711 has not finished",
        "job 4711 finished, exit code 0.5 of the quota",
        "job 4711 finished, exit code 01",
        "Running tokenizer: completed successfully parsed 3 of 9",
        "Training time budget: 4:00:00",
        "exit status of trainer: 137",
        "exit code of worker 3: 0",
        "experiment 1392 state changed to ERROR",
        "[State Transition] RUNNING -> ERRORED.",
        "Number of trials: 4/4 (3 TERMINATED, 1 ERROR)",
        "Number of trials: 4 (1 RUNNING)",
        "[exiting program after receiving SIGTERM.] datetime: 2026-05-01",
    ],
)
def test_no_ends(text: str) -> None:
    assert feed(EndingsParser, text) == []


def test_a_banner_at_the_start_begins_no_further_run() -> None:
    assert (
        feed(
            EndingsParser,
            NOHUP,
            "Setting OMP_NUM_THREADS environment variable for each process to be 1",
        )
        == []
    )


def test_a_banner_after_an_end_begins_a_further_run() -> None:
    events = feed(
        EndingsParser,
        NOHUP,
        "Traceback (most recent call last):",
        "KeyboardInterrupt",
        NOHUP,
        NOHUP,
    )
    assert only(Restarted, events).launch


def test_a_cancelled_job_and_its_successor() -> None:
    events = feed(
        EndingsParser,
        "INFO:root:called-params a.yaml",
        "slurmstepd: error: *** STEP 2.0 ON n CANCELLED AT 2026-05-01T05:42:27 ***",
        "INFO:root:called-params a.yaml",
    )
    assert only(Restarted, events).source.line == 3


def test_buffered_output_after_a_traceback_is_no_start() -> None:
    events = feed(
        EndingsParser,
        "Traceback (most recent call last):",
        "2026-07-26 07:47:46 INFO distributed init (rank 0): tcp://localhost:40011",
    )
    assert events == []


@pytest.mark.parametrize(
    "command",
    [
        "(env) ann@node7:~/fit# bash run.sh",
        "[ann@node7 fit]$ CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node 2 fit.py",
        "$ python fit.py",
        "+ srun -n 8 python fit.py",
    ],
)
def test_a_command_in_a_kept_terminal_begins_a_further_run(command: str) -> None:
    events = feed(EndingsParser, command, "KeyboardInterrupt", command)
    assert only(Restarted, events).launch


@pytest.mark.parametrize(
    "text",
    ["(env) ann@node7:~/fit# vim run.sh", "(env) ann@node7:~/fit# ", "    # python is slow here"],
)
def test_other_commands_begin_no_run(text: str) -> None:
    assert feed(EndingsParser, "KeyboardInterrupt", text) == []


def test_a_requeued_job_begins_a_further_run() -> None:
    start = "submitit INFO (2024-02-01 08:00:00,1) - Starting with JobEnvironment(job_id=7_0, x=1)"
    stop = (
        "slurmstepd: error: *** JOB 7 ON c3 CANCELLED AT 2024-02-01T09:00:00 DUE TO PREEMPTION ***"
    )
    assert only(Restarted, feed(EndingsParser, start, stop, start)).launch
    assert feed(EndingsParser, start, start) == []


@pytest.mark.parametrize(
    ("lines", "well"),
    [
        (("$ echo $?", "0"), True),
        (("user@gx1:~$ echo $?", "0"), True),
        (("$ echo $?", "137"), False),
        (("+ echo rc=0", "rc=0"), True),
        (("+ echo rc=3", "rc=3"), False),
        (("+ echo lr=0", "lr=0"), False),
        (("$ echo $?", "loss 0"), False),
        (("$ echo done", "0"), False),
        (("$ echo $?", "", "0"), False),
    ],
)
def test_somebody_asks_how_it_ended(lines: tuple[str, ...], well: bool) -> None:
    found = feed(EndingsParser, *lines)
    assert [type(e) for e in found] == ([Finished] if well else [])


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Training starts at step 1, with local batch size 4", False),
        ("Trainer starts from epoch 0", False),
        ("Training restarts at step 1", True),
        ("Training resumed from step 0", True),
    ],
)
def test_what_starts_at_its_first_step_is_no_further_run(text: str, again: bool) -> None:
    assert any(isinstance(e, Restarted) for e in feed(EndingsParser, text)) is again
