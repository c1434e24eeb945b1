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

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, LoopEnd, LoopLeft
from unhang.model.forms import patterns_of
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
_ENDS = patterns_of(LoopEnd, "unhang.parsers", "data/loop_left.toml")
_AGAINST = re.compile(
    r"\b(?:not|no[tn]e?|never|until|unless|if|when|wait\w*|will|would|should|counter|patience|before"
    r"|all\sranks|every\srank|together|load(?:ing|ed)?|download\w*|init\w*|resum\w*|continu\w*|skip\w*)\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"\b(?:not|no[tn]e|never|until|unless|if|when|wait\w*|will|would|should|before|all\sranks"
    r"|every\srank|together|load(?:ing|ed)?|download\w*|init\w*|resum\w*|continu\w*)\b|\d/\d+\]?\s?\[",
    re.IGNORECASE,
)
"""The same in front of what ended: what comes behind that tells what the rank does next."""
_LONGEST = 240
_DETAIL_LIMIT = 100


class LoopLeftParser(LineParser, name="loop-left", sampled=True):
    """Parser of a rank's words that its loop has ended."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what a rank has left."""
        if len(line.text) > _LONGEST:
            return
        signed = _RANK.search(line.text, 0, _SIGNED_WITHIN)
        origin, said = _signed(line, signed)
        if origin is None or _AGAINST.search(said) is not None:
            return
        end = _end(said)
        if end is not None:
            fields = place(line)
            fields["origin"] = origin
            yield LoopLeft(**fields, end=end, detail=" ".join(said.split())[:_DETAIL_LIMIT])


def end_of(line: Line) -> LoopEnd | None:
    """What the rank whose line it is says to be at an end, validation apart.

    >>> end_of(Line(artifact="a", number=1, text="epoch 2 done, 1301 updates", raw=""))
    <LoopEnd.EPOCH: 'epoch'>
    """
    said = line.text
    found = (m for _, words in _ENDS[:-1] for m in (words.search(said),) if m is not None)
    match = next(found, None)
    if match is None or len(said) > _LONGEST or _NOT_YET.search(said, 0, match.end()) is not None:
        return None
    return _end(said)


def _end(said: str) -> LoopEnd | None:
    return next((end for end, words in _ENDS if words.search(said) is not None), None)


def _signed(line: Line, signed: re.Match[str] | None) -> tuple[Origin | None, str]:
    """Who speaks, and what; None where no rank is named."""
    if signed is not None:
        rank = Rank(int(signed["rank"]))
        return replace(line.origin, rank=rank), line.text[signed.end() :]
    told = (line.origin.rank, line.origin.local_rank, line.origin.task)
    return (line.origin if any(number is not None for number in told) else None), line.text
