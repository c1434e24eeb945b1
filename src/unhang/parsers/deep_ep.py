"""From DeepEP's time-outs to the peers that did not join an expert-parallel dispatch or combine.

Reads (a GPU kernel prints it, so it stands in the process's standard output)::

    DeepEP timeout check failed: rank = 0, thread = 3, value = 1)
    Warning: DeepEP timeout for barrier, rank 0, dst_rank 9
    Warning: DeepEP timeout for dispatch receive, rank 0, local_expert_idx 2, src_rank 9
    Warning: DeepEP timeout for combine receive, rank 0, local_expert_idx 2, src_rank 9

Traps: the first counts ranks and peers within one host, and every thread prints it, also those
whose peer has come (their value is not positive). Its kernel then traps, so that CUDA reports an
unspecified launch failure. Time-outs of senders and receivers of a channel name no peer.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import BarrierMissing, Event, Waiter
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_ON_HOST = re.compile(
    r"^\s*(?:DeepEP )?timeout check failed: rank = (?P<rank>\d{1,4}), "
    r"thread = (?P<peer>\d{1,4})(?:, value = (?P<value>-?\d{1,12}))?\)?\s*$"
)
_BETWEEN_HOSTS = re.compile(
    r"^\s*(?:Warning: )?DeepEP timeout for (?:barrier|dispatch receive|combine receive), "
    r"rank (?P<rank>\d{1,6}), (?:local_expert_idx \d{1,6}, )?(?:dst|src)_rank (?P<peer>\d{1,6})\s*$"
)


class DeepEpParser(
    LineParser, name="deep_ep", needles=("timeout check failed: rank", "DeepEP timeout for")
):
    """Parser of DeepEP's time-outs."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which peer did not come."""
        match = _BETWEEN_HOSTS.match(line.text)
        first: int | None = 0
        if match is None:
            match = _ON_HOST.match(line.text)
            if match is None or int(match["value"] or 1) <= 0:
                return
            own = line.origin.rank  # of the whole job: the host's ranks lie side by side
            first = None if own is None else int(own) - int(match["rank"])
        if first is not None and first < 0:
            return
        yield BarrierMissing(
            **place(line),
            reporter=Rank((first or 0) + int(match["rank"])),
            missing=frozenset({Rank((first or 0) + int(match["peer"]))}),
            direct=True,
            waiter=Waiter.KERNEL,
            on_host=first is None,
        )
