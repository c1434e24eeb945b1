"""What timelines of other programs, run folders and logs become."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from support.inspector_logs import record
from support.run_folders import AT_S, hanging, run_folder, training
from unhang.api import examine
from unhang.errors import UsageError
from unhang.model.activity import Activity, ActivityBasis
from unhang.model.trace import SliceKind
from unhang.tracing import activity_of, make_trace

CASES = Path(__file__).parents[2] / "cases"


def profile(rank: int) -> dict[str, object]:
    """What torch.profiler exports, in small."""
    told = {
        "Collective name": "allreduce",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": "[0, 1]",
        "In msg nelems": 1024,
    }
    steps = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{n}",
            "ts": n * 100.0,
            "dur": 90,
        }
        for n in (4, 5)
    ]
    kernels = [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)",
         "ts": n * 100.0 + 10 + rank, "dur": 20, "args": told}
        for n in (4, 5)
    ]  # fmt: skip
    noise = [
        {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 401.0, "dur": 3},
        {"ph": "X", "cat": "kernel", "name": "broken", "ts": "soon", "dur": 3},
        {"ph": "i", "name": "no duration", "ts": 3},
        "no object",
    ]
    return {
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": [*kernels[rank:], *steps, *noise],
    }


def test_profiles_of_two_ranks_share_their_calls(tmp_path: Path) -> None:
    (tmp_path / "a.pt.trace.json").write_text(json.dumps(profile(0)))
    with gzip.open(tmp_path / "b.pt.trace.json.gz", "wt") as file:
        file.write(json.dumps(profile(1)))
    trace = make_trace([str(tmp_path)])
    calls = [s for s in trace.slices if s.kind is SliceKind.CALL]
    assert {s.process for s in trace.slices} == {"rank 0", "rank 1"}
    assert len(calls) == 3
    assert {s.track for s in calls} == {"NCCL default_pg"}
    # the second rank's profile lacks the first step's call: that of step 5 is the same all the same
    assert sorted(s.call.number for s in calls if s.call is not None) == ["4.1", "5.1", "5.1"]
    assert "gemm" not in {s.name for s in trace.slices}
    assert trace.slices[0].begin_s == pytest.approx(1_700_000_000.0004)


def test_a_timeline_of_ray_has_a_track_for_each_worker(tmp_path: Path) -> None:
    events = [
        {"cat": "task:execute", "name": "update_actor", "ph": "X", "pid": "10.0.0.1",
         "tid": "worker:ab", "ts": 1.7e15, "dur": 2e6},
        {"name": "process_name", "ph": "M", "pid": "10.0.0.1", "args": {"name": "Node 10.0.0.1"}},
    ]  # fmt: skip
    (tmp_path / "ray.json").write_text(json.dumps(events))
    [one] = make_trace([str(tmp_path / "ray.json")]).slices
    assert (one.process, one.track, one.name) == ("Node 10.0.0.1", "worker:ab", "update_actor")
    assert (one.begin_s, one.end_s) == (1.7e9, 1.7e9 + 2)


def test_inspector_records_of_one_collective_belong_together(tmp_path: Path) -> None:
    (tmp_path / "node1.log").write_text(f"{record(0, 7)}\n{record(1, 7)}\nno record\n")
    one, two = make_trace([str(tmp_path)]).slices
    assert one.call == two.call
    assert one.end_s is not None
    assert one.end_s - one.begin_s == pytest.approx(200e-6, abs=1e-6)


def test_a_run_folder_tells_what_each_rank_was_seen_to_do(tmp_path: Path) -> None:
    standings = [training(AT_S + n) for n in range(5)] + [hanging(AT_S + 5 + n) for n in range(4)]
    folder = run_folder(tmp_path / "run", standings, events=3)
    trace = make_trace([str(folder.root)])
    late = [s for s in trace.slices if s.rank == 2]
    assert [(s.name.split(" · ")[0], s.activity) for s in late] == [
        ("working", Activity.WORK),
        ("frozen", Activity.FAULT),
    ]
    assert late[0].end_s == late[1].begin_s == AT_S + 5
    assert trace.moments[0].name == "attached: event 0"
    assert trace.basis is ActivityBasis.RUN


def test_a_gap_in_the_samples_stays_one(tmp_path: Path) -> None:
    standings = [training(AT_S + n) for n in (0, 1, 2, 60, 61, 62)]
    folder = run_folder(tmp_path / "run", standings)
    trace = make_trace([str(folder.root)])
    spans = [(s.begin_s - AT_S, s.end_s and s.end_s - AT_S) for s in trace.slices if s.rank == 0]
    assert spans == [(0, 3), (60, 63)]
    found = activity_of(trace)
    assert found is not None
    assert None in {kind for _, kind in found.rows[0][1]}


def test_waits_that_logs_tell(tmp_path: Path) -> None:
    paths = [str(CASES / "two-groups-other-numbers" / "input")]
    trace = make_trace(paths, examine(*paths)[1])
    assert trace.basis is ActivityBasis.LOG
    waits = [s for s in trace.slices if s.activity is Activity.WAIT]
    assert {s.rank for s in waits} == set(range(8))
    assert all(s.end_s is not None and 595 < s.end_s - s.begin_s < 605 for s in waits)


def test_a_phase_of_unknown_length_is_no_heatmap() -> None:
    paths = [str(CASES / "demo" / "input")]
    trace = make_trace(paths, examine(*paths)[1])
    assert [s.end_s for s in trace.slices] == [None]
    assert activity_of(trace) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"traceEvents": 3}', '[{"ph": "X", "cat": "c", "ts": 1e400}]', "plain"]
)
def test_what_tells_no_time_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match="found no start and end times"):
        make_trace([str(tmp_path)])


def test_a_damaged_profile_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(profile(0)))
    (tmp_path / "b.json").write_text(json.dumps(profile(1))[:300])
    trace = make_trace([str(tmp_path)])
    assert [p.artifact for p in trace.problems] == [str(tmp_path / "b.json")]
    assert {s.rank for s in trace.slices} == {0}


@pytest.mark.parametrize("keep", [10, 24, 120])
def test_a_damaged_profile_costs_itself(keep: int, tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(profile(1)).encode(), mtime=0)
    (tmp_path / "a.pt.trace.json").write_text(json.dumps(profile(0)))
    damaged = whole[:keep] + bytes(byte ^ 0x5A for byte in whole[keep:])
    (tmp_path / "b.pt.trace.json.gz").write_bytes(damaged)
    found = make_trace([str(tmp_path)])
    assert {s.rank for s in found.slices} == {0}


def test_dumps_in_an_archive_are_read(tmp_path: Path) -> None:
    dumps = Path(__file__).parents[2] / "data" / "recorder" / "stall"
    with zipfile.ZipFile(tmp_path / "dumps.zip", "w") as archive:
        for path in sorted(dumps.iterdir()):
            archive.write(path, path.name)
    assert len({s.rank for s in make_trace([str(tmp_path)]).slices}) == 4
