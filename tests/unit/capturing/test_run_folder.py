"""A run folder and dumps in a bundle: the newest, readable, and without secrets."""

import json
import pickle
from pathlib import Path

import pytest

from support.source_contexts import context, take
from unhang.capturing.filing import redact_pickle
from unhang.capturing.source_context import Stop
from unhang.capturing.specs import run_folder
from unhang.probe.board import Board
from unhang.redaction import Redactor

pytestmark = pytest.mark.process


def run_of_two_hosts(root: Path) -> None:
    for name, text in {
        "run.json": '{"schema": "unhang.run/1"}',
        "events.jsonl": '{"kind": "attached"}\n',
        "output/h/stdout.log": "2026-11-21T07:00:00.000000+00:00 step 1\n",
        "output/g/stdout.log": "2026-11-21T07:00:00.000000+00:00 step 1\n",
        "stacks/h-11.txt": "Timeout (0:00:05)!\n",
        "stacks/h-12.txt": "",
        "dumps/1/trace_0.json": "old",
        "dumps/2/trace_0.json": '{"version": "2.10"}',
        "dumps/2/trace_7.json": '{"version": "2.10"}',
        "dumps/2/stack_0.txt": "Thread 0x1 (most recent call first):\n",
        "dumps/2/stack_9.txt": "Thread 0x1 (most recent call first):\n",
        "dumps/2/done_h-11": "x",
        "captures/1.unhang.tar.zst": "bundle",
        "history.sqlite-journal": "SQLite format 3",
        "run-2/run.json": "another run",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "boards").mkdir()
    for host, pid, rank in (("h", 11, 0), ("g", 11, 7)):
        board = Board(str(root / "boards" / f"{host}-{pid}.board"))
        board.pin({"rank": rank, "pid": pid, "host": host}, 5.0)
        board.close()


def test_everything_of_a_run_folder_but_old_dumps_and_data(tmp_path: Path) -> None:
    run_of_two_hosts(tmp_path)
    pieces = list(run_folder.SPEC.gather(context(run_folder=tmp_path)))
    assert sorted((p.host or "", p.name) for p in pieces) == [
        ("", "boards/g-11.json"),
        ("", "boards/h-11.json"),
        ("", "events.jsonl"),
        ("", "rank_9/probe-stack.txt"),
        ("", "run.json"),
        ("g", "dumps/trace_7.json"),
        ("g", "output/stdout.log"),
        ("h", "dumps/trace_0.json"),
        ("h", "output/stdout.log"),
        ("h", "rank_0/probe-frozen.txt"),
        ("h", "rank_0/probe-stack.txt"),
    ]
    told = {piece.name: piece.data for piece in pieces if piece.host != "g"}
    beat = {"rank": 0, "pid": 11, "host": "h"}
    assert json.loads(told["boards/h-11.json"]) == {"beats": 1, "monotonic_s": 5.0, "beat": beat}
    assert told["dumps/trace_0.json"] == b'{"version": "2.10"}'


def test_dumps_that_were_just_asked_for_are_taken(tmp_path: Path) -> None:
    run_of_two_hosts(tmp_path)
    told = take(run_folder.SPEC, context(run_folder=tmp_path, dumps=(tmp_path / "dumps" / "1",)))
    assert told["dumps/trace_0.json"] == b"old"


def test_more_than_a_bundle_is_for_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_of_two_hosts(tmp_path)
    monkeypatch.setattr(run_folder, "_MOST_BYTES", 30)
    pieces = run_folder.SPEC.gather(context(run_folder=tmp_path))
    taken: list[str] = []
    with pytest.raises(Stop, match="full"):
        taken.extend(piece.name for piece in pieces)
    assert "dumps/trace_0.json" not in taken or "run.json" not in taken


def test_pickled_dumps_lose_secrets_and_keep_their_form() -> None:
    entry = {
        "frames": [{"name": "main", "filename": "/x/hf_aB3dE5gH7jK9mN1pQ3sT5vW7.py", "line": 4}]
    }
    tree = {"version": "2.10", "entries": [entry, (1, 2.5, None, True)], "pg_config": {}}
    redactor = Redactor()
    told = pickle.loads(redact_pickle(pickle.dumps(tree, protocol=2), redactor))
    assert told["entries"][0]["frames"][0]["filename"] == "/x/[redacted Hugging Face token].py"
    assert told["entries"][1] == (1, 2.5, None, True)
    assert redactor.counts == {"Hugging Face token": 1}
    cut = pickle.dumps(tree, protocol=2)[:-12]
    assert pickle.loads(redact_pickle(cut, redactor))["version"] == "2.10"
