"""From a rank's words on how many steps or batches it has to what can be compared between ranks.

Reads::

    [rank3]: dataloader has 497 batches
    rank 3 | steps per epoch: 497
    [rank 3] len(train_loader) = 497
    rank3: number of batches in the train sampler (epoch 2): 497

A rank must be named. Traps: a count of what was done tells how far a rank is; every tenth batch, a
warm-up of 100 steps and other settings are no plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, StepsPlanned
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_RANK = re.compile(
    r"^[^\w]{0,4}(?:global[ _]?)?(?:rank|proc(?:ess)?)[ :=_#]{0,2}(?P<rank>\d{1,6})\b",
    re.IGNORECASE,
)
_UNIT = r"(?:(?:mini-?)?batch(?:es)?|steps|iter(?:ation)?s)"
_PLAN = re.compile(
    rf"\b(?:has|have|got|gets|with|sees|will (?:do|run|see|take|iterate over)|for|of|contains"
    rf"|yields|provides|holds|[:=])\s*(?P<has>\d{{1,9}}) (?:\w+ )?{_UNIT}\b"
    rf"|\b(?:num(?:ber)?[ _](?:of[ _])?(?:\w+[ _])?{_UNIT}|{_UNIT}[ _](?:per|in|this|an|each)[ _]"
    r"(?:the[ _]|an[ _]|this[ _])?(?:epoch|shard|rank|pass|loader)"
    r"|len\((?:\w+[._])*\w*loader\)|\w*loader (?:len|length|size))"
    r"(?: (?:in|of|for|on) [^:=|,;]{1,40})?\s*(?:is|[:=]{1,2}|->)?\s*(?P<num>\d{1,9})\b(?!\.\d)",
    re.IGNORECASE,
)
_NO_PLAN = re.compile(
    r"every|warm-?up|accumul|logging|save|eval|valid|test|done|finish|complet|processed|after"
    r"|so far|skip|took|elapsed|last|first|prefetch|resum|buffer|\d/\d|/s\b|per second",
    re.IGNORECASE,
)
_LONGEST = 200
_NUMBER = re.compile(r"\d+")


class StepsPlannedParser(
    LineParser,
    name="steps-planned",
    needles=("batch", "Batch", "steps", "Steps", "iters", "iterations", "oader", "BATCH", "STEPS"),
    sampled=True,
):
    """Parser of how many steps a rank has."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the plan of a rank that is named."""
        if len(line.text) > _LONGEST or _NO_PLAN.search(line.text) is not None:
            return
        named = _RANK.match(line.text)
        rank = line.origin.rank if named is None else Rank(int(named["rank"]))
        plan = _PLAN.search(line.text)
        if rank is None or plan is None:
            return
        fields = place(line)
        fields["origin"] = replace(line.origin, rank=rank)
        count = int(plan["has"] or plan["num"])
        words = _NUMBER.sub("#", line.text if named is None else line.text[named.end() :])
        yield StepsPlanned(**fields, count=count, words=words)
