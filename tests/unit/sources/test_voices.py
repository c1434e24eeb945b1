"""Who speaks is read from prefixes that no list has, and the message below them is left whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unhang.sources.json_lines import unwrapped
from unhang.sources.peel import peel

NAMES = st.from_regex(r"[a-z]{2,8}-?[0-9]{1,3}", fullmatch=True)
NUMBERS = st.integers(min_value=0, max_value=9_999)
BRACKETS = st.sampled_from(["[]", "()", "<>", "{}"])
JOINTS = st.sampled_from([" ", ", ", "; ", " | "])
ENDS = st.sampled_from([" ", ": ", ":", "  "])
no_deadline = settings(deadline=None)
MESSAGE = "ValueError: too many values to unpack (expected 2)"


def printed(line: str) -> str:
    """The one line that a program printed, out of a collector's."""
    (text,) = unwrapped(line)
    return text


@no_deadline
@given(st.tuples(NAMES, NUMBERS, NUMBERS), BRACKETS, JOINTS, ENDS, st.sampled_from("=:"))
def test_fields_in_brackets(
    who: tuple[str, int, int], pair: str, joint: str, end: str, sign: str
) -> None:
    host, rank, pid = who
    fields = joint.join([f"host{sign}{host}", f"rank{sign}{rank}", f"pid{sign}{pid}"])
    (message,) = peel(f"{pair[0]}{fields}{pair[1]}{end}{MESSAGE}")
    assert message.text == MESSAGE
    assert (message.origin.host, message.origin.rank, message.origin.pid) == (host, rank, pid)


@no_deadline
@given(NUMBERS, st.sampled_from(["stdout", "stderr"]), st.booleans())
def test_the_stream_of_a_task(task: int, stream: str, job: bool) -> None:
    (message,) = peel(f"[{'1,' if job else ''}{task}]<{stream}>:{MESSAGE}")
    assert message.text == MESSAGE
    assert (message.origin.task if job else message.origin.rank) == task


@no_deadline
@given(
    st.integers(min_value=0, max_value=999),
    st.sampled_from(
        ["proc {}", "process {}", "proc={}", "Process-{}", "\u8fdb\u7a0b{}", "\u8fdb\u7a0b {}"]
    ),
    st.sampled_from(["[]", "()", "\u3010\u3011", "<>"]),
    st.sampled_from(["", "\u30102026-06-16 16:00:00\u3011", "2026-05-01 10:00:00 "]),
)
def test_the_number_of_a_process_is_a_local_rank(
    number: int, form: str, pair: str, time: str
) -> None:
    (message,) = peel(f"{time}{pair[0]}{form.format(number)}{pair[1]} {MESSAGE}")
    assert (message.text, message.origin.local_rank) == (MESSAGE, number)
    assert message.origin.rank is None


@pytest.mark.parametrize(
    ("line", "rank", "host"),
    [
        ("<14>1 2026-03-02T18:10:11.95Z gpu-3 job/rank20 - - - it is gone", 20, "gpu-3"),
        ("<14>1 2026-03-02T18:10:11Z gpu-3 kernel 12 ID7 [a@1 b=2] it is gone", None, "gpu-3"),
        ("[2026-05-08 08:08:08 batch=2] rank8[9008][MainThread]: INFO: it is gone", 8, None),
        ("26/06/24 16:10:34 ERROR Engine: (rank 1) it is gone", 1, None),
        ("(worker1, rank=1, pid=4711, ip=10.0.0.2) [rank8]: it is gone", 8, "10.0.0.2"),
        ("(worker1, rank=1, pid=4711, ip=10.0.0.2) it is gone", None, "10.0.0.2"),
    ],
)
def test_forms_of_collectors(line: str, rank: int | None, host: str | None) -> None:
    *_, message = peel(line)
    assert message.text.endswith("it is gone")
    assert (message.origin.rank, message.origin.host) == (rank, host)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026-07-24T08:20:11.37Z ERROR shard-manager: my_server: it is gone", "it is gone"),
        ("2026-07-24T08:20:11.37Z  WARN my_server::proxy{id=3}: it is gone", "it is gone"),
        ("2026-07-24T08:20:11.37Z ERROR model_text: it is gone", "it is gone"),
        ("2026-07-24T08:20:11.37Z INFO model_text: it is gone", "model_text: it is gone"),
        ("2026-07-24T08:20:11.37Z ERROR prompt: it is gone", "prompt: it is gone"),
    ],
)
def test_spans_and_modules_behind_a_level(line: str, text: str) -> None:
    (message,) = peel(line)
    assert message.text == text


def test_the_evidence_keeps_the_signs_as_they_were_printed() -> None:
    (message,) = peel("\u3010\u8fdb\u7a0b2\u3011 it is gone")
    assert message.raw == "\u3010\u8fdb\u7a0b2\u3011 it is gone"


AXES = st.sampled_from(["rank", "Rank", "RANK", "global_rank", "global rank"])
SIGNS = st.sampled_from(["", " ", "=", ":", "-", "_", "#", " = "])
FRAMES = st.sampled_from(["[]", "()", "<>", "{}", "||", "~~", "«»", "[]:", "<>:"])
MARKS = st.sampled_from([": ", " | ", "| ", " > ", "> ", " >>> ", " - "])
TIMES = st.sampled_from(["", "2026-05-01 10:00:00,123 ", "2026-05-01T10:00:00Z ", "[10:00:01] "])
LEVELS = st.sampled_from(["", "ERROR ", "[ERROR] ", "INFO | "])
HOSTS = st.one_of(st.none(), NAMES)
SIZES = st.sampled_from(["", "/8", " of 8", " / 16"])


@no_deadline
@example(("", ""), "rank", "-", 0, ("", "[]:", None))
@given(st.tuples(TIMES, LEVELS), AXES, SIGNS, NUMBERS, st.tuples(SIZES, FRAMES, HOSTS))
def test_an_axis_in_brackets(
    lead: tuple[str, str], axis: str, sign: str, rank: int, rest: tuple[str, str, str | None]
) -> None:
    size, frame, host = rest
    fields = f"{axis}{sign}{rank}{size}" if host is None else f"{host} {axis}{sign}{rank}{size}"
    if axis == "Rank" and sign == " " and not size and host is None and frame[0] == "[":
        return  # torch's, within a group
    (message,) = peel(f"{''.join(lead)}{frame[0]}{fields}{frame[1:]} {MESSAGE}")
    assert (message.text, message.origin.rank) == (MESSAGE, rank)


@no_deadline
@given(TIMES, AXES, SIGNS, NUMBERS, st.tuples(SIZES, MARKS))
def test_an_axis_before_a_delimiter(
    time: str, axis: str, sign: str, rank: int, end: tuple[str, str]
) -> None:
    (message,) = peel(f"{time}{axis}{sign}{rank}{end[0]}{end[1]}{MESSAGE}")
    assert (message.text, message.origin.rank) == (MESSAGE, rank)


@pytest.mark.parametrize(
    "text",
    [
        "rank 3 did not answer: gave up",
        "rank 3 is late by 20 s: waiting",
        "ranks 0-3: ready",
        "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1",
        "r3: a name of anything",
        "gpu utilisation 3: low",
        "ranking 3 | documents",
        "(see rank 3)",
        "| rank | loss |",
        "drank 3 | beers",
    ],
)
def test_a_sentence_about_a_rank_is_no_prefix(text: str) -> None:
    (message,) = peel(text)
    assert (message.text, message.origin.rank) == (text, None)


@pytest.mark.parametrize(
    ("line", "rank", "host"),
    [
        ('ts=2026-05-01T10:00:00Z lvl=error msg="ValueError: x" rank=3 host=gpu07', 3, "gpu07"),
        ('{"level": "error", "msg": "ValueError: x", "rank": "3", "hostname": "n1"}', 3, "n1"),
        ('{"level": "error", "msg": "ValueError: x", "labels": {"global_rank": 3}}', 3, None),
    ],
)
def test_fields_of_a_collector(line: str, rank: int, host: str | None) -> None:
    (message,) = peel(printed(line))
    assert message.text == "ValueError: x"
    assert (message.origin.rank, message.origin.host) == (rank, host)


def test_a_traceback_in_a_field_of_its_own() -> None:
    fields = {"level": "error", "rank": 2, "message": "it failed", "exc_info": "Traceback\n  File"}
    assert unwrapped(json.dumps(fields)) == [
        "[error] [rank=2] it failed",
        "[error] [rank=2] Traceback",
        "[error] [rank=2]   File",
    ]


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
    (message,) = peel(printed(line))
    assert (message.text, message.origin.rank) == ("ValueError: x", 3)
    assert message.at is not None
    (message,) = peel(printed('{"event": "CUDA error", "level": "error", "rank": 2}'))
    assert (message.text, message.origin.rank) == ("CUDA error", 2)


def test_a_training_sample_is_no_log_line() -> None:
    sample = '{"text": "CUDA error: out of memory", "level": "hard"}'
    assert unwrapped(sample) == [sample]
    assert unwrapped('{"stream": "x"}') == ['{"stream": "x"}']
    assert unwrapped("{" * 5_000 + "}") == ["{" * 5_000 + "}"]


def test_what_a_collector_adds_shows_that_it_is_one() -> None:
    fields = {"ts": "2026-01-08T10:00:01Z", "kubernetes": {"host": "kf-a"}, "log": "step 3\n"}
    assert unwrapped(json.dumps(fields)) == ["2026-01-08T10:00:01Z [host=kf-a] step 3"]
    del fields["kubernetes"]
    assert unwrapped(json.dumps(fields)) == [json.dumps(fields)]
