"""A planned limit outlasts each rehearsal's slow phase, from the files that the job has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rehearsals.registry import SITUATIONS
from rehearsals.situation import Situation
from rehearsals.workplace import SCRIPTS

from unhang import plan
from unhang.errors import UsageError
from unhang.model.codec import document
from unhang.model.ids import Rank
from unhang.model.measurements import SCHEMA, PhaseTimes, RunMeasurements
from unhang.model.phases import Phase

OPEN_CLIP_EVAL_S = 100
"""Seconds of the evaluation, which is real work: docs/situations tells how long the jobs took."""


def _slow_phases() -> Iterator[tuple[Situation, Phase, float]]:
    for situation in SITUATIONS.values():
        if situation.phase is None or not situation.legitimate:
            continue
        told = [patch["seconds"] for name, patch in situation.fault.items() if "slow" in name]
        seconds = float(str(told[0])) if told else OPEN_CLIP_EVAL_S
        yield situation, situation.phase, seconds


def _run(folder: Path, world: int, phase: Phase, seconds: float) -> str:
    """A run folder with the phase as `unhang run` measures it."""
    times = PhaseTimes(phase=phase, count=1, total_s=seconds, longest_s=seconds)
    ranks = frozenset(map(Rank, range(world)))
    measured = RunMeasurements(at_s=1.0, ranks=ranks, world_size=world, phases=(times,))
    folder.mkdir()
    (folder / "events.jsonl").write_text("")
    (folder / "measured.json").write_text(document(SCHEMA, measured))
    return str(folder)


def _configurations(situation: Situation) -> list[str]:
    """The files of the job that tell a plan something."""
    found = []
    for file in sorted((SCRIPTS / situation.job).iterdir()):
        if file.suffix not in (".sh", ".yaml", ".json"):
            continue
        try:
            plan("7B", sources=[str(file)], world=situation.world)
        except UsageError:
            continue
        found.append(str(file))
    return found


@pytest.mark.parametrize("times", [1, 10, 100])
@pytest.mark.parametrize(
    ("situation", "phase", "seconds"),
    [*_slow_phases()],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_planned_limit_outlasts_the_phase(
    tmp_path: Path, situation: Situation, phase: Phase, seconds: float, times: int
) -> None:
    """The drills are short; a hundred times as long, PyTorch's default does not hide a mistake."""
    measured = _run(tmp_path / "run", situation.world, phase, seconds * times)
    made = plan("7B", sources=[*_configurations(situation), measured])
    assert made.world == situation.world
    assert all(limit.seconds >= max(600, 1.5 * seconds * times) for limit in made.time_limits)
    assert made.time_limits[0].phase is phase


def test_every_slow_situation_is_here() -> None:
    assert len([*_slow_phases()]) >= 8
