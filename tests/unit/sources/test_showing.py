"""Forms in which a log shows a text of others, and where such a text ends."""

from __future__ import annotations

import pytest

from unhang.sources.showing import Showing

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
