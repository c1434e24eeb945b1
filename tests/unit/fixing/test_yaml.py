"""YAML: a key is set, and every other character stays."""

import difflib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from unhang.fixing.editors.yaml import scalar, set_key
from unhang.fixing.refusal import Refusal

CONFIG = """\
# The run of Tuesday
output_dir: out   # on the shared disk

ddp_timeout: 1800  # seconds
fsdp_config:
    state_dict_type: "FULL_STATE_DICT"
    wrap: [a, b]
deepspeed: {stage: 3, offload: {device: none}}
lr: 1.0e-05
names:
- one
- two
"""


def changed(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.parametrize(
    ("path", "value", "difference"),
    [
        (
            ("ddp_timeout",),
            7200,
            ["- ddp_timeout: 1800  # seconds", "+ ddp_timeout: 7200  # seconds"],
        ),
        (("save_steps",), 100, ["+ save_steps: 100"]),
        (
            ("fsdp_config", "state_dict_type"),
            "SHARDED_STATE_DICT",
            [
                '-     state_dict_type: "FULL_STATE_DICT"',
                "+     state_dict_type: SHARDED_STATE_DICT",
            ],
        ),
        (("fsdp_config", "offload"), True, ["+     offload: true"]),
        (("a", "b", "c"), "on", ["+ a:", "+     b:", '+         c: "on"']),
        (("deepspeed", "stage"), 2, None),
        (("deepspeed", "gather"), False, None),
        (("deepspeed", "offload", "pin"), True, None),
        (("contents",), ["model", "extra"], ["+ contents: [model, extra]"]),
    ],
)
def test_a_key_is_set_and_nothing_else(
    path: tuple[str, ...], value: object, difference: list[str] | None
) -> None:
    after = set_key(CONFIG, path, value)
    expected = yaml.safe_load(CONFIG)
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert yaml.safe_load(after) == expected
    if difference is not None:
        assert changed(CONFIG, after) == difference
    assert len(changed(CONFIG, after)) <= 3
    assert set_key(after, path, value) == after


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("a: 1\na: 2\n", ("a",), "2 times"),
        ("a: &x 1\nb: *x\n", ("a",), "alias"),
        ("a: &x 1\nb: *x\n", ("b",), "alias"),
        ("base: &b {t: 1}\nrun: *b\n", ("run", "t"), "too complex"),
        ("base: &b {t: 1}\nrun: *b\n", ("run", "u"), "alias"),
        ("a: |\n  text\n", ("a",), "not a plain value"),
        ("a: [1, 2]\n", ("a",), "not a plain value"),
        ("a: 5\n", ("a", "b"), "where keys are needed"),
        ("a: !!int 5\n", ("a",), "anchor"),
        ("a: 1\n---\nb: 2\n", ("a",), "2 documents"),
        ("", ("a",), "0 documents"),
        ("- 1\n", ("a",), "no keys"),
        ("a: [1\nb: 2\n", ("a",), "line 2"),
        ("{{ .Values.x }}: 1\n", ("a",), "parse|plain"),
        ("? [a, b]\n: 1\n", ("c",), "plain names"),
    ],
)
def test_what_is_not_plain_is_refused(text: str, path: tuple[str, ...], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        set_key(text, path, 7)


def test_an_empty_value_is_filled() -> None:
    assert set_key("a:\nb: 1\n", ("a",), 5) == "a: 5\nb: 1\n"


def test_a_merged_key_is_added_where_it_counts() -> None:
    text = "base: &b\n  t: 1\nrun:\n  <<: *b\n  u: 2\n"
    assert set_key(text, ("run", "t"), 7) == "base: &b\n  t: 1\nrun:\n  <<: *b\n  u: 2\n  t: 7\n"


def test_line_ends_and_a_missing_last_one_stay() -> None:
    after = set_key("a: 1\r\nb: 2", ("c",), 3, newline="\r\n")
    assert after == "a: 1\r\nb: 2\r\nc: 3"
    assert set_key("\ufeffa: 1\n", ("a",), 3) == "\ufeffa: 3\n"


def test_a_comment_at_the_end_stays_at_the_end() -> None:
    assert set_key("a: 1\n\n# bye\n", ("b",), 2) == "a: 1\nb: 2\n\n# bye\n"
    nested = "a:\n  b: |\n    text\n\nc: 1\n"
    assert yaml.safe_load(set_key(nested, ("a", "d"), 2))["a"]["d"] == 2


@pytest.mark.parametrize(
    "value", ["2:00:00", "yes", "1e3", "null", "~", "a: b", "#x", "", " a", "7"]
)
def test_words_that_yaml_reads_otherwise_are_quoted(value: str) -> None:
    assert yaml.safe_load(f"k: {scalar(value)}") == {"k": value}


KEYS = st.sampled_from(["a", "b", "c", "d"])
LEAVES = st.one_of(st.integers(), st.booleans(), st.text(max_size=8), st.none())
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES, lambda t: st.lists(t, max_size=3) | st.dictionaries(KEYS, t), max_leaves=8
    ),
    min_size=1,
)


@given(
    tree=TREES,
    path=st.lists(KEYS, min_size=1, max_size=3),
    value=st.one_of(st.integers(), st.booleans(), st.text(max_size=6)),
    flow=st.sampled_from([True, False, None]),
)
def test_any_file_gets_exactly_that_key_or_a_refusal(
    tree: dict[str, object], path: list[str], value: object, flow: bool | None
) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, sort_keys=False)
    try:
        after = set_key(text, path, value)
    except Refusal:
        return
    expected = yaml.safe_load(text)
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert yaml.safe_load(after) == expected
