"""From the desync report (TORCH_NCCL_DESYNC_DEBUG=1, torch 1.11 and later) to who did not join.

Reads::

     - [7] Timeout at collective: ALLREDUCE, #1182
     - To our best knowledge, ranks [3] are the lagging ranks that caused this timeout. They never
         joined any collectives
     - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
       - [3] finished collective #1181, but didn't join collective #1182 (count from 1)
         [0, 1, 2, 4] joined but didn't finish collective #1182 (count from 1)
     - Snapshot of ranks' latest states:
       #1181 finished ranks:
         [3] finished ALLREDUCE
       #1182 started ranks:
         [0, 1, 2, 4, 5, 6, 7] started ALLREDUCE

Traps: "joined but didn't finish" under the accusing headline names all ranks when all of them
joined, and then it accuses nobody; the snapshot may be all that an excerpt holds, even without
its first headline; the ranks count within the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.events import DesyncReported, Event
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_RANKS = r"\[(?P<ranks>[\d,\s]{1,20000})\]\s*"
_ABSENT = re.compile(
    _RANKS + r"finished\s*collective\s*#\s*\d{1,18},\s*but\s*didn't\s*join\s*"
    r"collective\s*#\s*(?P<seq>\d{1,18})"
)
_JOINED = re.compile(
    _RANKS + r"joined\s*but\s*didn't\s*finish\s*collective\s*#\s*(?P<seq>\d{1,18})"
)
_NEVER = re.compile(r"ranks\s*" + _RANKS + r"are\s*the\s*lagging\s*ranks")
_SNAPSHOT_HEAD = re.compile(r"#(?P<seq>\d{1,18})\s*(?P<edge>started|finished)\s*ranks:")
_SNAPSHOT = re.compile(_RANKS + r"(?P<edge>started|finished)\s*(?P<op>[A-Z_]{3,40})\b")


@dataclass(slots=True)
class _Snapshot:
    """What one speaker's snapshot has told so far."""

    seq: SeqId | None = None
    finished: list[tuple[SeqId | None, Ranks]] = field(default_factory=list)
    started: list[tuple[SeqId, str, Ranks, Line]] = field(default_factory=list)


class DesyncReportParser(LineParser, name="desync_report", after=8):
    """Parser of desync reports."""

    def __init__(self) -> None:
        self._snapshots: dict[Origin, _Snapshot] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say who joined and who did not; the snapshot is kept for the end."""
        for match in _NEVER.finditer(line.text):
            yield DesyncReported(**place(line), absent=_ranks(match), never_joined=True)
        for match in _ABSENT.finditer(line.text):
            yield DesyncReported(**place(line), absent=_ranks(match), seq=_seq(match))
        for match in _JOINED.finditer(line.text):
            yield DesyncReported(**place(line), joined=_ranks(match), seq=_seq(match))
        self._note_snapshot(line)

    def finish(self) -> Iterator[Event]:
        """Say who stood at the latest collective of each snapshot, and who had not begun it."""
        for snapshot in self._snapshots.values():
            if not snapshot.started:
                continue
            latest, op, joined, line = max(snapshot.started, key=lambda item: item[0])
            behind = [r for seq, r in snapshot.finished if seq is None or seq < latest]
            yield DesyncReported(
                **place(line),
                seq=latest,
                op=op,
                joined=joined,
                absent=NO_RANKS.union(*behind) - joined,
            )

    def _note_snapshot(self, line: Line) -> None:
        for match in sorted(
            [*_SNAPSHOT_HEAD.finditer(line.text), *_SNAPSHOT.finditer(line.text)],
            key=lambda found: found.start(),
        ):
            snapshot = self._snapshots.setdefault(line.origin, _Snapshot())
            if match.re == _SNAPSHOT_HEAD:
                snapshot.seq = _seq(match)
            elif match["edge"] == "finished":
                snapshot.finished.append((snapshot.seq, _ranks(match)))
            elif snapshot.seq is not None:
                snapshot.started.append((snapshot.seq, match["op"], _ranks(match), line))


def _ranks(match: re.Match[str]) -> Ranks:
    return frozenset(Rank(int(rank)) for rank in re.findall(r"\d{1,9}", match["ranks"]))


def _seq(match: re.Match[str]) -> SeqId:
    return SeqId(int(match["seq"]))
