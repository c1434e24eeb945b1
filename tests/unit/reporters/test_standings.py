"""Where the ranks were, on a page and in JSON."""

import re
from dataclasses import replace

from support.diagnoses import ranks, slow_save
from support.job_text import incident_of
from unhang.model.diagnosis import Diagnosis
from unhang.reporters import json, markdown, terminal
from unhang.reporters.html.stack_tree import stack_tree
from unhang.reporters.parts import SCREEN
from unhang.reporters.view import view

STACK = 'Thread 1 (idle): "MainThread"\n{frames}\n    main (train.py:{line})\n'
BARRIER = "    barrier (torch/distributed/distributed_c10d.py:5356)"
SAVE = "    _save (torch/serialization.py:1259)"


def diagnosis(*frames: str) -> Diagnosis:
    """A verdict beside which one stack for each rank was given."""
    stacks = {
        f"rank{rank}.txt": STACK.format(frames=text, line=9) for rank, text in enumerate(frames)
    }
    return replace(slow_save(), standings=incident_of("", **stacks).standings)


def test_classes_not_ranks() -> None:
    shown = view(diagnosis(SAVE, *[BARRIER] * 511), "en", SCREEN).standings
    assert [(entry.label, entry.text) for entry in shown] == [
        ("Ranks 1-511", "wait for other ranks in barrier, called by main (train.py:9)"),
        (
            "Rank 0",
            "saving a checkpoint: torch/serialization.py:_save, called by main (train.py:9)",
        ),
    ]


def test_more_places_than_fit_are_counted() -> None:
    frames = [f"    part_{n} (train.py:{n})" for n in range(9)]
    shown = view(diagnosis(*frames), "en", SCREEN).standings
    assert len(shown) == SCREEN.standings + 1
    assert shown[-1].text == "… 5 more places"


def test_the_tree_of_stacks_begins_with_the_culprit() -> None:
    frames = [f"    part_{n} (train.py:{n})" for n in range(20)]
    tree = str(stack_tree(replace(diagnosis(*frames), culprits=ranks(19)), "en"))
    places = re.findall(r"part_\d+", tree)
    assert places == ["part_19", *(f"part_{n}" for n in range(15))]
    assert "4 more classes of ranks not shown." in tree


def test_the_section_is_on_both_pages() -> None:
    told = diagnosis(SAVE, BARRIER)
    for page in (terminal.render(told), markdown.render(told)):
        assert "Where the ranks were" in page
    assert "Where the ranks were" not in terminal.render(slow_save())


def test_json_has_the_path() -> None:
    told = json.as_dict(diagnosis(SAVE, BARRIER))["stacks"]
    assert isinstance(told, list)
    assert told[0]["ranks"] == "0"
    assert told[0]["path"] == ["train.py:main", "torch/serialization.py:_save"]
    assert told[1]["op"] == "barrier"
