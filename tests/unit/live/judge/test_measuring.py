"""What a run measures of itself: steps, phases, saves and settings of each rank."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.live_jobs import PLACES
from unhang.live.judge.measuring import Measuring
from unhang.live.judge.track import Track, begin
from unhang.live.messages.reports import Beat, GroupBeat, ProcessFacts, ProcessReport
from unhang.model.ids import Rank
from unhang.model.measurements import RankSetting, RunMeasurements
from unhang.model.phases import Phase

MIB = 1 << 20


class Job:
    """Ranks that are looked at once a second."""

    def __init__(self) -> None:
        self.measuring = Measuring()
        self.tracks: dict[Rank, Track] = {}
        self.last_step = (0, 0.0)

    def look(
        self,
        second: int,
        places: list[str],
        *,
        steps: int = 1,
        stored: int = 0,
        environment: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        if steps != self.last_step[0]:
            self.last_step = (steps, 1_000.0 + second)
        for number, place in enumerate(places):
            beat = Beat(
                host="gn1",
                pid=7 + number,
                rank=Rank(number),
                process_started_s=1_000.0,
                wall_s=1_000.0 + second,
                mono_s=float(second),
                stack=PLACES[place],
                steps=steps,
                step_wall_s=self.last_step[1],
                groups={"0": GroupBeat(name="0", desc="default_pg", user_timeout_ms=600_000)},
                environment=None if environment is None else environment.get(number),
            )
            facts = ProcessFacts(alive=True, stored_bytes=stored if number == 0 else 0)
            report = ProcessReport(beat=beat, facts=facts, beats=second, beat_age_s=0.0)
            if Rank(number) in self.tracks:
                self.tracks[Rank(number)].hear(report, 1.0, float(second))
            else:
                self.tracks[Rank(number)] = begin(report, float(second))
        self.measuring.look(self.tracks, float(second))

    def told(self) -> RunMeasurements:
        return self.measuring.told(1.0, len(self.tracks), self.tracks)


def test_a_phase_lasts_until_another_one_is_seen_and_a_save_has_bytes() -> None:
    job = Job()
    for second in range(10):
        job.look(second, ["step", "step"])
    for second in range(10, 25):
        job.look(second, ["save", "step"], stored=(second - 9) * 20 * MIB)
    for second in range(25, 30):
        job.look(second, ["step", "step"], stored=300 * MIB)
    told = {phase.phase: phase for phase in job.told().phases}
    assert (told[Phase.SAVE].count, told[Phase.SAVE].longest_s) == (1, 15.0)
    assert told[Phase.TRAIN].latest_s == (10.0,)  # that of rank 0; the others are not over
    (save,) = job.told().saves
    assert (save.rank, save.size_bytes, save.seconds) == (0, 280 * MIB, 15.0)


def test_a_phase_that_does_not_end_is_not_counted() -> None:
    job = Job()
    for second in range(100):
        job.look(second, ["save"])
    assert job.told().phases == ()


def test_steps_count_with_the_mean_of_their_beat() -> None:
    job = Job()
    for second in range(100):
        job.look(second, ["step"], steps=1 + 4 * second)
    for second in range(100, 110):
        job.look(second, ["step"], steps=397 + second // 109)
    steps = job.told().steps
    assert steps is not None
    assert steps.count == 99 * 4 + 1
    assert steps.median_s == pytest.approx(0.25, rel=0.02)
    assert steps.longest_s == 10.0


def test_settings_that_some_ranks_have() -> None:
    job = Job()
    job.look(0, ["step"] * 3, environment={n: {"NCCL_ALGO": "Ring"} for n in range(3)})
    job.look(1, ["step"] * 3)
    job.look(2, ["step"] * 3, environment={2: {"NCCL_ALGO": "Tree"}})
    assert job.told().settings == (
        RankSetting(name="NCCL_ALGO", value="Ring", ranks=frozenset({Rank(0), Rank(1)})),
        RankSetting(name="NCCL_ALGO", value="Tree", ranks=frozenset({Rank(2)})),
        RankSetting(name="timeout default_pg", value="600 s", ranks=frozenset(map(Rank, range(3)))),
    )
