"""JSON: a key is set, and the layout stays to the character."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.fixing.editors.json import set_key
from unhang.fixing.refusal import Refusal

CONFIG = """{
    "train_micro_batch_size_per_gpu": "auto",
    "zero_optimization": { "stage": 3,
        "stage3_gather_16bit_weights_on_model_save": true },
    "empty": {},
    "wide": {
    },
    "list":[1,2 , {"a":"}"}]
}
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (
            ("zero_optimization", "stage3_gather_16bit_weights_on_model_save"),
            False,
            'save": true }',
            'save": false }',
        ),
        (("train_micro_batch_size_per_gpu",), 1, '"auto"', "1"),
        (("empty", "a"), 1, '"empty": {}', '"empty": {"a": 1}'),
        (("wide", "a"), 1, '"wide": {\n    }', '"wide": {\n        "a": 1\n    }'),
        (("zero_optimization", "b"), 1, "true }", 'true, "b": 1 }'),
        (("new",), "x", '"}"}]', '"}"}],\n    "new": "x"'),
        (
            ("checkpoint", "parallel_write", "pipeline_stage"),
            True,
            '"}"}]',
            '"}"}],\n    "checkpoint": {\n        "parallel_write": {\n'
            '            "pipeline_stage": true\n        }\n    }',
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
    ("text", "path", "message"),
    [
        ('{"a": 1, // why\n"b": 2}', ("a",), "line 1"),
        ('{"a": 1,\n}', ("a",), "line"),
        ('{"a": 1, "a": 2}', ("a",), "twice"),
        ("[1]", ("a",), "no keys"),
        ('{"a": 1}', ("a", "b"), "where keys are needed"),
        ("[" * 100_000, ("a",), "deep|parse"),
    ],
)
def test_what_is_not_plain_is_refused(text: str, path: tuple[str, ...], message: str) -> None:
    with pytest.raises(Refusal, match=message):
        set_key(text, path, 7)


def test_one_line_tabs_and_line_ends() -> None:
    assert set_key('{"a":1}', ("b",), 2) == '{"a":1, "b": 2}'
    assert set_key('{\n\t"a": 1\n}', ("b",), 2) == '{\n\t"a": 1,\n\t"b": 2\n}'
    assert set_key('{\r\n "a": 1\r\n}', ("b",), 2, newline="\r\n") == (
        '{\r\n "a": 1,\r\n "b": 2\r\n}'
    )


KEYS = st.sampled_from(["a", "b", "c", 'q"', "ü"])
LEAVES = st.one_of(st.integers(), st.booleans(), st.text(max_size=8), st.none())
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES, lambda t: st.lists(t, max_size=3) | st.dictionaries(KEYS, t), max_leaves=8
    ),
)


@given(
    tree=TREES,
    path=st.lists(KEYS, min_size=1, max_size=3),
    value=LEAVES,
    indent=st.sampled_from([None, 2, 4, "\t"]),
)
def test_any_file_gets_exactly_that_key_or_a_refusal(
    tree: dict[str, object], path: list[str], value: object, indent: int | str | None
) -> None:
    text = json.dumps(tree, indent=indent)
    try:
        after = set_key(text, path, value)
    except Refusal:
        return
    expected = json.loads(text)
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert json.loads(after) == expected
