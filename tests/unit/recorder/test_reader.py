"""Files of strangers: any version is read, damage costs only itself, and nothing is ever run."""

import os
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from benchmarks.recorder_dumps import Form, write
from benchmarks.recorder_faults import stall

import unhang
from support.recorder_scenarios import recorded_of, training
from unhang.errors import UnsafeArtifact
from unhang.model.provenance import NOBODY
from unhang.model.recording import CallKind
from unhang.parsers.recorder.document import document, load_json
from unhang.parsers.recorder.kinds import KindTable, kind_of
from unhang.parsers.recorder.names import rank_of
from unhang.parsers.recorder.traces import recording
from unhang.sources.discover import OpenFile
from unhang.sources.dump_kind import DumpForm, dump_form
from unhang.sources.pickles import Damaged, load_plain, salvage


@pytest.mark.parametrize("version", ["1.0", "1.4", "2.1", "2.4", "2.9", "2.10", "2.11"])
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("back_end", ["nccl", "nccl2", "xccl"])
def test_every_version_is_judged(
    tmp_path: Path, version: str, as_json: bool, back_end: str
) -> None:
    job = training(world=4, tp=1, steps=4)
    stall(job, 2, 7)
    job.run(random.Random(0))
    write(job, tmp_path, [Form(version=version, as_json=as_json, back_end=back_end)])
    assert {s.rank for s in recorded_of(tmp_path).suspects} == {2}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_3", 3),
        ("comm_lib_trace_rank_12", 12),
        ("/x/dumps/_dump_0", 0),
        ("trace_3.bak", 3),
        ("host-a_rank_3.pkl", 3),
        ("json_3.json", 3),
        ("node12_nccl_trace_rank_7", 7),
        ("nccl_trace_rank_7.gpu-09", 7),
        ("a.tar.gz!run/gpu-09_dump_4.gz", 4),
        ("nccl_trace", None),
    ],
)
def test_the_rank_stands_in_the_name(name: str, rank: int | None) -> None:
    assert rank_of(name, NOBODY) == rank


class Attack:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_dump_that_carries_code_is_refused_and_named(tmp_path: Path, protocol: int) -> None:
    job = training(world=4, tp=1)
    job.run(random.Random(0))
    write(job, tmp_path, [Form(name="trace_{}".format)])
    marker = tmp_path / "ran"
    (tmp_path / "trace_2").write_bytes(pickle.dumps(Attack(marker), protocol=protocol))
    diagnosis = unhang.diagnose(str(tmp_path))
    assert not marker.exists()
    assert any(
        "trace_2" in problem.artifact and "carries code" in problem.message
        for problem in diagnosis.problems
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02}r" + struct.pack("<I", 0x3FFFFFFF) + b".",
        b"\x80\x02X" + struct.pack("<I", 0x7FFFFFFF) + b"abc",
    ],
    ids=["memo", "text"],
)
def test_a_small_file_cannot_ask_for_much_memory(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "trace_0"
    file.write_bytes(data)
    with pytest.raises((UnsafeArtifact, Damaged)):
        load_plain(OpenFile(str(file)), len(data))


def test_texts_that_would_fill_the_memory_are_not_made() -> None:
    bomb: list[Any] = []
    for _ in range(60):
        bomb = [bomb, bomb]
    entry = {"collective_seq_id": 1, "profiling_name": "nccl:all_reduce", "input_sizes": bomb}
    tree = {"version": bomb, "pg_config": {"0": {"desc": bomb, "ranks": bomb}}, "entries": [entry]}
    found = document(tree)
    assert found is not None
    assert recording(found, KindTable(), None, "x").entries == 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_what_stands_before_the_cut_is_read(share: float) -> None:
    tree = {"version": "2.10", "entries": [{"seq": i, "sizes": [[i]]} for i in range(100)]}
    data = pickle.dumps(tree, protocol=2)
    found = salvage(data[: int(len(data) * share)])
    assert isinstance(found, dict)
    entries = found["entries"]
    assert entries[:-1] == tree["entries"][: len(entries) - 1]
    assert len(entries) >= 100 * share - 5


@pytest.mark.parametrize("bare", [False, True])
def test_a_cut_json_dump(bare: bool) -> None:
    import json

    entries = [{"collective_seq_id": i, "profiling_name": "nccl:all_reduce"} for i in range(50)]
    text = json.dumps(entries if bare else {"entries": entries, "version": "2.10"})
    tree, cut = load_json(text[: len(text) // 2])
    found = document(tree, cut=cut)
    assert cut
    assert found is not None
    assert 20 <= len(found.entries) <= 25


@pytest.mark.parametrize("seed", range(30))
def test_arbitrary_damage_never_raises(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    job = training(world=4, tp=1, steps=3)
    job.run(random_)
    write(job, tmp_path, [Form(version=random_.choice(["1.0", "1.4", "2.10"]))])
    for file in tmp_path.iterdir():
        data = bytearray(file.read_bytes())
        for _ in range(random_.randint(1, 20)):
            data[random_.randrange(8, len(data))] = random_.randrange(256)
        file.write_bytes(data)
    unhang.diagnose(str(tmp_path))


def test_what_is_a_dump() -> None:
    assert dump_form(b"\x80\x02}(X\x07\0\0\0versionX\x09\0\0\0pg_config", "x") is DumpForm.PICKLE
    assert dump_form(b"\x80\x04\x95weights", "model.bin") is None
    assert dump_form(b'{"comm_lib_version": "", "entries": []}', "x") is DumpForm.JSON
    assert dump_form(b'{"loss": 2.5}', "metrics.json") is None


def test_what_may_differ_between_ranks() -> None:
    def kind(name: str, inputs: Any, outputs: Any) -> CallKind:
        return kind_of(name, inputs, outputs, ("Float",))

    uneven = kind("nccl:all_to_all", ((3,),), ((4,),)), kind("nccl:all_to_all", ((9,),), ((1,),))
    assert uneven[0] == uneven[1]
    shaped = kind("nccl:all_reduce", ((2, 5),), ()), kind("nccl:all_reduce", ((10,),), ())
    assert shaped[0] == shaped[1]
    root = kind("nccl:gather", ((8,),), ((8,), (8,))), kind("nccl:gather", ((8,),), ())
    assert root[0] == root[1]
    assert kind("nccl:broadcast", ((8,),), ()) != kind("nccl:broadcast", ((9,),), ())


_ODD_VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 10**20, "", "x", [], {}, [1], ("0", "default_pg"), True, 1.5, [[3]]),
    *("nccl:send 0->99", "nccl:recv 5<-1", "nccl:coalesced", "completed"),
)


@pytest.mark.parametrize("seed", range(25))
def test_arbitrary_values_never_raise(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    job = training(world=8, tp=2, pp=2, steps=3)
    job.run(random_)
    write(job, tmp_path, [Form(version=random_.choice(["1.0", "1.4", "2.10"]))])
    for file in tmp_path.iterdir():
        tree = pickle.loads(file.read_bytes())
        entries = tree if isinstance(tree, list) else tree["entries"]
        for _ in range(random_.randint(1, 8)):
            entry = random_.choice(entries)
            entry[random_.choice(sorted(entry))] = random_.choice(_ODD_VALUES)
        if isinstance(tree, dict) and random_.random() < 0.5:
            tree[random_.choice(sorted(tree.keys() - {"entries"}))] = random_.choice(_ODD_VALUES)
        file.write_bytes(pickle.dumps(tree, protocol=2))
    unhang.diagnose(str(tmp_path))


def test_a_number_below_zero_is_no_call_before(tmp_path: Path) -> None:
    job = training(world=4, tp=1, steps=3)
    job.run(random.Random(0))
    write(job, tmp_path, [Form()])
    file = tmp_path / "nccl_trace_rank_1"
    tree = pickle.loads(file.read_bytes())
    tree["entries"][0]["collective_seq_id"] = -1
    file.write_bytes(pickle.dumps(tree, protocol=2))
    assert len(recorded_of(tmp_path).recordings) == 4
