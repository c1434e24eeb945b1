"""Who speaks is read from prefixes that no list has, and the message below them is left whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unhang.sources.json_lines import unwrapped
from unhang.sources.peel import peel

NAMES = st.from_regex(r"[a-z]{2,8}-?[0-9]{1,3}", fullmatch=True)
NUMBERS = st.integers(min_value=0, max_value=9_999)
BRACKETS = st.sampled_from(["[]", "()", "<>", "{}"])
JOINTS = st.sampled_from([" ", ", ", "; ", " | "])
ENDS = st.sampled_from([" ", ": ", ":", "  "])
MESSAGE = "ValueError: too many values to unpack (expected 2)"


@given(st.tuples(NAMES, NUMBERS, NUMBERS), BRACKETS, JOINTS, ENDS, st.sampled_from("=:"))
def test_fields_in_brackets(
    who: tuple[str, int, int], pair: str, joint: str, end: str, sign: str
) -> None:
    host, rank, pid = who
    fields = joint.join([f"host{sign}{host}", f"rank{sign}{rank}", f"pid{sign}{pid}"])
    (message,) = peel(f"{pair[0]}{fields}{pair[1]}{end}{MESSAGE}")
    assert message.text == MESSAGE
    assert (message.origin.host, message.origin.rank, message.origin.pid) == (host, rank, pid)


@given(NUMBERS, st.sampled_from(["stdout", "stderr"]), st.booleans())
def test_the_stream_of_a_task(task: int, stream: str, job: bool) -> None:
    (message,) = peel(f"[{'1,' if job else ''}{task}]<{stream}>:{MESSAGE}")
    assert (message.text, message.origin.task) == (MESSAGE, task)


def test_the_rank_within_a_group_stays_with_the_message() -> None:
    text = "[PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog"
    (message,) = peel(text)
    assert (message.text, message.origin.rank) == (text, None)


def test_structlog_tells_the_level() -> None:
    (message,) = peel("2026-05-01 10:00:01 [error    ] shard is gone   shard=17")
    assert message.text == "shard is gone   shard=17"
    assert message.header is not None
    assert message.header.severity == "E"


def test_a_path_of_windows_is_a_source_file() -> None:
    (message,) = peel(r"[W ..\torch\csrc\distributed\c10d\socket.cpp:663] [c10d] The client socket")
    assert message.header is not None
    assert message.header.line == 663


def test_docker_and_json_loggers() -> None:
    line = '{"log":"[rank3]: ValueError: x\\n","stream":"stderr","time":"2026-05-01T10:00:00.5Z"}'
    (message,) = peel(unwrapped(line))
    assert (message.text, message.origin.rank) == ("ValueError: x", 3)
    assert message.at is not None
    (message,) = peel(unwrapped('{"event": "CUDA error", "level": "error", "rank": 2}'))
    assert (message.text, message.origin.rank) == ("CUDA error", 2)


def test_a_training_sample_is_no_log_line() -> None:
    sample = '{"text": "CUDA error: out of memory", "level": "hard"}'
    assert unwrapped(sample) == sample
    assert unwrapped('{"log": 3, "stream": "x"}') == '{"log": 3, "stream": "x"}'
    assert unwrapped("{" * 5_000 + "}") == "{" * 5_000 + "}"
