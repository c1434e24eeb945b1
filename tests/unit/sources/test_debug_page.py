"""Pages of torch's debug server hold what each rank answered."""

import json
from pathlib import Path

import pytest

import unhang
from support.debug_pages import SAVES, WAITS, page, text_dump
from unhang.model.causes import Cause
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover
from unhang.sources.dump_kind import DumpForm


def members(folder: Path) -> dict[str, tuple[Artifact, str]]:
    """Each member and its text; it can be read only when it is met."""
    found = {}
    for item in discover([str(folder)]):
        if isinstance(item, Artifact):
            with item.open() as stream:
                found[item.name.rpartition("!")[2]] = item, stream.read().decode()
    return found


@pytest.mark.parametrize("escaped", [False, True])
def test_each_rank_is_a_file(tmp_path: Path, escaped: bool) -> None:
    (tmp_path / "stacks.html").write_text(page([WAITS, 408, SAVES], escaped=escaped))
    found = members(tmp_path)
    assert list(found) == ["rank_0.txt", "rank_1.txt", "rank_2.txt"]
    assert [artifact.origin.rank for artifact, _ in found.values()] == [0, 1, 2]
    head, error, end = found["rank_1.txt"][1].split("\n")
    assert head.startswith("=== Rank 1: http://gpu-07:4701/")
    assert (error, end) == ("Error: 408", "")
    assert '  File "/job/train.py", line 41 in <module>' in found["rank_2.txt"][1]


def test_flight_recorders_of_a_page_are_dumps(tmp_path: Path) -> None:
    entry = {"collective_seq_id": 1, "profiling_name": "nccl:all_reduce", "record_id": 0}
    dump = json.dumps({"version": "2.10", "entries": [entry], "pg_config": {}}, indent=2)
    (tmp_path / "fr_trace_json.html").write_text(page([dump, dump]))
    found = members(tmp_path)
    assert [artifact.dump for artifact, _ in found.values()] == [DumpForm.JSON, DumpForm.JSON]
    assert unhang.diagnose(str(tmp_path)).coverage.sources["flight_recorder"] == 2


def test_other_pages_are_documents(tmp_path: Path) -> None:
    (tmp_path / "manual.html").write_text("<title>NCCL</title><pre>Watchdog caught</pre>")
    (tmp_path / "job.log").write_text("step 1\n")
    assert list(members(tmp_path)) == [str(tmp_path / "job.log")]


@pytest.mark.parametrize("name", ["stacks.html", "stacks_20251121_013100.txt"])
def test_page_and_text_dump_give_one_verdict(tmp_path: Path, name: str) -> None:
    answers = [WAITS, WAITS, SAVES, WAITS]
    write = page if name.endswith(".html") else text_dump
    (tmp_path / name).write_text(write(answers))
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.cause is Cause.CHECKPOINT_SLOW
    assert diagnosis.culprits == {2}
