"""TOML: a key is set in its table, and everything else stays."""

import functools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.fixing.editors.toml import parse, set_key
from unhang.fixing.refusal import Refusal

CONFIG = """\
title = "run"  # top

[training]
batch = 8
# steps of the whole run
steps = 1_000  # few
files = [
  "a",
]

[comm]  # seconds
init_timeout_seconds = 300
trace = "x # y"

[[parts]]
comm = 1
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("comm", "init_timeout_seconds"), 900, "= 300", "= 900"),
        (("comm", "trace"), "z", '"x # y"', '"z"'),
        (("comm", "train_timeout_seconds"), 600, '# y"\n', '# y"\ntrain_timeout_seconds = 600\n'),
        (("training", "steps"), 5, "1_000  # few", "5  # few"),
        (("training", "compile"), True, '"a",\n]\n', '"a",\n]\ncompile = true\n'),
        (("title",), "other", '"run"', '"other"'),
        (
            ("checkpoint", "async_mode"),
            "async",
            "comm = 1\n",
            'comm = 1\n\n[checkpoint]\nasync_mode = "async"\n',
        ),
    ],
)
def test_a_key_is_set_and_nothing_else(
    path: tuple[str, ...], value: object, old: str, new: str
) -> None:
    after = set_key(CONFIG, path, value)
    assert after == CONFIG.replace(old, new)
    assert set_key(after, path, value) == after


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("comm = {x = 1, y = 3}  # c\n", "comm.x", "comm = {x = 2, y = 3}  # c\n"),
        ("comm.x = 1\nz = 2\n", "comm.x", "comm.x = 2\nz = 2\n"),
        ("comm.x = 1\nz = 2\n", "comm.y", "comm.x = 1\ncomm.y = 2\nz = 2\n"),
        ('[a]\nb = """\ntext\n"""\nc = 1\n', "a.b", "[a]\nb = 2\nc = 1\n"),
        ("[a]\nb = 1\n", "c", "c = 2\n\n[a]\nb = 1\n"),
        ("[a.b]\nc = 1\n", "a.q", "[a]\nq = 2\n\n[a.b]\nc = 1\n"),
        ("[a.b]\nc = 1\n[x]\ny = 1\n[a]\nz = 1\n", "a.q", None),
        ("[a]\n  b = 1\n\n# of c\n[c]\n", "a.q", "[a]\n  b = 1\n  q = 2\n\n# of c\n[c]\n"),
        ("\ufeffb = 0x10  # b\n", "b", "\ufeffb = 2  # b\n"),
    ],
)
def test_every_way_of_writing_a_key(text: str, path: str, after: str | None) -> None:
    assert set_key(text, path.split("."), 2) == (text + "q = 2\n" if after is None else after)


_KEYS = st.sampled_from(["a", "b", "c d", "é"])
_VALUES = st.sampled_from(["1", "'x'", '"# y"', "[1, 2]", "[\n  1,\n]", "{b = 1}", "2024-01-01"])
_LINES = st.one_of(
    st.builds("{} = {}".format, _KEYS.map(json.dumps), _VALUES),
    st.builds("[{}]".format, st.lists(_KEYS.map(json.dumps), min_size=1).map(".".join)),
    st.builds("[[{}]]".format, _KEYS.map(json.dumps)),
    st.sampled_from(["", "# said", "  # said", "a.b = 3  # said"]),
)


@given(
    lines=st.lists(_LINES, max_size=12),
    path=st.lists(_KEYS, min_size=1, max_size=3),
    newline=st.sampled_from(["\n", "\r\n"]),
    is_whole=st.booleans(),
)
def test_any_file_gets_exactly_that_key_or_a_refusal(
    lines: list[str], path: list[str], newline: str, *, is_whole: bool
) -> None:
    text = newline.join([line.replace("\n", newline) for line in lines])
    text += newline if is_whole and text else ""
    try:
        before = parse(text)
        after = set_key(text, path, "new", newline=newline)
    except Refusal:
        return
    inner = functools.reduce(lambda table, key: table[key], path[:-1], parse(after))
    assert inner.pop(path[-1]) == "new"
    assert _kept(before, path) == _kept(parse(after), path)
    gone = len(text.splitlines()) - sum(line in after.splitlines() for line in text.splitlines())
    assert gone <= 3  # of the old value, which may fill three lines
    assert after.endswith(newline) == (text.endswith(newline) or not text)
    assert set_key(after, path, "new", newline=newline) == after


def _kept(data: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """The data without the key, and without tables that hold nothing else."""
    key, *rest = path
    if rest and isinstance(data.get(key), dict):
        inner = _kept(data[key], rest)
        return {**data, key: inner} if inner else {k: v for k, v in data.items() if k != key}
    return {k: v for k, v in data.items() if k != key}


@pytest.mark.parametrize(
    ("text", "path", "value", "message"),
    [
        ("a = ", ("a",), 1, "parse"),
        ("comm = {x = 1}\n", ("comm", "y"), 2, "too complex"),
        ("comm = {x = 1}\n", ("comm", "y", "z"), 2, "too complex"),
        ("a = 1\n", ("a", "b"), 2, "table"),
        ("[[a]]\nb = 1\n", ("a", "b"), 2, "table"),
        ("[a]\nb = 1\n", ("a", "b"), None, "null"),
    ],
)
def test_what_is_not_plain_is_refused(
    text: str, path: tuple[str, ...], value: object, message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        set_key(text, path, value)


def test_line_ends_and_a_missing_last_one_stay() -> None:
    text = "[a]\r\nb = 1"
    assert set_key(text, ("a", "c"), 2, newline="\r\n") == "[a]\r\nb = 1\r\nc = 2"
    assert set_key(text, ("d", "c"), 2, newline="\r\n") == ("[a]\r\nb = 1\r\n\r\n[d]\r\nc = 2")
