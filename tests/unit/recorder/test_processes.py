"""Dumps that several processes read say the same as those that one reads."""

import random
from pathlib import Path

import pytest
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import stall
from benchmarks.recorder_jobs import Job, mesh, ring, train

import unhang
from unhang.assemble.recorder import analyse_dumps
from unhang.engine import pool
from unhang.engine.dump_pool import read_dumps_by_workers
from unhang.engine.gather import Gathered, gather
from unhang.engine.shards import Engine
from unhang.model.events import DumpRead, Event
from unhang.model.recorder_analysis import RecorderAnalysis
from unhang.parsers.recorder import DumpReader
from unhang.parsers.recorder.kinds import KindTable
from unhang.parsers.recorder.merging import Merger, Tables
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover


def dumps_of(folder: Path) -> list[Artifact]:
    return [a for a in discover([str(folder)]) if isinstance(a, Artifact) and a.dump is not None]


def judged(events: list[Event]) -> RecorderAnalysis:
    found = analyse_dumps((e for e in events if isinstance(e, DumpRead)), None)
    assert found is not None
    return found


def told(found: RecorderAnalysis) -> dict[int, list[object]]:
    """What each recording says, without indices."""
    return {
        rank: [
            *(
                (name, [r.kinds[k] for k in trace.kinds], trace.enqueued, trace.completed)
                for name, trace in sorted(r.groups.items())
            ),
            *(
                (peer, [r.kinds[k] for k in traffic.kinds], list(traffic.seqs), traffic.pending)
                for trace in r.groups.values()
                for peer, traffic in (*trace.sent.items(), *trace.received.items())
            ),
            [r.moves[move] for move in r.course],
        ]
        for rank, r in found.recordings.items()
    }


@pytest.mark.process
@pytest.mark.parametrize("kind", ["mesh", "ring"])
def test_the_same_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    job = Job(train(mesh(16, 2, 4), 4) if kind == "mesh" else ring(7, 6))
    stall(job, 5, 11)
    job.run(random.Random(0))
    write(job, tmp_path, [Form()])
    (tmp_path / "nccl_trace_rank_3").write_bytes(b"\x80\x02")
    monkeypatch.setattr(pool, "_BATCH_FILES", 3)
    artifacts = dumps_of(tmp_path)
    counted: list[int] = []
    there = read_dumps_by_workers(artifacts, Engine(2), DumpReader(), counted.append)
    reader = DumpReader()
    here = [reader.read(artifact) for artifact in artifacts]
    assert sum(counted) == sum(artifact.size_bytes or 0 for artifact in artifacts)
    assert [problems for _, problems in there] == [problems for _, problems in here]
    one, other = (judged([e for events, _ in reads for e in events]) for reads in (here, there))
    assert told(one) == told(other)
    assert [s.rank for s in one.suspects] == [s.rank for s in other.suspects] == [5]


@pytest.mark.process
def test_much_is_read_by_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(train(mesh(8, 2, 1), 4))
    stall(job, 5, 11)
    job.run(random.Random(0))
    write(job, tmp_path, [Form()])
    monkeypatch.setattr("unhang.engine.gather.PARALLEL_FROM", 1)
    monkeypatch.setattr("unhang.engine.gather.cores", lambda: 2)
    found: Gathered = gather(discover([str(tmp_path)]))
    assert len(found.events) == 8
    assert unhang.diagnose(str(tmp_path)).culprits == {5}


def test_tables_that_differ_are_translated(tmp_path: Path) -> None:
    """The first reader knows other calls already."""
    first, second = DumpReader(), DumpReader()
    for name, ranks in (("ring", ring(4, 2)), ("mesh", train(mesh(4, 2, 2), 2))):
        job = Job(ranks)
        job.run(random.Random(0))
        write(job, tmp_path / name, [Form()])
    for artifact in dumps_of(tmp_path / "ring"):
        first.read(artifact)
    reads = [second.read(artifact) for artifact in dumps_of(tmp_path / "mesh")]
    known = len(first.tables.kinds)
    assert second.tables.kinds[:known] != first.tables.kinds
    adopted = first.adopt(reads, second.tables)
    whole = [event for events, _ in reads for event in events]
    assert told(judged([e for events, _ in adopted for e in events])) == told(judged(whole))


def test_equal_tables_cost_nothing() -> None:
    merger = Merger(KindTable(), Tables([], []))
    assert merger._kinds is None
