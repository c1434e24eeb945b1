"""Which files are one job."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang import UsageError
from unhang.surveying.find import find_jobs, group_of


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def names(root: Path, depth: int = 1) -> list[str]:
    jobs, problems = find_jobs([str(root)], depth)
    assert problems == []
    return [job.name for job in jobs]


@pytest.mark.parametrize(
    ("files", "group"),
    [
        (("slurm-81234.out", "slurm-81234.err", "train_81234.log.gz"), "81234"),
        (("slurm-81234_3.out", "slurm-81234_3.err"), "81234_3"),
        (("slurm-81234-node007.out", "slurm-81234-2.out"), "81234"),
        (("run.o5512", "run.e5512"), "5512"),
        (("llama-worker-0.log", "llama-worker-11.log", "llama-master-0.log"), "llama"),
        (("job.rank0.txt", "job.rank7.txt", "job_stderr.log"), "job"),
        (("7.log",), "7"),
        (("slurm-9.out", "slurm-9.verdict.txt"), "9"),
        (("train.out", "train.err", "train.verdict.txt"), "train"),
    ],
)
def test_files_of_one_job(files: tuple[str, ...], group: str) -> None:
    assert {group_of(name) for name in files} == {group}


def test_a_folder_of_scheduler_output(tmp_path: Path) -> None:
    make(tmp_path, "slurm-100.out", "slurm-100.err", "slurm-101.out", "train-102_1.out")
    assert names(tmp_path) == ["100", "101", "102_1"]


def test_each_folder_is_a_job(tmp_path: Path) -> None:
    make(tmp_path, "a/rank0.log", "a/rank1.log", "a/attempt_1/0/stderr.log", "b/log.txt")
    assert names(tmp_path) == ["a", "b"]
    make(tmp_path, "c/1001/out.log", "c/1002/out.log")
    assert names(tmp_path) == ["a", "b", "c"]
    assert "c/1001" in names(tmp_path, 2)
    assert names(tmp_path, 0) == [tmp_path.name]


def test_a_folder_of_one_user_holds_many_jobs(tmp_path: Path) -> None:
    make(tmp_path, "ann/slurm-1001.out", "ann/slurm-1002.out", "ben/slurm-1003.out")
    assert names(tmp_path) == ["ann/1001", "ann/1002", "ben"]


def test_a_run_folder_is_a_job_wherever_it_lies(tmp_path: Path) -> None:
    make(tmp_path, "x/runs/one/run.json", "x/runs/one/output/n/stderr.log", "x/runs/two/run.json")
    assert names(tmp_path, 3) == ["x/runs/one", "x/runs/two"]


def test_the_fingerprint_changes_with_a_file(tmp_path: Path) -> None:
    make(tmp_path, "a/rank0.log", "b/rank0.log")
    before = {job.name: job.fingerprint for job in find_jobs([str(tmp_path)])[0]}
    with (tmp_path / "a/rank0.log").open("a") as file:
        file.write("more")
    after = {job.name: job.fingerprint for job in find_jobs([str(tmp_path)])[0]}
    assert before["a"] != after["a"]
    assert before["b"] == after["b"]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder; expected a folder of jobs"):
        find_jobs([str(tmp_path / "gone")])
    with pytest.raises(UsageError, match="found no job"):
        find_jobs([str(tmp_path)])
