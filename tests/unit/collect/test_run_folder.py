"""A run folder and dumps in a bundle: the newest, readable, and without secrets."""

import json
import pickle
from pathlib import Path

from desks import desk, take
from unhang.collect.redaction import Redactor
from unhang.collect.specs import run_folder
from unhang.probe.board import Board


def test_everything_of_a_run_folder_but_old_dumps_and_data(tmp_path: Path) -> None:
    for name, text in {
        "run.json": '{"schema": "unhang.run/1"}',
        "events.jsonl": '{"kind": "attached"}\n',
        "output/h/stdout.log": "2026-11-21T07:00:00.000000+00:00 step 1\n",
        "stacks/h-11.txt": "Timeout (0:00:05)!\n",
        "stacks/h-12.txt": "",
        "dumps/1/trace_0.json": "old",
        "dumps/2/trace_0.json": '{"version": "2.10"}',
        "dumps/2/stack_0.txt": "Thread 0x1 (most recent call first):\n",
        "dumps/2/done_h-11": "",
        "captures/1.unhang.tar.zst": "bundle",
        "history.sqlite-journal": "SQLite format 3",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "boards").mkdir()
    board = Board(str(tmp_path / "boards" / "h-11.board"))
    board.pin({"rank": 0, "pid": 11}, 5.0)
    board.close()
    told = take(run_folder.SPEC, desk(run_folder=tmp_path))
    assert sorted(told) == [
        "boards/h-11.json",
        "dumps/trace_0.json",
        "events.jsonl",
        "output/h/stdout.log",
        "rank_0/probe-frozen.txt",
        "rank_0/probe-stack.txt",
        "run.json",
    ]
    assert json.loads(told["boards/h-11.json"]) == {
        "beats": 1,
        "monotonic_s": 5.0,
        "beat": {"rank": 0, "pid": 11},
    }
    assert told["dumps/trace_0.json"] == b'{"version": "2.10"}'
    chosen = take(run_folder.SPEC, desk(run_folder=tmp_path, dumps=(tmp_path / "dumps" / "1",)))
    assert chosen["dumps/trace_0.json"] == b"old"


def test_pickled_dumps_lose_secrets_and_keep_their_form() -> None:
    entry = {
        "frames": [{"name": "main", "filename": "/x/hf_aB3dE5gH7jK9mN1pQ3sT5vW7.py", "line": 4}]
    }
    tree = {"version": "2.10", "entries": [entry, (1, 2.5, None, True)], "pg_config": {}}
    redactor = Redactor()
    told = pickle.loads(redactor.pickle(pickle.dumps(tree, protocol=2)))
    assert told["entries"][0]["frames"][0]["filename"] == "/x/[redacted Hugging Face token].py"
    assert told["entries"][1] == (1, 2.5, None, True)
    assert redactor.counts == {"Hugging Face token": 1}
    cut = pickle.dumps(tree, protocol=2)[:-12]
    assert pickle.loads(redactor.pickle(cut))["version"] == "2.10"
