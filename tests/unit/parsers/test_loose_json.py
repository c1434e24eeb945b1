"""JSON that is damaged still tells what it holds."""

import json

import pytest

from unhang.parsers.vocabulary.loose_json import LooseJson, Object

DOCUMENT = {
    "version": "2.29.1",
    "groups": [
        {"name": "a", "size": 2, "ranks": [{"rank": 0, "ok": True}, {"rank": 1, "ok": None}]},
        {"name": 'b "quoted" \\', "size": -1.5e3, "ranks": []},
    ],
    "ras": {"time": 0.25},
}


def objects(*lines: str, at: tuple[str, ...]) -> list[Object]:
    reader = LooseJson()
    found = [c for line in lines for c in reader.feed(line)]
    found += reader.close()
    return [c.value for c in found if c.path == at]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_objects_come_as_they_close(indent: int | None) -> None:
    lines = json.dumps(DOCUMENT, indent=indent).split("\n")
    ranks = objects(*lines, at=("groups", "ranks"))
    assert ranks == [{"rank": 0, "ok": True}, {"rank": 1, "ok": None}]
    assert [(g["name"], g["size"]) for g in objects(*lines, at=("groups",))] == [
        ("a", 2),
        ('b "quoted" \\', -1500.0),
    ]
    assert objects(*lines, at=()) == [
        {"version": "2.29.1", "groups": None, "ras": {"time": 0.25}},
    ]


def test_commas_mean_nothing() -> None:
    text = json.dumps(DOCUMENT).replace(",", " ")
    assert len(objects(text, at=("groups", "ranks"))) == 2


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_what_was_cut_is_closed(share: float) -> None:
    text = json.dumps(DOCUMENT)
    (group, *_) = objects(text[: int(len(text) * share)], at=("groups",))
    assert group["name"] == "a"


def test_a_line_in_pieces_is_one_line() -> None:
    text = json.dumps(DOCUMENT)
    for cut in range(1, len(text)):
        reader = LooseJson()
        found = [*reader.feed(text[:cut]), *reader.feed(text[cut:], goes_on=True)]
        assert found[-1].value == {"version": "2.29.1", "groups": None, "ras": {"time": 0.25}}


@pytest.mark.parametrize("text", ["}" * 50, "[" * 100_000, '{"a":' * 1000, '"' * 999, "{]}[" * 99])
def test_junk_is_nothing(text: str) -> None:
    reader = LooseJson()
    for closed in (*reader.feed(text), *reader.close()):
        assert len(closed.path) <= 32
