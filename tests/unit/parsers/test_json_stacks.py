"""py-spy's JSON."""

import json

from support.feeding import feed, line
from unhang.model.events import ThreadStack
from unhang.parsers.json_stacks import JsonStacksParser


def frame(name: str, file: str, number: int) -> dict[str, object]:
    return {"name": name, "filename": file, "module": None, "short_filename": file, "line": number}


THREADS = [
    {
        "pid": 4711,
        "thread_id": 139886602369920,
        "thread_name": "MainThread",
        "os_thread_id": 4711,
        "active": False,
        "owns_gil": False,
        "frames": [
            frame("save", "/opt/env/lib/python3.11/site-packages/torch/serialization.py", 944),
            frame("<module>", "/home/ada/train.py", 8),
        ],
    },
    {
        "pid": 4711,
        "thread_id": 139886602369921,
        "thread_name": None,
        "os_thread_id": 4720,
        "active": True,
        "owns_gil": True,
        "frames": [frame("_bootstrap", "/usr/lib/python3.11/threading.py", 1002)],
    },
]


def stacks(text: str) -> list[ThreadStack]:
    lines = [line(t, number=n) for n, t in enumerate(text.split("\n"), 1)]
    return [e for e in feed(JsonStacksParser, *lines) if isinstance(e, ThreadStack)]


def check(found: list[ThreadStack]) -> None:
    main, other = found
    assert (main.origin.pid, main.tid, main.main, main.idle) == (4711, 4711, True, True)
    assert [(f.function, f.line) for f in main.frames] == [("<module>", 8), ("save", 944)]
    assert (other.gil, other.idle) == (True, False)


def test_a_document_over_many_lines() -> None:
    check(stacks(json.dumps(THREADS, indent=2)))


def test_a_document_on_one_line() -> None:
    check(stacks(json.dumps(THREADS)))


def test_a_document_whose_end_is_lost() -> None:
    text = json.dumps(THREADS, indent=2)
    (main,) = stacks(text[: text.index("139886602369921")])
    assert len(main.frames) == 2


def test_frames_of_other_documents_are_none() -> None:
    assert not stacks(json.dumps({"pid": 3, "frames": [frame("save", "a.py", 1)]}))
