"""From a rank's words that its own loop has come to an end to `LoopLeft`, in any wording.

Reads::

    [rank 7] epoch 9 done, 35 batches, main() returns
    [proc 1] ThresholdStopping: val_acc 0.82 > 0.80, stopping training
    rank 1: stream of worker 1 ended after 9 batches (StopIteration)
    rank 1 | train loop: 0 batches, on_stage_end
    train - INFO - [rank 3] entering valid stage

A rank must be named: what nobody signed is said for all ranks. Traps: a counter of patience, a
condition, a wait or a negation in front; a load or a download that is done; a setting
(`early_stopping=True`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

from unhang.model.events import Event, LoopEnd, LoopLeft
from unhang.model.ids import Rank
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_RANK = re.compile(
    r"(?<![\w.])(?:global[ _]?)?(?:rank|proc(?:ess)?)[ :=_#]{0,2}(?P<rank>\d{1,6})\b\]?"
    r"[\s:|,>)-]{0,6}",
    re.IGNORECASE,
)
_SIGNED_WITHIN = 80
"""A line is signed at its head, perhaps behind a logger's prefix."""
_OVER = r"(?:done|finished|ended|over|completed?|exhausted|returned|returns|exited|exits)"
_ENDS: tuple[tuple[LoopEnd, re.Pattern[str]], ...] = tuple(
    (end, re.compile(words, re.IGNORECASE))
    for end, words in (
        (
            LoopEnd.TRAINING,
            r"\bstop(?:s|ped|ping)?\s(?:the\s)?train(?:ing|er)?\b"
            r"|\b(?:train(?:ing)?(?:\sloop)?|(?:trainer\.)?fit|main\(\)|train\(\))"
            rf"\s(?:has\s|is\s)?{_OVER}\b"
            r"|\b(?:leav(?:es|ing)|left|exit(?:s|ed|ing)|br(?:ea|o)k(?:e|s|ing)?\sout\sof)"
            r"\s(?:the\s)?(?:train\w*\s|inner\s|outer\s|epoch\s)?(?:loop|training)\b"
            r"|,\s(?:leaving|break(?:ing|s)?)\s*[.!]?$"
            r"|\bearly[ _-]?stop(?:ping|ped)?\b(?:\W+\w+){0,3}\W+(?:triggered|reached|now)\b",
        ),
        (
            LoopEnd.EPOCH,
            rf"\b(?:epoch|loop|pass)\b[ #:]{{0,2}}\d{{0,9}}[^.;]{{0,24}}?\b{_OVER}\b"
            r"|\b(?:stream|iterator|iterable|data\s?loader|data\s?set|data|shards?|batches|samples)\b"
            r"[^.;]{0,40}?\b(?:exhausted|ran\sout|used\sup|ended)\b"
            r"|\bStopIteration\b"
            r"|\b(?:no\smore|ran\sout\sof|out\sof)\s(?:data|batches|samples|shards|steps)\b"
            r"|(?<![\d.])(?:0|no)\s(?:batches|samples|steps|shards|examples)\b"
            r"|\bon_(?:train_epoch|train|epoch|stage)_end\b",
        ),
        (
            LoopEnd.VALIDATION,
            r"\b(?:enter(?:s|ing|ed)|start(?:s|ing|ed)|begin(?:s|ning)?|going\s(?:in)?to)\s(?:the\s)?"
            r"(?:valid(?:ation|ating)?|eval(?:uation|uating)?|test(?:ing)?)\b",
        ),
    )
)
_AGAINST = re.compile(
    r"\b(?:not|no[tn]e?|never|until|unless|if|when|wait\w*|will|would|should|counter|patience|before"
    r"|all\sranks|every\srank|together|load(?:ing|ed)?|download\w*|init\w*|resum\w*|continu\w*|skip\w*)\b",
    re.IGNORECASE,
)
_LONGEST = 240
_DETAIL_LIMIT = 100


class LoopLeftParser(LineParser):
    """Parser of a rank's words that its loop has ended."""

    NAME: ClassVar[str] = "loop-left"
    NEEDLES: ClassVar[tuple[str, ...]] = (
        *("top training", "topping training", "topped training", "top the training"),
        *("returned", "returns", "eaving", "eaves the", "left the", "break", "broke out"),
        *("arly stop", "arly-stop", "arlyStop", "xhausted", "ran out", "StopIteration", "no more"),
        *("_end", " 0 batches", " 0 samples", " 0 steps", " 0 shards", " 0 examples"),
        *("poch", "loop ", "training done", "training finished", "training ended", "training exit"),
        *("entering ", "enters ", "starting ", "starts ", "begins ", "going to "),
    )
    SAMPLED: ClassVar[bool] = True

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what a rank has left."""
        if len(line.text) > _LONGEST:
            return
        signed = _RANK.search(line.text, 0, _SIGNED_WITHIN)
        origin, said = _signed(line, signed)
        if origin is None or _AGAINST.search(said) is not None:
            return
        end = next((end for end, words in _ENDS if words.search(said) is not None), None)
        if end is not None:
            fields = place(line)
            fields["origin"] = origin
            yield LoopLeft(**fields, end=end, detail=" ".join(said.split())[:_DETAIL_LIMIT])


def _signed(line: Line, signed: re.Match[str] | None) -> tuple[Origin | None, str]:
    """Who speaks, and what; None where no rank is named."""
    if signed is not None:
        rank = Rank(int(signed["rank"]))
        return replace(line.origin, rank=rank), line.text[signed.end() :]
    named = line.origin.rank is not None or line.origin.local_rank is not None
    return (line.origin if named else None), line.text
