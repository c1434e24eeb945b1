"""One rank evaluates with a collective after the others' end; and who else may be alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.builders import by, ended, incident, source
from support.crashes import closing, raised, stopped
from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.events import Event, ExceptionKind, Frame, PythonException, WorldSeen
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.rules.desync.others_left import check
from unhang.rules.shared.endings import left_alone

ANOTHER = WorldSeen(source=source(2), origin=by(1), rank=Rank(1))
REPORT = ended(0, exit_code=1, line=20)


def fails(rank: int = 0, *functions: str) -> PythonException:
    """A wait for peers ends in an exception, below these functions."""
    below = functions or ("main", "evaluate", "forward", "_sync_buffers")
    frames = tuple(Frame(file="train.py", line=1, function=name) for name in below)
    wait = raised(rank, "RuntimeError", kind=ExceptionKind.COLLECTIVE, line=10 + rank)
    return replace(wait, frames=frames)


@pytest.mark.parametrize(
    ("function", "phase"), [("evaluate", Phase.EVAL), ("save_checkpoint", Phase.SAVE)]
)
def test_the_rank_whose_call_has_no_partners_is_named(function: str, phase: Phase) -> None:
    (finding,) = check(incident(ANOTHER, fails(0, "main", function, "forward"), REPORT))
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)
    assert finding.culprits == {0}
    assert finding.phase is phase
    assert finding.claim.values["others"] == {1}
    assert finding.claim.values["function"] == function


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((ANOTHER, fails(0, "main", "train_one_epoch"), REPORT), id="in training"),
        pytest.param((ANOTHER, fails(), closing(77, line=19), REPORT), id="others were stopped"),
        pytest.param((ANOTHER, fails(), fails(1), REPORT), id="another fails too"),
        pytest.param((ANOTHER, fails(), ended(1, signal=9, line=18), REPORT), id="one was killed"),
        pytest.param((ANOTHER, stopped(line=3), fails(), REPORT), id="stopped from outside"),
        pytest.param((ANOTHER, fails()), id="nobody reports"),
        pytest.param((fails(), REPORT), id="nobody else is seen"),
        pytest.param((ANOTHER, raised(0, line=10), REPORT), id="a failure of its own"),
    ],
)
def test_otherwise_nobody_is_alone(events: tuple[Event, ...]) -> None:
    job = incident(*events)
    assert left_alone(job) is None
    assert list(check(job)) == []


def test_the_others_must_be_seen_in_the_launchers_own_log() -> None:
    elsewhere = replace(ANOTHER, source=source(2, "node-1.log"))
    assert list(check(incident(elsewhere, fails(), REPORT))) == []


@pytest.mark.parametrize(
    ("also", "cause"),
    [
        ((), Cause.DESYNC),
        (("srun: error: n4: task 3: Segmentation fault",), Cause.RANK_CRASH),
        (("srun: error: n2: tasks 1-3: Terminated",), None),
    ],
)
def test_srun_accounts_for_all_tasks(
    also: tuple[str, ...], cause: Cause | None, tmp_path: Path
) -> None:
    (tmp_path / "slurm.out").write_text(
        "world_size: 4\n"
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/w/fit.py", line 70, in main\n'
        "[rank0]:     evaluate(model)\n"
        '[rank0]:   File "/w/fit.py", line 31, in evaluate\n'
        "[rank0]:     dist.all_reduce(hits)\n"
        "[rank0]: RuntimeError: [/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection "
        "closed by peer [10.1.0.2]:4086\n"
        + "".join(
            f"{line}\n" for line in ("srun: error: n1: task 0: Exited with exit code 1", *also)
        )
    )
    assert diagnose(str(tmp_path / "slurm.out")).cause is cause
