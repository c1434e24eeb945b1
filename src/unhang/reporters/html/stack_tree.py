"""From the stacks of all processes to one tree: what they share once, and where they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unhang.model.diagnosis import Diagnosis
from unhang.model.ids import RankSpans
from unhang.model.provenance import Message
from unhang.model.stack_states import StackClass, StackStep
from unhang.reporters.catalogue import write
from unhang.reporters.html.frame import words
from unhang.reporters.html.markup import Html, join, tag
from unhang.reporters.printable import one_line

_MOST_CLASSES = 16


@dataclass(slots=True)
class _Node:
    """Steps that follow each other without a branch, and the branches behind them."""

    classes: list[StackClass] = field(default_factory=list)
    below: dict[str, _Node] = field(default_factory=dict)


def stack_tree(diagnosis: Diagnosis, language: str) -> Html | None:
    """Return the tree from the outermost frame inward; None without stacks."""
    root = _Node()
    blamed = diagnosis.culprits
    standings = sorted(diagnosis.standings, key=lambda one: blamed.isdisjoint(one.ranks))
    for standing in standings[:_MOST_CLASSES]:
        node = root
        node.classes.append(standing)
        for step in standing.first.path:
            node = node.below.setdefault(one_line(_shown(step)), _Node())
            node.classes.append(standing)
    if not root.below:
        return None
    more = len(standings[_MOST_CLASSES:])
    return join(
        tag("ul", _items(root, diagnosis, language), class_="tree"),
        tag("p", words("graph_more", language, count=more), class_="quiet") if more else None,
    )


def _items(node: _Node, diagnosis: Diagnosis, language: str) -> list[Html]:
    items = []
    for text, child in node.below.items():
        steps, last = [text], child
        while len(last.below) == 1:
            [(text_below, below)] = last.below.items()
            if len(below.classes) != len(last.classes):
                break
            steps.append(text_below)
            last = below
        items.append(_item(steps, last, diagnosis, language))
    return items


def _item(steps: Sequence[str], node: _Node, diagnosis: Diagnosis, language: str) -> Html:
    ranks = RankSpans()
    unnamed = 0
    for standing in node.classes:
        ranks |= RankSpans.of(standing.ranks)
        unnamed += standing.unnamed
    fault = bool(ranks) and not (ranks - diagnosis.culprits)
    key = (
        "standing.ranks_more"
        if unnamed and ranks
        else "standing.unnamed"
        if unnamed
        else "standing.ranks"
    )
    who = write(Message(key=key, values={"ranks": ranks, "count": unnamed}), language)
    lines = [tag("div", tag("code", step)) for step in steps]
    below = _items(node, diagnosis, language)
    return tag(
        "li",
        tag("span", who, class_="who at-fault" if fault else "who"),
        lines,
        tag("ul", below) if below else None,
    )


def _shown(step: StackStep) -> str:
    return step.place if step.line is None else f"{step.place}:{step.line}"
