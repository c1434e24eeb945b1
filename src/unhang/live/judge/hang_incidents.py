"""From claims of moments to cases: suspected, confirmed, and what became of them.

A claim counts only from its second look on, and a case is closed only after the second look that
no longer shows it. At most one hang is confirmed at a time: what fails after it is most often its
consequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from unhang.live.judge.claim import GRAVITY, Claim
from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import DurationKind, UsualDurations
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase

IncidentKey = Rank | str
"""A culprit, or the group of a call that its members cannot complete among themselves."""

Mark = tuple[int, int | None, str | None]
"""How far a rank is: calls issued, steps done, place."""

_LOOKS = 2
_FADES = 0.8
_WORTH_LEARNING_S = 1.0
_FROZEN = frozenset(
    {SuspicionReason.GIL_KEPT, SuspicionReason.UNINTERRUPTIBLE, SuspicionReason.SILENT}
)
_OWN_END = _FROZEN | {SuspicionReason.ASLEEP, SuspicionReason.AT_WORK, SuspicionReason.SPINNING}
"""Charges whose episodes tell what is usual when they end by themselves."""


@dataclass(slots=True)
class HangIncident:
    """What is held against one rank, or said of one group, over time.

    Attributes:
        claim: of the last look.
        worst: the gravest so far, as it was told.
        stage: the highest that was reached and told.
        looks: in a row, at the present stage or above, each at news of its ranks.
        calm: looks in a row, likewise, that hold nothing against it any more.
        misses: looks in a row that no longer show it.
        news_s: when the ranks of the last look were heard.
        still_s, frozen_s, late_s: the longest seen.
        told_s: of a working rank: how long others had waited when that was told last.
        marks: how far its ranks were when it was shown last.
        stood: beats and place of its culprits, likewise.
        phases: of a working rank, by the looks that met it there; older ones count for less.
        borne_out: of these, what more than a name has told.
    """

    claim: Claim
    worst: Claim
    stage: Stage = Stage.WATCHED
    looks: int = 0
    calm: int = 0
    misses: int = 0
    news_s: float = -1.0
    still_s: float = 0.0
    frozen_s: float = 0.0
    late_s: float = 0.0
    told_s: float = 0.0
    marks: Mapping[Rank, Mark] = field(default_factory=dict)
    stood: Mapping[Rank, tuple[int, str]] = field(default_factory=dict)
    phases: dict[Phase | None, float] = field(default_factory=dict)
    borne_out: set[Phase | None] = field(default_factory=set)

    def see(self, claim: Claim, news_s: float) -> None:
        """One more look; what is no news is no look of its own."""
        same = (
            GRAVITY[claim.stage] >= GRAVITY[self.claim.stage] and claim.charge is self.claim.charge
        )
        news = int(news_s > self.news_s)
        self.looks = self.looks + news if same else 1
        self.calm = self.calm + news if claim.charge is SuspicionReason.AT_WORK else 0
        self.claim, self.misses, self.news_s = self._settled(claim), 0, news_s
        self.late_s = max(self.late_s, claim.waited_s)
        if claim.charge is SuspicionReason.ASLEEP:
            self.still_s = max(self.still_s, claim.still_s or 0.0)
        elif claim.charge in _FROZEN:
            self.frozen_s = max(self.frozen_s, claim.still_s or 0.0)

    def _settled(self, claim: Claim) -> Claim:
        """With the phase of most looks: a single one may meet a working rank between two calls."""
        if claim.borne_out:
            self.borne_out.add(claim.phase)
        phase = claim.phase
        if claim.charge is SuspicionReason.AT_WORK:
            self.phases = {p: _FADES * weight for p, weight in self.phases.items()}
            self.phases[phase] = self.phases.get(phase, 0.0) + 1
            phase = max(self.phases, key=self.phases.__getitem__)
        return replace(claim, phase=phase, borne_out=phase in self.borne_out)

    @property
    def is_over(self) -> bool:
        """Its rank moves, and nobody waits for it as long as before."""
        if self.calm < _LOOKS:
            return False
        return self.stage is not Stage.WATCHED or self.claim.waited_s < self.late_s / 2

    @property
    def is_narrowed(self) -> bool:
        """What was suspected of nobody, or of several, is now held against some of them."""
        before = self.worst.culprits
        named = bool(self.claim.culprits) and (not before or self.claim.culprits < before)
        return named and self.stage is self.claim.stage is Stage.SUSPECTED

    @property
    def whole(self) -> Claim:
        """What was told of it, with how long it lasted until now."""
        lasted_s = max(self.still_s, self.frozen_s, self.worst.still_s or 0.0)
        still_s = None if self.worst.still_s is None else lasted_s
        borne_out = self.worst.phase in self.borne_out
        return replace(self.worst, waited_s=self.late_s, still_s=still_s, borne_out=borne_out)

    def has_moved(self, tracks: Mapping[Rank, Track]) -> bool:
        """Whether one of its ranks got on since the case was shown last."""
        marks = self.marks.items()
        moved = (rank in tracks and _mark(tracks[rank]) != mark for rank, mark in marks)
        return not self.marks or any(moved)

    def is_back(self, tracks: Mapping[Rank, Track]) -> bool:
        """Whether a rank that had been frozen beats again, or one that had slept is elsewhere."""
        frozen = self.worst.charge in _FROZEN
        return any(
            (track := tracks.get(rank)) is not None
            and (track.beats != beats if frozen else track.place.place != place)
            for rank, (beats, place) in self.stood.items()
        )

    def renew(self) -> None:
        """A new episode of the same rank begins."""
        self.stage, self.worst = Stage.WATCHED, self.claim
        self.still_s = self.frozen_s = self.told_s = 0.0
        self.late_s = self.claim.waited_s
        self.marks, self.stood = {}, {}
        self.phases = {}
        self.borne_out = {self.claim.phase} if self.claim.borne_out else set()


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentChange:
    """Claims of one kind that reached a stage together, or that are over.

    Attributes:
        claim: all of them in one: their culprits and victims together.
        stage: what they reached; None = they move on.
    """

    claim: Claim
    stage: Stage | None


@dataclass(slots=True)
class HangIncidents:
    """All open cases.

    Attributes:
        confirmed: the hang that stands, or None; it stands also when its ranks have ended.
        unresolved: what had been told of other cases when their ranks ended.
    """

    usual: UsualDurations
    cases: dict[IncidentKey, HangIncident] = field(default_factory=dict)
    confirmed: Claim | None = None
    unresolved: dict[IncidentKey, tuple[Claim, Stage]] = field(default_factory=dict)

    def look(
        self, claims: Iterable[Claim], tracks: Mapping[Rank, Track], now_s: float
    ) -> list[IncidentChange]:
        """Take the claims of a new moment."""
        seen: set[IncidentKey] = set()
        for claim in claims:
            key = _key(claim)
            seen.add(key)
            case = self.cases.get(key)
            if case is None:
                case = self.cases[key] = HangIncident(claim=claim, worst=claim)
            ranks = claim.culprits or claim.victims
            case.see(claim, max((tracks[r].seen_s for r in ranks if r in tracks), default=now_s))
            if claim.charge is not SuspicionReason.AT_WORK:
                case.marks, case.stood = _marks(claim, tracks), _stood(claim, tracks)
        if self.confirmed is not None:
            waited = (c.claim.waited_s for c in self.cases.values() if c.stage is Stage.CONFIRMED)
            longest_s = max((self.confirmed.waited_s, *waited))
            self.confirmed = replace(self.confirmed, waited_s=longest_s)
        return [*self._risen(), *self._late(), *self._over(seen, tracks)]

    @property
    def held(self) -> bool:
        """Something is held against somebody, or was when the ranks ended."""
        told = any(case.stage is not Stage.WATCHED for case in self.cases.values())
        return told or bool(self.unresolved) or self.confirmed is not None

    @property
    def suspects(self) -> Ranks:
        """Who was suspected when the job ended, of what others had waited for longest."""
        told = [claim for claim, stage in self.unresolved.values() if stage is Stage.SUSPECTED]
        told += [case.whole for case in self.cases.values() if case.stage is Stage.SUSPECTED]
        named = [claim for claim in told if claim.culprits]
        longest = max(named, key=lambda claim: claim.waited_s, default=None)
        if longest is None:
            return NO_RANKS
        alike = (c.culprits for c in named if c.charge is longest.charge)
        return longest.culprits.union(*alike)

    def clear(self) -> None:
        """The job began anew."""
        self.cases.clear()
        self.unresolved.clear()
        self.confirmed = None

    def _risen(self) -> list[IncidentChange]:
        """Cases that reached a higher stage and held it for two looks, or that name ranks now."""
        risen: dict[tuple[Stage, SuspicionReason, str | None], list[HangIncident]] = {}
        for case in self.cases.values():
            stage = case.claim.stage
            rises = GRAVITY[stage] > GRAVITY[case.stage] or case.is_narrowed
            if case.misses or case.looks < _LOOKS or not rises:
                continue
            key = (stage, case.claim.charge, case.claim.call.group)
            risen.setdefault(key, []).append(case)
        changes = []
        for (stage, _, _), cases in sorted(risen.items(), key=lambda item: -GRAVITY[item[0][0]]):
            if self.confirmed is not None:
                continue  # of what stands still beside a hang nobody is told
            claim = _merged([case.claim for case in cases])
            for case in cases:
                case.stage, case.worst = stage, case.claim
            if stage is Stage.CONFIRMED:
                self.confirmed = claim
            changes.append(IncidentChange(claim=claim, stage=stage))
        return changes

    def _late(self) -> list[IncidentChange]:
        """Working ranks for which others wait longer than is usual; told again ever more rarely."""
        late = [
            case
            for case in self.cases.values()
            if case.claim.charge is SuspicionReason.AT_WORK
            and not case.misses
            and case.looks >= _LOOKS
            and case.claim.waited_s > self._patience_s(case)
        ]
        for case in late:
            case.told_s, case.worst = case.claim.waited_s, case.claim
        return [
            IncidentChange(claim=_merged([case.claim for case in cases]), stage=Stage.WATCHED)
            for cases in _alike(late)
        ]

    def _patience_s(self, case: HangIncident) -> float:
        if case.told_s > 0:
            return 2 * case.told_s
        return self.usual.late_s(*case.claim.where)

    def _over(self, seen: set[IncidentKey], tracks: Mapping[Rank, Track]) -> list[IncidentChange]:
        """Cases that are no longer shown, or whose ranks move."""
        told: list[HangIncident] = []
        for key, case in list(self.cases.items()):
            if key not in seen:
                case.misses += 1
                if case.misses < _LOOKS:
                    continue
            elif not case.is_over:
                continue
            departed = _departed(case.worst, tracks)
            back = key in seen and case.is_back(tracks)
            if not departed and not back and not case.has_moved(tracks):
                continue  # those that waited may have given up, and only not ended yet
            if key not in seen:
                del self.cases[key]
            if departed and (case.stage is Stage.SUSPECTED or case.told_s > 0):
                self.unresolved[key] = case.whole, case.stage
            if not departed:
                if case.stage is Stage.CONFIRMED:
                    self.confirmed = None
                self._learn(case)
                if case.stage is not Stage.WATCHED or case.told_s > 0:
                    told.append(replace(case))
            case.renew()
        return [
            IncidentChange(claim=_merged([case.whole for case in cases]), stage=None)
            for cases in _alike(told)
        ]

    def _learn(self, case: HangIncident) -> None:
        claim = case.worst
        if claim.charge is SuspicionReason.TOGETHER:
            self.usual.learn(DurationKind.TOGETHER, None, claim.still_s or 0.0)
        elif claim.charge in _OWN_END:
            for habit, lasted_s, places in (
                (DurationKind.STILL, max(case.still_s, case.frozen_s), (*claim.where, None)),
                (DurationKind.LATE, case.late_s, claim.where),
            ):
                for where in places if lasted_s >= _WORTH_LEARNING_S else ():
                    self.usual.learn(habit, where, lasted_s)


def _key(claim: Claim) -> IncidentKey:
    if (
        claim.charge in {SuspicionReason.MISMATCH, SuspicionReason.TOGETHER, SuspicionReason.CIRCLE}
        or not claim.culprits
    ):
        return f"{claim.call.group}"
    return min(claim.culprits)


def _departed(claim: Claim, tracks: Mapping[Rank, Track]) -> bool:
    """Whether a rank of a case ended or gave up, so that it is over without having moved on."""
    ranks = claim.culprits | claim.victims
    return any(rank not in tracks or tracks[rank].departs for rank in ranks)


def _marks(claim: Claim, tracks: Mapping[Rank, Track]) -> dict[Rank, Mark]:
    return {r: _mark(tracks[r]) for r in claim.culprits | claim.victims if r in tracks}


def _stood(claim: Claim, tracks: Mapping[Rank, Track]) -> dict[Rank, tuple[int, str]]:
    return {r: (t.beats, t.place.place) for r in claim.culprits if (t := tracks.get(r)) is not None}


def _mark(track: Track) -> Mark:
    """Calls issued and steps done; where a group does not count, the place as well."""
    groups = track.beat.groups.values()
    issued = sum(group.enqueued or 0 for group in groups)
    counted = any(group.enqueued is not None for group in groups)
    return (
        issued + (track.beat.issued or 0),
        track.beat.steps,
        None if counted else track.place.place,
    )


def _alike(cases: Iterable[HangIncident]) -> list[list[HangIncident]]:
    """Cases of the same kind, which one sentence tells."""
    found: dict[tuple[str | None, SuspicionReason, Phase | None], list[HangIncident]] = {}
    for case in cases:
        worst = case.worst
        found.setdefault((worst.call.group, worst.charge, worst.phase), []).append(case)
    return list(found.values())


def _merged(claims: list[Claim]) -> Claim:
    """Several ranks in the same condition are one claim."""
    first = claims[0]
    if len(claims) == 1:
        return first
    culprits = NO_RANKS.union(*(c.culprits for c in claims))
    phases = {c.phase for c in claims}
    return replace(
        first,
        culprits=culprits,
        victims=NO_RANKS.union(*(c.victims for c in claims)) - culprits,
        phase=phases.pop() if len(phases) == 1 else None,
        still_s=max((c.still_s for c in claims if c.still_s is not None), default=None),
        waited_s=max(c.waited_s for c in claims),
        lifeless_s=min((c.lifeless_s for c in claims if c.lifeless_s is not None), default=None),
        patience_s=max((c.patience_s for c in claims if c.patience_s is not None), default=None),
        lives=tuple(dict.fromkeys(sign for c in claims for sign in c.lives)),
        where=tuple(dict.fromkeys(at for c in claims for at in c.where)),
        borne_out=any(c.borne_out for c in claims),
        ask=any(c.ask for c in claims),
    )
