"""The status of the Flight Recorder under the names and in the forms of several versions of torch.

The recorders here are made up: they stand for NCCL's, which needs a GPU, and for old forms.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from unhang.probe.recorder import DUMPS, STATUS, GroupProgress, Recorder, lacking


class MadeUpRecorder:
    """Answers as a `_dump_…_json` function does; counts how often entries were asked for."""

    def __init__(self, status: dict[str, Any], entries: list[dict[str, Any]]) -> None:
        self.status, self.entries, self.dumps = status, entries, 0

    def __call__(self, include_entries: bool, only_active: bool) -> bytes:
        self.dumps += include_entries
        entries = {"entries": self.entries} if include_entries else {}
        return json.dumps({**entries, "pg_status": self.status}, sort_keys=True).encode()


class OldTorch:
    """torch 2.5 to 2.7 with NCCL: one recorder."""

    def __init__(self, recorder: MadeUpRecorder) -> None:
        self._dump_nccl_trace_json = recorder


class NewTorch(OldTorch):
    """torch 2.8 and later with NCCL: a second recorder, with numbers of its own."""

    def __init__(self, nccl: MadeUpRecorder, general: MadeUpRecorder) -> None:
        super().__init__(nccl)
        self._dump_fr_trace_json = general


def at(enqueued: object, started: object, completed: object) -> dict[str, object]:
    return {
        "last_enqueued_collective": enqueued,
        "last_started_collective": started,
        "last_completed_collective": completed,
    }


def entry(number: int, name: str) -> dict[str, Any]:
    return {"pg_id": number, "process_group": [name, "desc"], "record_id": 0}


def test_numbers_of_groups_become_names() -> None:
    recorder = MadeUpRecorder(
        {"0": at("7", "6", "5"), "3": at(2, -1, -1)}, [entry(0, "0"), entry(3, "12")]
    )
    assert Recorder().progress(OldTorch(recorder)) == {
        "0": GroupProgress(7, 6, 5),
        "12": GroupProgress(2, None, 0),
    }


def test_the_two_recorders_count_their_groups_each() -> None:
    torch = NewTorch(
        MadeUpRecorder({"0": at(4, 4, 3)}, [entry(0, "nccl")]),
        MadeUpRecorder({"0": at(9, -1, 9)}, [entry(0, "gloo")]),
    )
    assert Recorder().progress(torch) == {
        "nccl": GroupProgress(4, 4, 3),
        "gloo": GroupProgress(9, None, 9),
    }


def test_a_torch_without_a_recorder_says_nothing() -> None:
    assert Recorder().progress(object()) == {}
    assert Recorder().progress(None) == {}


def test_entries_are_read_once_for_known_groups_and_rarely_for_others() -> None:
    recorder = MadeUpRecorder({"0": at(1, 1, 1), "1": at(1, 1, 0)}, [entry(0, "0")])
    ours = Recorder()
    for _ in range(50):
        assert set(ours.progress(OldTorch(recorder))) == {"0"}
    assert recorder.dumps < 10


def test_what_is_in_flight() -> None:
    assert GroupProgress(2, None, 1).in_flight
    assert not GroupProgress(2, None, 2).in_flight
    assert not GroupProgress(2, None, None).in_flight


def names(*given: str) -> SimpleNamespace:
    """A torch with these functions."""
    return SimpleNamespace(**dict.fromkeys(given, bool))


@pytest.mark.parametrize(
    ("native", "environ", "backend", "expected"),
    [
        (names(), {}, "gloo", [("recorder_absent", "")]),
        (None, {}, "nccl", [("recorder_absent", "")]),
        (names(*STATUS, *DUMPS), {}, "gloo", []),
        (
            names(*STATUS, *DUMPS),
            {"TORCH_NCCL_TRACE_BUFFER_SIZE": "0"},
            "gloo",
            [("recorder_off", "TORCH_NCCL_TRACE_BUFFER_SIZE=0")],
        ),
        (
            names(*STATUS, *DUMPS),
            {"TORCH_FR_BUFFER_SIZE": "9", "TORCH_NCCL_TRACE_BUFFER_SIZE": "0"},
            "gloo",
            [],
        ),
        (names(STATUS[0], DUMPS[0]), {}, "gloo", [("recorder_nccl", "")]),
        (names(STATUS[0], DUMPS[0]), {}, "cuda:nccl", []),
    ],
)
def test_what_a_torch_does_not_record_is_known(
    native: object, environ: dict[str, str], backend: str, expected: list[tuple[str, str]]
) -> None:
    assert list(lacking(native, environ, {backend})) == expected


def gloo(seq: int, *, retired: bool, pair: bool = False) -> dict[str, Any]:
    return {**entry(0, "0"), "collective_seq_id": seq, "is_p2p": pair, "retired": retired}


def test_what_ended_out_of_order_is_no_open_call_of_a_rank_that_rests() -> None:
    """gloo's number of the last that ended falls back: 186 was noted after 187."""
    entries = [gloo(n, retired=True) for n in (185, 186, 187)]
    recorder = MadeUpRecorder({"0": at(187, -1, 186)}, entries)
    ours = Recorder()
    torch = NewTorch(MadeUpRecorder({}, []), recorder)
    assert ours.progress(torch)["0"] == GroupProgress(187, None, 186)
    ours._not_before_s = dict.fromkeys(STATUS, 0.0)
    assert ours.progress(torch, rests=True)["0"] == GroupProgress(187, None, 187)


def test_a_call_that_is_open_stays_open_however_many_ended_after_it() -> None:
    entries = [gloo(186, retired=False), gloo(187, retired=True), gloo(3, retired=False, pair=True)]
    recorder = MadeUpRecorder({"0": at(188, -1, 187)}, entries)
    told = Recorder()
    torch = NewTorch(MadeUpRecorder({}, []), recorder)
    told.progress(torch)
    told._not_before_s = dict.fromkeys(STATUS, 0.0)
    assert told.progress(torch, rests=True)["0"] == GroupProgress(188, None, 185)


def test_the_same_numbers_are_looked_at_once() -> None:
    recorder = MadeUpRecorder({"0": at(9, -1, 8)}, [gloo(9, retired=True)])
    ours = Recorder()
    torch = NewTorch(MadeUpRecorder({}, []), recorder)
    ours.progress(torch)
    ours._not_before_s = dict.fromkeys(STATUS, 0.0)
    before = recorder.dumps
    assert [ours.progress(torch, rests=True)["0"].completed for _ in range(5)] == [9] * 5
    assert recorder.dumps == before + 1
