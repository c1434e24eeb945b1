"""Forms in which a log shows a text of others, where such a text ends, and what only looks so."""

from __future__ import annotations

import pytest

from support.job_text import incident_of, timed_out
from unhang.model.events import CollectiveTimeout
from unhang.sources.context import is_work
from unhang.sources.showing import Showing, begins

BOX = ["=" * 60, "finetune.py FAILED", "-" * 60, "Failures:", "  <NO_OTHER_FAILURES>", "=" * 60]


@pytest.mark.parametrize(
    "setting",
    ["Set pad token: <|endoftext|>", "bos = <s>", "stop token of the template: <end_of_turn>"],
)
def test_a_setting_whose_value_is_a_token_shows_no_text(setting: str) -> None:
    assert begins(setting) is None
    log = [f"2026-03-02 10:00:0{i} INFO loader: part {i} of 9" for i in range(5)]
    log.append(f"2026-03-02 10:00:07 INFO template: {setting}")
    found = incident_of(*log, timed_out(1), timed_out(2), *BOX)
    assert {e.origin.rank for e in found.all(CollectiveTimeout)} == {1, 2}


@pytest.mark.parametrize("text", ["<|im_start|>user", "It is 42.<|im_end|>", "prompt: <s>"])
def test_a_part_of_a_chat_still_does(text: str) -> None:
    assert begins(text) is not None


@pytest.mark.parametrize(
    "bar",
    [
        "Tokenizing:  11%|█         | 3700/33012 [03:57<31:18, 15.83 examples/s]",
        "Map (num_proc=4):  4%|▍  | 12/300 [00:10<04:00,  1.20 docs/s]",
        "decode 3/9 [1:00:02<2:00:04, 0.00 clips/s]",
    ],
)
def test_a_bar_of_any_unit_is_work(bar: str) -> None:
    assert is_work(bar)


def test_no_bar_is_no_work() -> None:
    assert not is_work("a < b, 3/4 of [them]")


KILLED = "srun: error: gpu07: task 3: Killed"


def shown(*lines: str) -> list[int]:
    showing = Showing()
    for number, line in enumerate(lines, 1):
        showing.see(line, number, raw=line)
    showing.finish()
    return sorted(showing.shown)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # two fields of a head are a mail, whatever it holds; one may be a message
        (("From: mei@lab.org", "Subject: run", "Is that ours?", KILLED), [3, 4]),
        (("Subject: 4711", KILLED), []),
        # a text of YAML ends where its indentation does
        (("note: |2", "  " + KILLED, "size: 3", KILLED), [2]),
        (("  note: >-", "    " + KILLED, "  " + KILLED), [2]),
        # what a sample came to ends it; it begins none
        (("### Completion", KILLED, "### Reward 0.25"), [2, 3]),
        (("Reward: 0.25", KILLED, "Reward: 0.31"), []),
        (("+--- entry 4 ------+", f"| {KILLED} |", "+------------------+"), [2, 3]),
        (("❯ bat old.log", KILLED, "❯"), [2]),
    ],
)
def test_what_is_shown(lines: tuple[str, ...], expected: list[int]) -> None:
    assert shown(*lines) == expected
