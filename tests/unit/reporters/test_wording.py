"""Values are worded the same everywhere."""

import pytest

from unhang.model.provenance import Message
from unhang.reporters.catalogue import sentence, sentences, write
from unhang.reporters.catalogue.wording import Wording


def word(template: str, value: object, language: str = "en") -> str:
    return Wording(sentences(language)).vformat(template, (), {"x": value})


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        (3, "rank 3"),
        (0, "rank 0"),
        (frozenset({0}), "rank 0"),
        (frozenset({5, 0, 1, 2, 3}), "ranks 0-3,5"),
        (frozenset(range(0, 96, 8)), "ranks 0,8,16,24,32,40,48,56,64,72,80,88"),
        (frozenset(range(0, 512, 8)), "ranks 0,8,…,504 (64 in all)"),
        (frozenset(), "no rank"),
        (None, "unknown"),
    ],
)
def test_ranks(ranks: object, text: str) -> None:
    assert word("{x:ranks}", ranks) == text


def test_every_rank() -> None:
    assert word("{x:every}", frozenset(range(0, 512, 8))).count(",") == 63


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.02, "20 ms"),
        (1.5, "1.5 s"),
        (12.0, "12 s"),
        (59.96, "1 min"),
        (600.02, "10 min"),
        (1_795, "29 min 55 s"),
        (3_599.9, "1 h"),
        (7_260, "2 h 1 min"),
        (172_799, "48 h"),
        (180_000, "2 d 2 h"),
        (-90, "-1 min 30 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert word("{x:s}", seconds) == text
    assert word("{x:ms}", seconds * 1_000) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_536, "1.5 KiB"),
        (3 << 40, "3 TiB"),
        (5_000 << 40, "5000 TiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert word("{x:bytes}", size) == text


def test_operations() -> None:
    assert word("{x:ops}", "ALLREDUCE") == "ALLREDUCE"
    assert word("{x:ops}", frozenset({"BROADCAST", "ALLGATHER"})) == "ALLGATHER and BROADCAST"
    assert word("{x:ops}", ["C", "B", "A"]) == "A, B and C"


@pytest.mark.parametrize(("count", "text"), [(0, "processes"), (1, "process"), (2, "processes")])
def test_one_or_many(count: int, text: str) -> None:
    assert word("{x:|process|processes}", count) == text


def test_bare_sets_and_plain_values() -> None:
    assert word("{x}", frozenset({1, 2, 3})) == "1-3"
    assert word("{x}", frozenset({"b", "a"})) == "a and b"
    assert word("{x:,}", 65_536) == "65,536"


def test_braces_in_a_value_are_text() -> None:
    assert word("{x}", "{0.__class__}") == "{0.__class__}"


def test_a_message_that_does_not_fit_still_says_something() -> None:
    assert write(Message(key="no.such.key", values={"rank": 3})) == "no.such.key (rank=3)"
    assert write(Message(key="unit.rank")) == "unit.rank"


def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name() -> None:
    assert sentence(Message(key="unit.ranks", values={"n": "0-3"})) == "Ranks 0-3"
    assert sentence(Message(key="unit.min", values={"n": "torch.save"})) == "torch.save min"
    assert sentence(Message(key="unit.s", values={"n": "dmesg -T"})) == "dmesg -T s"


def test_a_language_without_a_sentence_says_it_in_english() -> None:
    assert set(sentences("en")) <= set(sentences("zh"))
    assert set(sentences("en")) <= set(sentences("tlh"))
