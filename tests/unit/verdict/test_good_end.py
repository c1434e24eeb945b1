"""A good end is one of the whole job: of every log, every rank and every stage that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.diagnosis import Outcome

_STEPS = 40
_STYLES = {
    "counted": "step {n}/40 loss {loss:.3f}",
    "own words": "upd {n} of 40  nll={loss:.3f}  wps={speed}",
    "rows": "2025-03-11 01:{n:02d}:00 | epoch {n} | train_mae {loss:.4f} | {speed} s",
    "losses": "{{'loss': {loss:.4f}, 'learning_rate': 1e-05, 'epoch': {part:.2f}}}",
}


def steps(style: str, last: int = _STEPS, first: int = 1) -> list[str]:
    form = _STYLES[style]
    return [
        form.format(n=n, loss=5 - n / 50, speed=700 + n * 7 % 13, part=n / 40)
        for n in range(first, last + 1)
    ]


def outcome(folder: Path, *lines: str, **others: list[str]) -> Outcome:
    for name, text in {"job": list(lines), **others}.items():
        (folder / f"{name}.log").write_text("\n".join(text) + "\n")
    return unhang.diagnose(str(folder)).outcome


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize(
    "end",
    [
        ["training complete, bye"],
        ["Training finished."],
        ["Training complete", "saving the final weights to /out/m.pt", "elapsed 3.2 h"],
        ["all 40 steps done", "wandb: Synced 5 W&B file(s)"],
        ["Training finished.", "+ echo ok", "ok"],
        ["job finished, exit code 0"],
        [
            "Training finished.",
            "Exception ignored in: <function _Iter.__del__ at 0x7f2b1c0d8ca0>",
            "OSError: [Errno 16] Device or resource busy: '.nfs00000018c22f'",
        ],
    ],
)
def test_good_ends(style: str, end: list[str], tmp_path: Path) -> None:
    assert outcome(tmp_path, *steps(style), *end) is Outcome.HEALTHY


@pytest.mark.parametrize("style", _STYLES)
@pytest.mark.parametrize(
    "end",
    [
        # A script says so whatever its program did.
        ["job finished at Tue Mar 11 12:00:01 UTC 2025"],
        ["== script done =="],
        ["post-job hook: success"],
        ["Job completed"],
        ["node exporter on n4 vanished", "run.sh: finished"],
        # Another stage, or another command.
        [
            "Training finished.",
            "+ python export.py",
            "x.sh: line 3: python: command not found",
        ],
        ["Training finished successfully", "export: cannot open /m: Permission denied"],
        ["Training complete", "gathering the predictions of all ranks"],
        ["training complete", "+ scancel 7712"],
        ["training complete", *steps("own words", 25)],
        ["training complete", *steps("losses", 25)],
        # Others of the job.
        ["Training complete", "worker-1    0/1     Error       0          3h"],
        ["Training finished", "77.0             python    FAILED      1:0"],
        ["training finished on 7 of 8 ranks"],
        ["Training job completed; Training seconds: 8637"],
        ["MaxRuntimeExceeded - runtime limit", "training complete"],
        ["Process 221 exits successfully.", "Process 223 exits successfully."],
        # Words that only look like such.
        ["Training finished: False"],
        ["Job has reached the specified backoff limit"],
        ["Successfully tagged trainer:0.4"],
        ["run completed with status 4"],
    ],
)
def test_ends_of_a_part_and_no_ends(style: str, end: list[str], tmp_path: Path) -> None:
    assert outcome(tmp_path, *steps(style, 25), *end) is not Outcome.HEALTHY


@pytest.mark.parametrize("style", _STYLES)
def test_another_log_just_stops(style: str, tmp_path: Path) -> None:
    whole = [*steps(style), "training complete, bye"]
    assert outcome(tmp_path, rank_0=whole, rank_1=steps(style, 20)) is not Outcome.HEALTHY
    assert outcome(tmp_path, rank_0=whole, rank_1=whole) is Outcome.HEALTHY


def test_a_rank_is_left_behind(tmp_path: Path) -> None:
    def by(rank: int, last: int) -> list[str]:
        return [f"[rank{rank}]: {line}" for line in steps("counted", last)]

    end = "[rank0]: training complete, bye"
    assert outcome(tmp_path, *by(1, 20), *by(0, 40), end) is not Outcome.HEALTHY
    assert outcome(tmp_path, *by(1, 40), *by(0, 40), end) is Outcome.HEALTHY


def test_who_shows_no_work_has_not_done_it(tmp_path: Path) -> None:
    told = ["Step 33/34 : RUN pip install .", "Step 34/34 : ENTRYPOINT", "all 2 stages done"]
    assert outcome(tmp_path, *told) is not Outcome.HEALTHY


def test_what_runs_in_a_container_is_no_text_that_is_shown(tmp_path: Path) -> None:
    raised = [
        "Traceback (most recent call last):",
        '  File "/workspace/train.py", line 3, in <module>',
        "    import torch",
        "ImportError: /usr/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
    ]
    ran = ["Successfully tagged trainer:0.4", "$ docker run --gpus all trainer:0.4", *raised]
    assert outcome(tmp_path, *ran, "$ pip list", "torch 2.2.1") is Outcome.CAUSE
