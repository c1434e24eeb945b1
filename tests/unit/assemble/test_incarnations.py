"""Restarts and appended runs are separated; every agent announces the same restart."""

from dataclasses import replace

from builders import by, ended, source
from unhang.assemble import assemble
from unhang.model.events import Restarted


def restart(line: int, artifact: str = "job.log") -> Restarted:
    return Restarted(source=source(line, artifact), origin=by(), attempts_left=1)


def test_a_restart_separates_two_runs() -> None:
    first, second = assemble(
        [ended(1, exit_code=1, line=1), restart(2), ended(2, exit_code=1, line=3)], artifacts=1
    )
    assert [f.rank for f in first.failures] == [1]
    assert [f.rank for f in second.failures] == [2]
    assert (second.incarnation, second.incarnations) == (1, 2)


def test_the_same_restart_announced_by_each_node_is_one() -> None:
    runs = assemble([ended(1, exit_code=1), restart(2), restart(3), restart(4)], artifacts=1)
    assert len(runs) == 2


def test_an_artifact_without_boundaries_tells_of_the_last_run() -> None:
    other = ended(5, exit_code=1)
    other = replace(other, source=source(1, "rank5.log"))
    runs = assemble(
        [ended(1, exit_code=1, line=1), restart(2), ended(2, exit_code=1, line=3), other],
        artifacts=2,
    )
    assert [f.rank for f in runs[0].failures] == [1]
    assert sorted(int(f.rank) for f in runs[1].failures if f.rank is not None) == [2, 5]


def test_the_place_of_a_file_tells_its_incarnation() -> None:
    """torchrun keeps the logs of each start in a folder of its own: `attempt_0/`, `attempt_1/`."""
    told = [
        replace(
            ended(rank, exit_code=1),
            source=source(1, f"attempt_{attempt}/{rank}/stderr.log"),
            origin=replace(by(rank), incarnation=attempt),
        )
        for attempt, rank in ((0, 1), (1, 2))
    ]
    first, second = assemble(told, artifacts=2)
    assert [f.rank for f in first.failures] == [1]
    assert [f.rank for f in second.failures] == [2]
    assert second.restarted
