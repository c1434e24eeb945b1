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

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import Event, ModelDifference, ModelMismatch
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.numbers import whole
from unhang.sources.line import Line

_PATTERNS: tuple[tuple[ModelDifference, re.Pattern[str]], ...] = (
    (
        ModelDifference.UNFINISHED_REDUCTION,
        re.compile(r"Expected\s*to\s*have\s*finished\s*reduction\s*in\s*the\s*prior\s*iteration"),
    ),
    (
        ModelDifference.UNFINISHED_REDUCTION,
        re.compile(r"did\s*not\s*receive\s*grad\s*for\s*rank\s*(?P<rank>\d{1,9})"),
    ),
    (
        ModelDifference.MARKED_TWICE,
        re.compile(r"Expected\s*to\s*mark\s*a\s*variable\s*ready\s*only\s*once"),
    ),
    (
        ModelDifference.PARAMETER_COUNT,
        re.compile(
            r"expects\s*same\s*model\s*across\s*all\s*ranks,\s*but\s*Rank\s*(?P<rank>\d{1,9})\s*has"
            r"(?:\s*(?P<count>\d{1,12})\s*params,\s*while\s*rank\s*(?P<other>\d{1,9})"
            r"(?:\s*has\s*inconsistent\s*(?P<other_count>\d{1,12}))?)?"
        ),
    ),
    (
        ModelDifference.PARAMETER_SHAPE,
        re.compile(
            r"(?:\[(?P<rank>\d{1,9})\]:?\s*)?params\[\d{1,9}\]\s*in\s*this\s*process[^.]{0,200}?"
            r"not\s*to\s*match\s*(?:sizes|strides|dtype)[^.]{0,60}?process\s*(?P<other>\d{1,9})"
        ),
    ),
    (
        ModelDifference.MODULE_ORDER,
        re.compile(
            r"Invalidate\s*trace\s*cache\s*@\s*step\s*(?P<step>\d{1,12})"
            r":\s*expected\s*module\s*-?\d{1,12},\s*but\s*got\s*module"
        ),
    ),
    (
        ModelDifference.MODULE_ORDER,
        re.compile(r"tracing\s*error\s*at\s*step\s*(?P<step>\d{1,12})"),
    ),
    (
        ModelDifference.MODULE_ORDER,
        re.compile(
            r"disagreement\s*between\s*rank\s*(?P<other>\d{1,9})\s*and\s*rank\s*(?P<rank>\d{1,9})"
        ),
    ),
)


class ModelMismatchParser(LineParser):
    """Parser of messages about models that differ between ranks."""

    NAME: ClassVar[str] = "model_mismatch"
    NEEDLES: ClassVar[tuple[str, ...]] = (
        "finished reduction in the prior",
        "not receive grad for rank",
        "a variable ready only once",
        "expects same model across",
        "appears not to match",
        "Invalidate trace cache",
        "tracing error at step",
        "disagreement between rank",
    )

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
