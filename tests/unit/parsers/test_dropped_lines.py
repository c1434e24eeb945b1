"""Lines that Ray left out."""

from dataclasses import replace

from support.feeding import feed, line, only
from support.job_text import incident_of
from unhang.model.events import LinesDropped
from unhang.model.provenance import Origin
from unhang.parsers.dropped_lines import DroppedLinesParser

TEXT = "(WorkerDict pid=830) step 7 [repeated 7x across cluster]"


def test_the_mark_says_how_many() -> None:
    marked = replace(line(TEXT), origin=Origin(repeated=7))
    assert only(LinesDropped, feed(DroppedLinesParser, marked)).count == 7


def test_words_alone_are_no_mark() -> None:
    assert feed(DroppedLinesParser, "we ran it 3x across cluster] nodes") == []


def test_a_log_of_ray_counts_them() -> None:
    assert incident_of("Error: x " + TEXT).coverage.lines_dropped == 7
