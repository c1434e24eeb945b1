"""From the parts of a step as a program times them to how much of it is communication.

Reads::

    step    1 | loss 10.6 | fwd 0.519 bwd 1.045 rs+ag wait 8.863 opt 0.035 | data 0.004
    E0 it  10/100 | sample 0.116 | fwd 0.443 | bwd 0.872 | allreduce 4.196 | loss 3.4467
    step=10 tok/s/gpu=1070 fwd_bwd=1.32s grad_sync=3.79s opt=0.08s

A line counts where it names a part of computing and one of communication. Parts that hold others
(DeepSpeed's `backward_microstep`) make the share smaller than it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import Event, StepParts
from unhang.parsers.base import EventFields, LineParser, place
from unhang.sources.line import Line

_PART = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z_+&.-]{1,30}(?: [A-Za-z_+]{2,16})?)\s?[:=]?\s{0,3}"
    r"(?P<value>\d{1,7}\.\d{1,6})(?![\d.])"
)
_COMPUTES = re.compile(
    r"(?:^|_|\b)(?:fwd|bwd|fwd_?bwd|forward|backward|compute|ffn|attn|matmul)", re.IGNORECASE
)
_COMMUNICATES = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|rs\+ag|all_?to_?all|a2a|\bcomm|grad_?sync|_sync\b"
    r"|^sync\b|halo_?exchange|broadcast",
    re.IGNORECASE,
)
_LONGEST, _MOST = 1_000, 4_096


class StepPartsParser(
    LineParser,
    name="step-parts",
    needles=("allreduce", "all_reduce", "sync", "rs+ag", "a2a", "comm", "allgather"),
    sampled=True,
):
    """Parser of the parts of steps."""

    def __init__(self) -> None:
        self._shares: list[float] = []
        self._last: EventFields | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the share of this step."""
        computed = waited = 0.0
        for part in _PART.finditer(line.text[:_LONGEST]):
            if _COMMUNICATES.search(part["name"]) is not None:
                waited += float(part["value"])
            elif _COMPUTES.search(part["name"]) is not None:
                computed += float(part["value"])
        if computed > 0 and waited > 0 and len(self._shares) < _MOST:
            self._shares.append(waited / (waited + computed))
            self._last = place(line)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Tell the share of most steps."""
        if self._last is not None:
            yield StepParts(
                **self._last, communication=median(self._shares), count=len(self._shares)
            )
