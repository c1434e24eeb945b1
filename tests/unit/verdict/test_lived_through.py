"""What a job lived through is held against nobody, whatever its own lines look like."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import unhang
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.parsers.completion import CompletionParser
from unhang.sources.line import Line

from .lived_through import ENDS, LEAVING, RESTARTS, STEPS, TROUBLE, WORKS, steps


def judged(folder: Path, *lines: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(folder / "job.log"))


def accused(found: Diagnosis) -> bool:
    return found.outcome in (Outcome.CAUSE, Outcome.LOCATED) or found.likely is not None


@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("work", ["own", "chinese", "table", "keras", "dict"])
def test_trouble_that_the_work_outlived(work: str, trouble: str, tmp_path: Path) -> None:
    before, after = steps(work, 1, 40), steps(work, 41, 80)
    assert not accused(judged(tmp_path, *before, *TROUBLE[trouble], *after))
    assert accused(judged(tmp_path, *before, *TROUBLE[trouble])), "the same at the end"


@pytest.mark.parametrize("trouble", ["register", "memory", "stall"])
@pytest.mark.parametrize("work", WORKS)
def test_work_in_any_words(work: str, trouble: str, tmp_path: Path) -> None:
    assert not accused(judged(tmp_path, *TROUBLE[trouble], *steps(work, 1, 40)))


@pytest.mark.parametrize("restart", RESTARTS)
@pytest.mark.parametrize("work", ["epochs", "dict", "own"])
def test_a_job_that_began_again(work: str, restart: str, tmp_path: Path) -> None:
    before, after = steps(work, 1, 50), steps(work, 41, STEPS)
    assert not accused(judged(tmp_path, *before, *RESTARTS[restart], *after))
    ended = judged(tmp_path, *before, *RESTARTS[restart], *after, ENDS[0])
    assert not accused(ended)
    assert accused(judged(tmp_path, *before, *RESTARTS[restart][:-1]))


@pytest.mark.parametrize(("minutes", "lived"), [(0, False), (40, True)])
def test_one_voice_works_on_after_all_were_stopped(
    minutes: int, lived: bool, tmp_path: Path
) -> None:
    """Lines of one time may come from buffers; lines of a later time come from processes."""

    def work(steps: range, minute: int) -> list[str]:
        return [f"0: 2026-03-01 10:{minute:02}:{n % 60:02} INFO step {n} loss 2.{n}" for n in steps]

    stop = [
        "slurmstepd: error: *** STEP 88.0 ON n1 CANCELLED AT 2026-03-01T10:05:50 DUE TO PREEMPTION"
        " ***",
        "srun: error: n1: tasks 0-3: Terminated",
    ]
    lines = [*work(range(20, 49), 5), *stop, *work(range(49, 60), 5 + minutes)]
    assert accused(judged(tmp_path, *lines)) is not lived


@pytest.mark.parametrize(("end", "lived"), [("training done", True), ("host n1 is idle", False)])
@pytest.mark.parametrize("work", [["08:14:00 INFO step 150/400 loss 2.1"], []])
def test_a_requeued_job_that_tells_its_end(
    work: list[str], end: str, lived: bool, tmp_path: Path
) -> None:
    """Who prints a step now and then shows few states; the times and its last word tell enough."""
    stop = (
        "slurmstepd: error: *** JOB 88 ON n1 CANCELLED AT 2026-03-01T08:15:00 DUE TO PREEMPTION ***"
    )
    later = [
        "2026-03-01 09:10:12 INFO step 200/400 loss 1.9",
        "2026-03-01 09:30:12 INFO step 400/400 loss 1.6",
        f"2026-03-01 09:30:40 INFO {end}",
    ]
    lines = [f"2026-03-01 {line}" for line in work]
    assert accused(judged(tmp_path, *lines, stop, *later)) is not lived
    assert accused(judged(tmp_path, *lines, stop, later[-1])), "no work since: it was stopped"


@pytest.mark.parametrize(("minute", "lived"), [(15, True), (39, False), (50, False), (5, False)])
def test_a_gpu_that_failed_amid_the_work(minute: int, lived: bool, tmp_path: Path) -> None:
    """What the kernel tells from before all work may be of another zone's clock."""
    work = [f"2026-03-01 10:{n}:00 INFO host n3 step {n}/90 loss 2.{n}" for n in range(10, 40)]
    (tmp_path / "kern.log").write_text(
        f"Mar  1 10:{minute:02}:30 n3 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has "
        "fallen off the bus.\n"
    )
    (tmp_path / "job.log").write_text("\n".join(work) + "\n")
    assert accused(unhang.diagnose(str(tmp_path))) is not lived


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("work", ["plain", "dict"])
def test_good_ends(work: str, end: str, tmp_path: Path) -> None:
    assert judged(tmp_path, *steps(work, 1, STEPS), end).outcome is Outcome.HEALTHY


@pytest.mark.parametrize("noise", LEAVING)
@pytest.mark.parametrize("end", ENDS[:4])
def test_who_leaves_after_a_good_end(end: str, noise: str, tmp_path: Path) -> None:
    whole = steps("plain", 1, STEPS)
    assert judged(tmp_path, *whole, end, *LEAVING[noise]).outcome is Outcome.HEALTHY
    failed = "torchrun: process 3 (rank 3) exited with exit code 1"
    assert judged(tmp_path, *whole, end, *LEAVING[noise], failed).outcome is not Outcome.HEALTHY


@pytest.mark.parametrize(
    "beat",
    [
        "heartbeat {n} gpu 3",
        "no progress for {n} s (limit 600)",
        "[monitor] t={n} gpu util 99 %",
        "still waiting for rank 3 after {n} s, 7 of 8 there",
        "retry {n} of 90 to reach 10.0.0.2",
    ],
)
def test_what_a_clock_prints_is_no_work(beat: str, tmp_path: Path) -> None:
    beats = [beat.format(n=n) for n in range(1, 60)]
    assert accused(judged(tmp_path, *steps("plain", 1, 40), *TROUBLE["memory"], *beats))


_DENIALS = ("no", "0", "zero", "without any")
_TROUBLES = ("errors", "failures", "exceptions", "failed workers")


def told(text: str) -> bool:
    parser = CompletionParser()
    list(parser.feed(Line(artifact="a", number=1, text=text, raw=text)))
    return any(True for _ in parser.finish())


@given(
    st.sampled_from(["training", "the job", "run 17", "all ranks"]),
    st.sampled_from(["finished", "completed", "done", "ended"]),
    st.one_of(
        st.builds(
            lambda n, u: f"after {n} {u}", st.integers(1, 10**6), st.sampled_from(["h", "steps"])
        ),
        st.builds(
            lambda d, t: f"with {d} {t}", st.sampled_from(_DENIALS), st.sampled_from(_TROUBLES)
        ),
    ),
)
def test_words_of_trouble_that_are_denied(what: str, done: str, how: str) -> None:
    assert told(f"{what} {done} {how}")


@given(
    st.sampled_from(["training", "the job", "run 17", "all ranks"]),
    st.sampled_from(["finished", "completed", "done", "ended"]),
    st.one_of(
        st.builds(lambda n, t: f"with {n} {t}", st.integers(1, 99), st.sampled_from(_TROUBLES[:2])),
        st.sampled_from(["after a failure", "when rank 3 failed", "early", "by signal 9"]),
    ),
)
def test_words_of_trouble_that_stand(what: str, done: str, how: str) -> None:
    assert not told(f"{what} {done} {how}")
    assert not told(f"{what} will be {done} after all ranks left")


def test_known_words_of_an_end_are_not_told_twice(tmp_path: Path) -> None:
    """A limit that was looked for, and then the work to its end, whose bars all end alike."""
    bars = [f"Epoch {n}: 100%|██████████| 118/118 [02:00<00:00, 0.97it/s]" for n in range(6)]
    end = "`Trainer.fit` stopped: `max_epochs=6` reached."
    assert not accused(judged(tmp_path, *TROUBLE["memory"], *bars, end))


def test_a_launcher_that_takes_another_port(tmp_path: Path) -> None:
    raised = "torch.distributed.DistNetworkError: port: 29500, code: -98, name: EADDRINUSE"
    lines = (*TROUBLE["port"][:1], raised, "launch.sh: trying MASTER_PORT=29511")
    assert not accused(judged(tmp_path, *lines, *steps("plain", 1, 40)))


def test_a_preempted_job_that_then_trained_to_its_end(tmp_path: Path) -> None:
    """Few epochs, a bar for each, and a banner of the site's own between the two starts."""
    bars = [f"Epoch {e}: 100%|██████████| 800/800 [09:0{e}<00:00,  1.4it/s]" for e in range(8)]
    stop = (
        "slurmstepd: error: *** JOB 4711 ON gx12 CANCELLED AT 2026-03-02T02:00:14 "
        "DUE TO PREEMPTION ***"
    )
    first, then = [*bars[:4], stop], ["#### next try on gx31", *bars[4:]]
    assert accused(judged(tmp_path, *first, *then[:2]))
    assert not accused(judged(tmp_path, *first, *then, "`Trainer.fit` stopped: `max_epochs=8`"))


@pytest.mark.parametrize(("again", "lived"), [("pid=7", True), ("pid=8", False)])
def test_a_process_dies_once(again: str, lived: bool, tmp_path: Path) -> None:
    """What the same process prints a second time was the end of a child of it."""
    died = "(Worker {who}, ip=10.0.4.25) Segmentation fault (core dumped)"
    step = "(main_task pid=4) step:{n} - critic/rewards/mean:0.3{n} - timing_s/step:812.5"
    steps_ = [step.format(n=n) for n in range(1, 12)]
    lines = (*steps_[:4], died.format(who="pid=7"), *steps_[4:8], died.format(who=again))
    assert accused(judged(tmp_path, *lines, *steps_[8:])) is not lived


SUMMARY = (
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
    "evaluate.py FAILED",
    "------------------------------------------------------------",
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2026-05-01_10:06:00",
    "  host      : n01",
    "  rank      : 2 (local_rank: 2)",
    "  exitcode  : -11 (pid: 11896)",
    "  error_file: <N/A>",
    "  traceback : Signal 11 (SIGSEGV) received by PID 11896",
    "============================================================",
)


def test_the_end_of_another_job_amid_work_that_goes_on_counting(tmp_path: Path) -> None:
    """A supervisor shows it; where another stage counts after it, this one may have failed."""
    before, end = steps("plain", 1, 40), ENDS[0]
    assert not accused(judged(tmp_path, *before, *SUMMARY, *steps("plain", 41, STEPS), end))
    other = [f"evaluating: {n}/20 acc 0.{n:02}" for n in range(1, 21)]
    found = judged(tmp_path, *before, *SUMMARY, *other, "run complete, exiting")
    assert found.outcome is not Outcome.HEALTHY
