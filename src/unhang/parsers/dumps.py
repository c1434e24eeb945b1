"""From the heartbeat monitor's lines to dump signals and stuck watchdogs.

Reads (torch 2.2 to 2.13)::

    [PG ID 0 PG GUID 0(default_pg) Rank 3] First PG on this rank to signal dumping.
    [PG ID 0 PG GUID 0(default_pg) Rank 5] Received a dump signal due to a collective timeout from
        rank 2 and we will try … Last enqueued NCCL work: 136, last completed NCCL work: 136.
    [PG ID 0 PG GUID 0(default_pg) Rank 6] Observed flight recorder dump signal from another rank …
    [PG 0 Rank 1] Heartbeat monitor timed out! … workMetaList_.size()=103
    [PG 0 Rank 1] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress …
    Could not acquire GIL within 300 ms on exit, possible GIL induced hang

Traps: the rank that a signal comes *from* raised the alarm, so it is a victim; "most likely caused
by incorrect usages of collectives" and the GIL advice are printed whatever the reason; the line
speaks for the group that runs the monitor (the first one), not for the group that timed out.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import DumpReason, DumpSignal, Event, WatchdogStuck
from unhang.model.forms import named
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.groups import find_speaker
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/dumps.toml")
_SIGNAL = _PATTERNS["signal"]
_COUNTERS = _PATTERNS["counters"]
_STUCK = _PATTERNS["stuck"]
_PENDING = re.compile(r"workMetaList_\.size\(\)\s*=\s*(?P<pending>\d{1,12})")


class DumpsParser(LineParser, name="dumps"):
    """Parser of dump signals and heartbeat reports."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say who dumps on whose signal, and whose watchdog stands still."""
        match = line.says(_SIGNAL, within=True)
        if match is not None:
            yield _signal(line, match)
        match = line.says(_STUCK, within=True)
        if match is not None:
            speaker = find_speaker(line.text, match.start())
            pending = _PENDING.search(line.text, match.start())
            yield WatchdogStuck(
                **place(line),
                group_rank=speaker.rank,
                group=speaker.group,
                stuck_s=None if match["seconds"] is None else int(match["seconds"]),
                pending=None if pending is None else int(pending["pending"]),
                gil=match["gil"] is not None,
            )


def _signal(line: Line, match: re.Match[str]) -> DumpSignal:
    speaker = find_speaker(line.text, match.start())
    counters = _COUNTERS.search(line.text, match.start())
    return DumpSignal(
        **place(line),
        reason=_reason(match),
        group_rank=speaker.rank,
        group=speaker.group,
        teller=None if match["teller"] is None else Rank(int(match["teller"])),
        enqueued=None if counters is None else int(counters["enqueued"]),
        completed=None if counters is None else int(counters["completed"]),
    )


def _reason(match: re.Match[str]) -> DumpReason:
    if match["own"] is not None:
        return DumpReason.OWN
    return DumpReason.OBSERVED if match["observed"] is not None else DumpReason.TOLD
