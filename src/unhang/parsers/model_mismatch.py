"""From the checks of DDP and ZeRO to "ranks run different models".

Reads::

    Expected to have finished reduction in the prior iteration before starting a new one. …
    Parameter indices which did not receive grad for rank 1: 4 5
    Expected to mark a variable ready only once. …
    DDP expects same model across all ranks, but Rank 1 has 12 params, while rank 0 has
        inconsistent 14 params.
    [1]: params[3] in this process with sizes [10, 20] appears not to match sizes of the same
        param in process 0.
    Invalidate trace cache @ step 12: expected module 5, but got module 9
    tracing error at step 42: module id: 3, expected 4
    disagreement between rank0 and rank1: rank0: [7], rank1: [8]

Traps: the first two are raised by every rank alike when parameters are simply unused; a count of 0
is a buffer that no answer reached; `Invalidate trace cache` in the first steps, and with "cache has
only n modules", is routine while ZeRO-3 learns the order of modules.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, ModelDifference, ModelMismatch
from unhang.model.forms import patterns_of
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.numbers import whole
from unhang.sources.line import Line

_PATTERNS = patterns_of(ModelDifference, "unhang.parsers", "data/model_mismatch.toml")


class ModelMismatchParser(LineParser, name="model_mismatch"):
    """Parser of messages about models that differ between ranks."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the first difference of each kind that this line tells."""
        for difference, pattern in _PATTERNS:
            match = line.says(pattern, within=True)
            told = {} if match is None else match.groupdict()
            if match is not None and whole(told.get("other_count")) != 0:
                yield ModelMismatch(
                    **place(line),
                    difference=difference,
                    rank=_rank(told.get("rank"), line.origin.rank),
                    other_rank=_rank(told.get("other"), None),
                    count=whole(told.get("count")),
                    other_count=whole(told.get("other_count")),
                    step=whole(told.get("step")),
                )


def _rank(text: str | None, otherwise: Rank | None) -> Rank | None:
    return otherwise if text is None else Rank(int(text))
