"""Ranks of stacks whose process nobody names."""

import pytest

from support.job_text import incident_of

WAIT = "    all_reduce (torch/distributed/distributed_c10d.py:1320)\n    main (fit.py:96)\n"


def ranks(text: str, *log: str, **more: str) -> list[int | None]:
    return [s.rank for s in incident_of(*log, **{"stacks.txt": text, **more}).stances]


def dumps(head: str, numbers: tuple[int, ...], pids: tuple[int, ...], frames: str = WAIT) -> str:
    return "".join(
        f"{head.format(n=n, pid=pid)}\nPython v3.8.13 (/usr/bin/python3.8)\n"
        f'Thread {pid} (active): "MainThread"\n{frames}\n'
        for n, pid in zip(numbers, pids, strict=True)
    )


@pytest.mark.parametrize("head", ["== {n} ==", "# dump.{n}", "worker {n}, see below"])
def test_a_number_above_each(head: str) -> None:
    assert ranks(dumps(head, (0, 1, 2), (93, 70, 82))) == [0, 1, 2]


def test_a_number_in_each_command() -> None:
    text = dumps("Process {pid}: python -m pipe --stage {n}", (1, 0, 2), (93, 70, 82))
    assert ranks(text) == [0, 1, 2]


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 2, 3), (4, 7, 9)])
def test_numbers_that_count_no_processes(numbers: tuple[int, ...]) -> None:
    assert ranks(dumps("== {n} ==", numbers, (93, 70, 82))) == [None] * 3


def test_a_number_that_counts_fewer_than_the_job_has() -> None:
    text = dumps("== {n} ==", (0, 1, 2), (93, 70, 82))
    assert (
        ranks(text, "using world size: 8, data-parallel size: 8, tensor-model-parallel size: 1")
        == [None] * 3
    )


def test_one_launcher_starts_the_processes_of_a_host_in_order() -> None:
    text = dumps("Process {pid}: python fit.py", (0, 0, 0), (712, 711, 713))
    assert ranks(text) == [0, 1, 2]
    apart = dumps("Process {pid}: python fit.py", (0, 0, 0), (712, 701, 740))
    assert ranks(apart) == [None] * 3
    assert ranks(
        apart, "using world size: 3, data-parallel size: 3, tensor-model-parallel size: 1"
    ) == [0, 1, 2]


def test_a_loader_beside_its_rank_counts_nothing() -> None:
    loader = WAIT.replace("main (fit.py", "_worker_loop (torch/utils/data/_utils/worker.py")
    text = dumps("Process {pid}: python fit.py", (0, 0), (711, 712))
    text += dumps("Process {pid}: python fit.py", (0,), (713,), loader)
    assert ranks(text) == [None] * 3


def test_pids_that_are_listed_beside_their_ranks() -> None:
    text = dumps("Process {pid}: python fit.py", (0, 0), (7720, 7723))
    assert ranks("### pid of r0 r1 r2 r3 = 7720 7721 7722 7723\n" + text) == [0, 3]
