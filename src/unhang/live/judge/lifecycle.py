"""The course of a job as notes: who came, which phases and limits, who left, what is lost.

Nothing here accuses anybody while the job runs. When it has ended, the ranks that failed first are
named, and those that only followed are not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from unhang.live.judge.claim import Claim, phase_of
from unhang.live.judge.conditions import departed
from unhang.live.judge.echoes import raised_second_hand, second_hand, sent_away
from unhang.live.judge.hang_incidents import HangIncidents, IncidentKey
from unhang.live.judge.last_calls import parted
from unhang.live.judge.measuring import shown_phase
from unhang.live.judge.roster import Roster
from unhang.live.judge.sentences import (
    attached,
    contested,
    ending,
    entered,
    exited,
    finished,
    finished_after,
    governed,
    host_silent,
)
from unhang.live.judge.track import ProcessKey, Track
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.inputs import OutputEnded
from unhang.live.messages.job_snapshot import Stage
from unhang.live.messages.losses import Loss, gather
from unhang.live.messages.reports import NodeReport, losses_of_ranks
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef

_SETTLED_LOOKS = 2
_FEW_LOST = 200
"""So many different sentences about losses are told; then it is enough."""


@dataclass(slots=True)
class _Seen:
    """What was told of one process.

    Attributes:
        phase: the last that was told.
        coming: the one that it shows now, and for how many beats.
    """

    phase: Phase | None = None
    coming: Phase | None = None
    looks: int = 0
    left: bool = False
    governed: bool = False


@dataclass(frozen=True, slots=True)
class _End:
    """How the first process of a rank ended in the present start: others may follow for it."""

    at_s: float
    track: Track


@dataclass(slots=True)
class Lifecycle:
    """What was told so far."""

    seen: dict[ProcessKey, _Seen] = field(default_factory=dict)
    lost: set[Loss] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    contested: bool = False
    failures: dict[Rank, _End] = field(default_factory=dict)
    departures: dict[Rank, _End] = field(default_factory=dict)

    def hear(self, report: NodeReport, roster: Roster, now_s: float) -> list[Note]:
        """Notes about the ranks of the node that reported."""
        mine = roster.seated_on(report.host)
        came = frozenset(rank for rank, track in mine.items() if track.key not in self.seen)
        notes: list[Note] = []
        if came:
            notes.append(_note(NoteKind.ATTACHED, came, attached(came, report.host)))
            self.seen.update({mine[rank].key: _Seen() for rank in came})
        notes += self._phases(mine)
        notes += self._limits(mine)
        notes += self._exits(mine, now_s)
        notes += self._losses(report, mine.values(), roster, now_s)
        return notes

    def end(
        self, event: OutputEnded, roster: Roster, incidents: HangIncidents, now_s: float
    ) -> Note:
        """The note on the end of the whole job."""
        for rank, track in roster.by_rank.items():
            if track.ended:
                self._note_end(rank, track, now_s)
        for ends in (self.failures, self.departures):
            for rank in [rank for rank, end in ends.items() if _is_over(rank, end, roster)]:
                del ends[rank]
        if event.exit_code == 0 and all(end.track.vanished for end in self.failures.values()):
            self.failures.clear()  # its launcher knows how it ended, and has nothing to say of it
        ended = event.exit_code == 0 or all(t.ended for t in roster.by_rank.values())
        if ended and not self.failures and incidents.confirmed is None:
            incidents.clear()  # all went well: nobody is to blame for a wait
        culprits, why = self._ended(event, roster, incidents)
        odd = parted(roster.by_rank, roster.world_size)
        if odd is not None and incidents.confirmed is None:
            incidents.unresolved.setdefault(f"{odd.call.group}", (odd, odd.stage))
        if not incidents.suspects and incidents.confirmed is None:
            told = incidents.unresolved
            told.update(self._left_waiting(culprits, roster, told.keys()))
        return Note(
            kind=NoteKind.EXITED,
            ranks=frozenset(roster.by_rank) - culprits,
            culprits=culprits,
            phase=phase_of(culprits, roster.by_rank),
            why=why,
        )

    def _ended(
        self, event: OutputEnded, roster: Roster, incidents: HangIncidents
    ) -> tuple[Ranks, Message]:
        code = event.exit_code
        if incidents.confirmed is not None:
            culprits = incidents.confirmed.culprits
            key = "live.hung" if culprits else "live.hung_nobody"
            return culprits, finished_after(key, culprits, code)
        if code in {0, None} and not self.failures:
            return NO_RANKS, finished(code)
        first = self._first(roster)
        if first:
            return first, finished_after("live.failed_first", first, code)
        suspects = incidents.suspects
        if suspects and self.failures:  # the others gave up waiting for them
            return suspects, finished_after("live.hung", suspects, code)
        left = self._left_first(roster)
        if not left:
            return NO_RANKS, finished(code)
        return left, finished_after("live.left_first", left, code)

    def _note_end(self, rank: Rank, track: Track, now_s: float) -> None:
        """Keep the first end of a rank in each start of the job."""
        ends = self.failures if track.failed else self.departures
        known = ends.get(rank)
        if known is None or known.track.beat.restart != track.beat.restart:
            ends[rank] = _End(now_s, track)

    def _left_waiting(
        self, culprits: Ranks, roster: Roster, told: Collection[IncidentKey]
    ) -> Iterator[tuple[IncidentKey, tuple[Claim, Stage]]]:
        """What a record says of ranks that ended first, where the calls of others failed for it.

        Who ended no sooner than they is known by what was `told` of it.
        """
        seated = roster.by_rank
        victims = frozenset(
            rank
            for rank, end in self.failures.items()
            if rank in seated and rank not in culprits and raised_second_hand(end.track)
        )
        if not victims:
            return
        over_s = min(self.failures[rank].at_s for rank in victims)
        for rank in culprits & seated.keys():
            ends = (ends[rank].at_s for ends in (self.failures, self.departures) if rank in ends)
            ended_s = min((over_s, *ends))
            if ended_s == over_s and rank in told:
                continue
            claim = Claim(
                charge=departed(seated[rank]).charge,
                culprits=frozenset({rank}),
                victims=victims,
                call=CallRef(),
                waited_s=max(0.0, over_s - ended_s),
                stage=Stage.SUSPECTED,
            )
            yield rank, (claim, claim.stage)

    def _phases(self, mine: Mapping[Rank, Track]) -> list[Note]:
        """Ranks that have shown another phase for two beats in a row."""
        entered_by: dict[Phase, set[Rank]] = {}
        for rank, track in mine.items():
            seen, phase = self.seen[track.key], shown_phase(track)
            seen.looks = seen.looks + 1 if phase is seen.coming else 1
            seen.coming = phase
            if phase is None or phase is seen.phase or seen.looks < _SETTLED_LOOKS:
                continue
            seen.phase = phase
            entered_by.setdefault(phase, set()).add(rank)
        return [
            _note(NoteKind.PHASE, frozenset(ranks), entered(frozenset(ranks), phase), phase)
            for phase, ranks in entered_by.items()
        ]

    def _limits(self, mine: Mapping[Rank, Track]) -> list[Note]:
        """Ranks whose probes were seen to govern the limits of their groups."""
        fresh = {
            rank: track
            for rank, track in mine.items()
            if track.beat.governed_ms and not self.seen[track.key].governed
        }
        if not fresh:
            return []
        limits: set[int] = set()
        for track in fresh.values():
            self.seen[track.key].governed = True
            limits.update(track.beat.governed_ms.values())
        ranks = frozenset(fresh)
        return [_note(NoteKind.TIMEOUT_GOVERNED, ranks, governed(ranks, max(limits)))]

    def _exits(self, mine: Mapping[Rank, Track], now_s: float) -> list[Note]:
        well, failed = set[Rank](), set[Rank]()
        for rank, track in mine.items():
            seen = self.seen[track.key]
            if not track.ended or seen.left:
                continue
            seen.left = True
            (failed if track.failed else well).add(rank)
        for rank in (*failed, *well):
            self._note_end(rank, mine[rank], now_s)
        alike: dict[str | None, set[Rank]] = {None: well} if well else {}
        for rank in sorted(failed):
            alike.setdefault(ending(mine[rank]), set()).add(rank)
        return [
            _note(NoteKind.EXITED, frozenset(ranks), exited(frozenset(ranks), told))
            for told, ranks in alike.items()
        ]

    def _losses(
        self, report: NodeReport, tracks: Iterable[Track], roster: Roster, now_s: float
    ) -> list[Note]:
        told = [*report.lost, *losses_of_ranks(t.beat for t in tracks)]
        fresh = [loss for x in told if (loss := replace(x, host=report.host)) not in self.lost]
        fresh = fresh[: max(0, _FEW_LOST - len(self.lost))]
        self.lost.update(fresh)
        notes = [_note(NoteKind.LOST, loss.ranks, loss.message) for loss in gather(fresh)]
        if roster.contested(now_s) and not self.contested:
            self.contested = True
            notes.append(_note(NoteKind.LOST, NO_RANKS, contested()))
        silent = roster.silent(now_s)
        for name in sorted(silent - self.silent):
            ranks = frozenset(roster.seated_on(name))
            notes.append(_note(NoteKind.LOST, ranks, host_silent(name, ranks)))
        self.silent = silent
        return notes

    def _first(self, roster: Roster) -> Ranks:
        """Ranks whose failure is no consequence of another's, the earliest of them."""
        seen = {rank: end for rank, end in self.failures.items() if rank in roster.by_rank}
        swept_s = min((e.at_s for e in seen.values() if sent_away(e.track)), default=math.inf)
        own = {
            rank: end.at_s
            for rank, end in seen.items()
            if not second_hand(end.track) and (end.at_s < swept_s or ending(end.track))
        }
        if not own:
            return NO_RANKS
        first_s = min(own.values())
        first = frozenset(rank for rank, at_s in own.items() if at_s == first_s)
        return first if len(first) < len(roster.by_rank) or len(first) == 1 else NO_RANKS

    def _left_first(self, roster: Roster) -> Ranks:
        """Ranks that had ended, well for all that can be seen, before others failed by that.

        Only the fewer are named: where most had ended, who needed them still may be the odd one.
        """
        if not self.failures:
            return NO_RANKS
        first_s = min(end.at_s for end in self.failures.values())
        left = frozenset(rank for rank, end in self.departures.items() if end.at_s < first_s)
        return left if 2 * len(left) < len(roster.by_rank) else NO_RANKS


def _is_over(rank: Rank, end: _End, roster: Roster) -> bool:
    """Whether the job has been started again since: what an earlier start ended of is over with it.

    Whoever starts a launcher anew counts from 0 again; then all present processes are younger.
    """
    seated = roster.by_rank
    if rank in seated and end.track.beat.restart != seated[rank].beat.restart:
        return True
    began = [track.beat.process_started_s for track in seated.values()]
    mine_s = end.track.beat.process_started_s
    younger = (at_s is not None and mine_s is not None and at_s > mine_s for at_s in began)
    return bool(began) and all(younger)


def _note(kind: NoteKind, ranks: Ranks, why: Message, phase: Phase | None = None) -> Note:
    return Note(kind=kind, ranks=ranks, phase=phase, why=why)
