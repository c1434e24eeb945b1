"""TOML: a key is set in its table, and everything else stays."""

import pytest

from unhang.fixing.editors.toml import set_key
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
    ("text", "path", "value", "message"),
    [
        ("a = ", ("a",), 1, "parse"),
        ("comm = {x = 1}\n", ("comm", "x"), 2, "not plain"),
        ("comm.x = 1\n", ("comm", "x"), 2, "not plain"),
        ('[a]\nb = """\ntext\n"""\n', ("a", "b"), 2, "not plain"),
        ("a = 1\n", ("a", "b"), 2, "table"),
        ("[a]\nb = 1\n", ("c",), 2, "at its top"),
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
    assert set_key(text, ("d", "c"), 2, newline="\r\n") == ("[a]\r\nb = 1\r\n\r\n[d]\r\nc = 2\r\n")
