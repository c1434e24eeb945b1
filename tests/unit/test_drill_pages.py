"""The pages on drills: what is counted, and as what."""

from __future__ import annotations

from drills import afterwards_page, live_page
from drills.runs import Result
from unhang.lab.drills import find_drill
from unhang.lab.live_verdicts import Level, LiveVerdict
from unhang.lab.scoring import Judged, Mark, Report
from unhang.lab.truth import truth_of


def result(name: str, live: Mark, named_s: float | None, *culprits: int) -> Result:
    """A drill that was watched."""
    drill = find_drill(name)
    truth = truth_of(drill, at="2026-11-21", world_size=4, exit_code=1, seconds=12.3)
    judged = Judged(
        sources="logs",
        mark=Mark.RIGHT,
        said="located",
        culprits="2",
        phase=None,
        confidence=0.8,
        fired=("LOC101",),
    )
    word = LiveVerdict(level=Level.HANG, at="2026-11-21", culprits=culprits)
    named = word if named_s is not None else None
    report = Report(truth=truth, judged=(judged,), live=live, named=named, named_s=named_s)
    return Result(drill, report)


RESULTS = [
    result("sleep", Mark.RIGHT, 6.5, 2),
    result("stopped", Mark.RIGHT, 7.0, 1),
    result("killed", Mark.WRONG, 2.0, 0),
    result("wrong-size", Mark.UNDETERMINED, 1.0),
    result("healthy", Mark.RIGHT, None),
]


def test_a_page_counts_what_was_named_in_time() -> None:
    text = "\n".join(live_page.page(RESULTS, [], 20.0))
    assert "Faults: 2 right, 1 undetermined, 1 wrong of 4, of 4 kinds." in text
    assert "Jobs that are well: 1 right, 0 undetermined, 0 wrong of 1." in text
    assert "prove themselves: 0 of 3 named within 5 s, 1 at all." in text
    assert "time must tell: 1 of 1 named within 10 s, 1 at all." in text
    assert "| stop | 1 | 1 | 0 | 0 | 0 | 1 | 7.0 |" in text
    assert "| hang of rank 2 | 6.5 | right |" in text
    assert "Left behind: nothing." in text


def test_what_did_not_run_has_a_row_that_says_why() -> None:
    failed = Result(find_drill("sleep"), None, "no space left")
    assert live_page.row(failed)[3:] == ("failed: no space left", "", "")
    page = "\n".join(afterwards_page.page([failed, RESULTS[0]], ["port 80 1"]))
    assert "failed: no space left" in page
    assert "right: located of rank 2" in page
    assert "Left behind: port 80 1." in page
