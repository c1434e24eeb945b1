"""Artifacts become events, in order, in one process or in several."""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

import unhang
from unhang.engine import gather as gathering
from unhang.engine import pool, shards
from unhang.engine.gather import Gathered, gather
from unhang.engine.reading import Read, read_artifact
from unhang.engine.shards import Engine
from unhang.model.events import CollectiveTimeout
from unhang.model.provenance import Problem
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover


def timeout(rank: int) -> str:
    return (
        f"[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800100 milliseconds "
        "before timing out.\n"
    )


def write(folder: Path, files: int) -> None:
    for n in range(files):
        (folder / f"f{n:03d}.log").write_text(f"step {n}\n" * (n * 10) + timeout(n))


def ranks(gathered: Gathered) -> list[int | None]:
    return [event.group_rank for event in gathered.events if isinstance(event, CollectiveTimeout)]


@pytest.mark.process
def test_in_several_processes_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 40)
    (tmp_path / "g.tar.gz").write_bytes(b"\x1f\x8b nonsense")
    alone = gather(discover([str(tmp_path)]))
    monkeypatch.setattr(gathering, "PARALLEL_FROM", 1)
    monkeypatch.setattr(gathering, "cores", lambda: 2)
    monkeypatch.setattr(pool, "_BATCH_FILES", 7)
    told: list[tuple[int, int]] = []
    together = gather(discover([str(tmp_path)]), lambda *step: told.append(step))
    assert ranks(alone) == list(range(40))
    assert together == alone
    assert len(alone.problems) == 1
    assert told[-1] == (alone.size_bytes, alone.size_bytes)


def test_the_library_starts_no_process_unless_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 3)
    monkeypatch.setattr(gathering, "PARALLEL_FROM", 1)
    monkeypatch.setattr(shards, "cores", lambda: 2)
    started: list[int] = []

    def read(_: object, engine: Engine, *__: object) -> list[Read]:
        started.append(engine.processes)
        return [([], [])] * 3

    monkeypatch.setattr(pool, "read_by_workers", read)
    unhang.diagnose(str(tmp_path))
    assert not started
    unhang.diagnose(str(tmp_path), processes=3)
    unhang.diagnose(str(tmp_path), processes=None)
    assert started == [3, 2]


def test_progress_in_one_process(tmp_path: Path) -> None:
    write(tmp_path, 3)
    told: list[tuple[int, int]] = []
    gathered = gather(discover([str(tmp_path)]), lambda *step: told.append(step))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert [total for _, total in told] == [size] * 3
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == gathered.size_bytes == size


@pytest.mark.process
def test_a_killed_process_becomes_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 4)
    fork = multiprocessing.get_context("fork")  # the readers inherit what is patched below
    monkeypatch.setattr(shards, "fastest_context", lambda: fork)
    monkeypatch.setattr(pool, "fastest_context", lambda: fork)
    monkeypatch.setattr(pool, "read_artifact", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    artifacts = [item for item in discover([str(tmp_path)]) if isinstance(item, Artifact)]
    reads = pool.read_by_workers(artifacts, Engine(2), lambda _: None)
    assert [problems[0].artifact for _, problems in reads] == [a.name for a in artifacts]
    assert all(events == [] for events, _ in reads)


def test_an_artifact_that_cannot_be_read_costs_only_itself() -> None:
    class Broken(io.RawIOBase):
        def readinto(self, _: object) -> int:
            raise OSError(5, "Input/output error")

    good = Artifact(name="good", open=lambda: io.BytesIO(timeout(3).encode()))
    bad = Artifact(name="bad", open=Broken)  # type: ignore[arg-type]
    found = Problem(artifact="x", component="reader", message="1 file passed over: empty")
    gathered = gather([bad, found, good])
    assert ranks(gathered) == [3]
    assert [problem.artifact for problem in gathered.problems] == ["x", "bad"]
    assert "Input/output error" in gathered.problems[1].message


def test_events_come_in_the_order_of_their_lines() -> None:
    data = (timeout(0) + "x\n" + timeout(1)).encode()
    events, problems = read_artifact(Artifact(name="log", open=lambda: io.BytesIO(data)))
    assert [event.source.line for event in events] == sorted(e.source.line or 0 for e in events)
    assert problems == []
