"""The judge while the job lives: a pure state machine from reports to actions.

`handle(event, now)` opens no file and reads no clock: a recorded stream of inputs, replayed, gives
the same actions. Inside, one thing after the other: reports → processes (`roster`, `track`) → who
waits for whom (`waits`) → what is held against whom (`claims`) → cases over time (`incidents`).
"""

from __future__ import annotations

from dataclasses import replace

from unhang.live.judge.asking import AMONG, Question, answered, key_of, narrowed
from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.claim import Claim
from unhang.live.judge.claims import find_claims, placed
from unhang.live.judge.hang_incidents import HangIncidents, IncidentChange
from unhang.live.judge.lifecycle import Lifecycle
from unhang.live.judge.measuring import Measuring
from unhang.live.judge.patience import Patience
from unhang.live.judge.roster import Roster
from unhang.live.judge.sentences import (
    against,
    cost,
    nested,
    patient,
    reason,
    resumed,
    waits_for_save,
)
from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import UsualDurations
from unhang.live.judge.view import suspicion, view
from unhang.live.judge.waits import take_snapshot
from unhang.live.messages.actions import (
    Abort,
    Action,
    Capture,
    Note,
    NoteKind,
    Notify,
    OrderDump,
    SetTimeouts,
)
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded, Tick
from unhang.live.messages.job_snapshot import JobSnapshot, Stage, Suspicion
from unhang.live.messages.policy import JUDGE_LIMIT_MS, Policy
from unhang.live.messages.reports import NodeReport
from unhang.model.ids import Rank
from unhang.model.measurements import RunMeasurements
from unhang.model.provenance import Message
from unhang.model.waits import Snapshot
from unhang.waitgraph import analyse

_MANY = 64
"""From so many ranks on not every single report leads to a new judgement."""
_PAUSE_S = 0.5
_RANKS_PER_S = 8_192
"""So many are judged again in a second: of the largest jobs each once for each of its reports."""
_ASK_S = 1.0
"""Ranks that wait among themselves for so long are asked for dumps."""
_ASK_AGAIN_S = 10.0
"""Least time between two orders; it doubles with each that decided nothing."""
_RAREST = 9
_ALERT_AGAIN_S = 60.0
"""Least time between two suspicions of which people are told; it doubles with each."""
_SAVE_WAIT_S = 600.0
"""An end of the job waits at most so long for a save that moves."""


class Monitor:
    """The judge of one run.

    Args:
        policy: what the user wants.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        self._policy = policy or Policy()
        self._roster = Roster()
        self._usual = UsualDurations()
        self._saves = Checkpoints()
        self._measuring = Measuring()
        self._patience = Patience(self._usual, self._saves, self._policy.patience_s)
        self._incidents = HangIncidents(self._usual)
        self._course = Lifecycle()
        self._snapshot = self._held = Snapshot()
        self._claims: tuple[Claim, ...] = ()
        self._question: Question | None = None
        self._confirmed: Suspicion | None = None
        self._orders = 0
        self._asked = 0
        self._ask_from_s = float("-inf")
        self._captured = 0
        self._alerts = 0
        self._alert_from_s = float("-inf")
        self._abort: Abort | None = None
        self._abort_by_s = 0.0
        self._judged_s = float("-inf")
        self._began_s: float | None = None
        self._begun = 0
        self._over = self._ended_well = False

    def handle(self, event: Input, now: float) -> tuple[Action, ...]:
        """Take one input and say what is to be done.

        Args:
            event: what happened.
            now: monotonic time of the host that the monitor runs on, in seconds.
        """
        match event:
            case NodeReport():
                return tuple(self._hear(event, now))
            case DumpsReady():
                return (*self._learn(event, now), *self._judge(now))
            case OutputEnded():
                return tuple(self._end(event, now))
            case Tick():
                return tuple(self._judge(now)) if self._is_due(now) else ()

    def standing(self, now: float) -> JobSnapshot:
        """The whole view at this moment."""
        return view(
            self._roster,
            self._snapshot,
            self._incidents,
            self._usual,
            self._confirmed if self._incidents.confirmed is not None else None,
            held=self._held if self._incidents.held else self._snapshot,
            now_s=now,
            began_s=now if self._began_s is None else self._began_s,
            ended_well=self._ended_well,
        )

    def measured(self) -> RunMeasurements:
        """What was measured until now."""
        hosts = self._roster.hosts.values()
        at_s = max((host.wall_s for host in hosts), default=0.0)
        return self._measuring.told(at_s, self._roster.world_size, self._roster.by_rank)

    def _hear(self, report: NodeReport, now: float) -> list[Action]:
        actions: list[Action] = []
        if self._began_s is None:
            self._began_s = now
            actions += self._govern(confirmed=False)
        if not self._roster.hear(report, now):
            return actions
        if self._roster.begun != self._begun:
            self._begun = self._roster.begun
            self._incidents.clear()
            self._question = self._abort = None
            self._saves = self._patience.checkpoints = Checkpoints()
            self._asked, self._ask_from_s = 0, now
        actions += self._course.hear(report, self._roster, now)
        if self._is_due(now):
            actions += self._judge(now)
        return actions

    def _is_due(self, now: float) -> bool:
        ranks = len(self._roster.by_rank)
        pause_s = max(_PAUSE_S, ranks / _RANKS_PER_S) if ranks > _MANY else 0.0
        return now - self._judged_s >= pause_s

    def _judge(self, now: float) -> list[Action]:
        """Look at everything once."""
        self._judged_s = now
        self._snapshot = Snapshot()
        roster = self._roster
        if self._over or not roster.launcher_alive or roster.contested(now):
            return []
        tracks = self._seen(now)
        wall_s = max((host.wall_s for host in roster.hosts.values()), default=None)
        self._snapshot = take_snapshot(tracks, roster.world_size, wall_s)
        self._saves.look(tracks, now)
        self._measuring.look(tracks, now)
        self._patience.now_s, self._patience.world = now, len(roster.by_rank)
        claims = find_claims(tracks, analyse(self._snapshot), self._patience)
        self._claims = tuple(
            placed(answered(claim, self._question, now), tracks) for claim in claims
        )
        actions = self._ask(now)
        for change in self._incidents.look(self._claims, tracks, now):
            actions += self._tell(change, tracks, now)
        if self._snapshot.waits or not self._incidents.held:
            self._held = self._snapshot
        return [*actions, *self._end_when_saved(now)]

    def _seen(self, now: float) -> dict[Rank, Track]:
        """The ranks whose hosts are heard; of the others nothing is known."""
        roster = self._roster
        return {r: t for r, t in roster.by_rank.items() if not roster.unseen(t, now)}

    def _tell(self, change: IncidentChange, tracks: dict[Rank, Track], now: float) -> list[Action]:
        claim = change.claim
        if change.stage is None:
            if claim.stage is Stage.CONFIRMED:
                self._abort = None  # nobody ends a job that goes on
            governed = self._govern(confirmed=False) if claim.stage is Stage.CONFIRMED else []
            return [_note(NoteKind.RESUMED, claim, resumed(claim)), *governed]
        why = reason(claim, tracks)
        match change.stage:
            case Stage.WATCHED:
                return [_note(NoteKind.WAITING, claim, why, self._snapshot)]
            case Stage.SUSPECTED:
                doubt = (*against(claim), *self._inner(claim), *patient(claim))
                note = replace(
                    _note(NoteKind.STALL_SUSPECTED, claim, why, self._snapshot), against=doubt
                )
                return self._suspect(claim, replace(note, patience_s=claim.patience_s), now)
            case Stage.CONFIRMED:
                self._confirmed = suspicion(claim, Stage.CONFIRMED, tracks)
                self._held = self._snapshot
                return self._confirm(self._hang(claim, why, now), now)

    def _inner(self, claim: Claim) -> tuple[Message, ...]:
        """What a job does that a suspect has started for itself."""
        told = []
        for rank in sorted(claim.culprits):
            holder = self._roster.by_rank.get(rank)
            if holder is not None and (ranks := self._roster.nested_in(holder)):
                found = analyse(take_snapshot(ranks, None, None))
                told.append(nested(rank, frozenset(ranks), found))
        return tuple(told)

    def _suspect(self, claim: Claim, note: Note, now: float) -> list[Action]:
        """Nothing is certain: stacks are kept, and people told, ever more rarely."""
        if now < self._alert_from_s or self._incidents.confirmed is not None:
            return [note]
        self._alert_from_s = now + _ALERT_AGAIN_S * 2 ** min(self._alerts, _RAREST)
        self._alerts += 1
        return [note, *([] if claim.ask else [self._order()]), Notify(note=note)]

    def _end_when_saved(self, now: float) -> list[Action]:
        """The end of the job, once no save moves that it would cut off."""
        if self._abort is None or (self._saves.saving(now) and now < self._abort_by_s):
            return []
        abort, self._abort = self._abort, None
        return [abort]

    def _confirm(self, note: Note, now: float) -> list[Action]:
        """A hang is certain, or has cost enough: capture everything, tell people, do as asked."""
        order = self._order()
        self._captured = order.number
        actions: list[Action] = [note, order, Capture(dump=order.number), Notify(note=note)]
        if self._policy.abort:
            self._abort, self._abort_by_s = Abort(note=note), now + _SAVE_WAIT_S
            if saving := self._saves.saving(now):
                why = waits_for_save(saving)
                actions.append(Note(kind=NoteKind.WAITING, ranks=saving, why=why))
        else:
            # Nobody ends the job but its own watchdogs: they get their limits back.
            actions += self._govern(confirmed=True)
        return actions

    def _govern(self, *, confirmed: bool) -> list[Action]:
        match self._policy.timeouts:
            case "judge" if confirmed:
                return [SetTimeouts(mode="keep")]
            case "judge":
                return [SetTimeouts(mode="judge", limit_ms=JUDGE_LIMIT_MS)]
            case "fixed" if not confirmed:
                return [SetTimeouts(mode="fixed", limit_ms=self._policy.limit_ms)]
            case _:
                return []

    def _order(self) -> OrderDump:
        self._orders += 1
        return OrderDump(number=self._orders)

    def _ask(self, now: float) -> list[Action]:
        """Order dumps where they would decide; ever more rarely while they decide nothing."""
        lasting = (c for c in self._claims if c.ask and (c.still_s or 0.0) >= _ASK_S)
        claim = next((c for c in lasting if c.stage is not Stage.CONFIRMED), None)
        if claim is None or self._incidents.confirmed is not None:
            return []
        asked = self._question
        if asked is not None and asked.is_open(now):
            return []
        # What was asked of an earlier standstill says nothing of a visible difference.
        news = asked is not None and asked.key != key_of(claim) and claim.charge in AMONG
        if now < (asked.at_s + _ASK_AGAIN_S if news and asked else self._ask_from_s):
            return []
        order = self._order()
        self._question = Question(order.number, key_of(claim), now)
        self._asked += 1
        self._ask_from_s = now + _ASK_AGAIN_S * 2 ** min(self._asked - 1, _RAREST)
        return [order]

    def _learn(self, dumps: DumpsReady, now: float) -> list[Action]:
        """The rules have judged the dumps that were ordered."""
        if self._question is not None and self._question.number == dumps.number:
            self._question.answer = dumps
        hang = self._incidents.confirmed
        if hang is None or dumps.number != self._captured:
            return []
        hang_now = narrowed(hang, dumps)
        if hang_now is hang:
            return []
        # What was captured with the hang knows which of them it is: all that tell of it say so.
        tracks = self._roster.by_rank
        self._incidents.confirmed = hang_now
        self._confirmed = suspicion(hang_now, Stage.CONFIRMED, tracks)
        return [self._hang(hang_now, reason(hang_now, tracks), now)]

    def _hang(self, claim: Claim, why: Message, now: float) -> Note:
        """What is told of a hang."""
        return replace(
            _note(NoteKind.HANG_CONFIRMED, claim, why, self._held),
            against=against(claim),
            cost=cost(self._saves, now),
            unsaved_s=self._saves.unsaved_s(now),
        )

    def _end(self, event: OutputEnded, now: float) -> list[Action]:
        self._over = True
        note = self._course.end(event, self._roster, self._incidents, now)
        held = bool(note.culprits) or self._incidents.held
        self._ended_well = event.exit_code == 0 and not held and self._roster.all_left
        return [note]


def _note(kind: NoteKind, claim: Claim, why: Message, snapshot: Snapshot | None = None) -> Note:
    return Note(
        kind=kind,
        ranks=claim.victims,
        culprits=claim.culprits,
        phase=claim.phase,
        call=claim.call,
        since_s=claim.waited_s,
        why=why,
        snapshot=snapshot,
    )
