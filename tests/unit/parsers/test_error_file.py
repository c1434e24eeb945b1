"""torchelastic's error files."""

from __future__ import annotations

from support.feeding import feed, only
from unhang.model.events import ExceptionKind, PythonException
from unhang.model.time import Clock
from unhang.parsers.error_file import ErrorFileParser
from unhang.parsers.traceback import TracebackParser

STACK = (
    r'"py_callstack": "Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n'
    r'    run()\nValueError: bad shard\n"'
)
ONE_LINE = (
    '{"message": {"message": "ValueError: bad shard", "extraInfo": {'
    + STACK
    + ', "timestamp": "1772442680"}}}'
)


def test_a_file_of_one_line() -> None:
    event = only(PythonException, feed(ErrorFileParser, ONE_LINE))
    assert (event.exception, event.message) == ("ValueError", "bad shard")
    assert [(f.file, f.line, f.function) for f in event.frames] == [("train.py", 9, "main")]
    assert event.at is not None
    assert (event.at.seconds, event.at.clock) == (1772442680.0, Clock.UTC)


def test_as_the_error_handler_logs_it() -> None:
    event = only(
        PythonException,
        feed(
            ErrorFileParser,
            "{",
            '  "message": {',
            '    "message": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",',
            '    "extraInfo": {',
            f"      {STACK},",
        ),
    )
    assert (event.exception, event.kind) == ("OutOfMemoryError", ExceptionKind.GPU_OOM)
    assert event.at is None


def test_the_escaped_traceback_is_told_once() -> None:
    assert feed(TracebackParser, ONE_LINE) == []


def test_other_json_is_no_error_file() -> None:
    assert feed(ErrorFileParser, '{"message": "Loaded", "level": "info"}') == []
