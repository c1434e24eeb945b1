"""From what the monitor found to messages of the catalogue (`live.*`)."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.claim import Claim
from unhang.live.judge.named_waits import LOCK
from unhang.live.judge.track import Track
from unhang.live.messages.job_snapshot import SuspicionReason
from unhang.model.ids import Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import Analysis, CallRef


def reason(claim: Claim, tracks: Mapping[Rank, Track]) -> Message:
    """Why a claim is made, or what a working rank does."""
    key = claim.charge.value.replace("-", "_")
    if claim.move:
        return _strayed(claim)
    if claim.between:
        return _between(claim, tracks)
    if claim.charge is SuspicionReason.LEFT and claim.call == CallRef():
        key = "overdue"
    elif claim.charge is SuspicionReason.CIRCLE and len(claim.culprits) > 1 and claim.victims:
        key += "_behind"
    elif claim.charge in _AMONG:
        key += "_odd" if claim.culprits and claim.victims else ""
    elif claim.charge is SuspicionReason.AT_WORK and claim.phase is None:
        key += "_code" if claim.place else "_unplaced"
    told = ending_of(claim, tracks)
    values = {
        "ranks": claim.culprits,
        "count": len(claim.culprits),
        "victims": claim.victims,
        "waiting": len(claim.victims),
        "all": claim.culprits | claim.victims,
        "op": claim.call.op or f"group {claim.call.description or claim.call.group}",
        "seq": claim.call.seq,
        "waited": round(claim.waited_s, 1),
        "still": None if claim.still_s is None else round(claim.still_s, 1),
        "phase": None if claim.phase is None else claim.phase.value,
        "place": claim.place or "?",
        "told": f" ({told})" if told else "",
        "ops": _ops(claim, tracks),
    }
    return Message(key=f"live.{key}", values=values)


def _strayed(claim: Claim) -> Message:
    """Who of those that wait for each other left its habit."""
    everybody = claim.culprits | claim.victims
    values = {"all": everybody, "ranks": claim.culprits, "waited": round(claim.waited_s, 1)}
    values |= {"move": claim.move, "due": claim.due}
    return Message(key="live.strayed" if claim.due else "live.strayed_alone", values=values)


def _between(claim: Claim, tracks: Mapping[Rank, Track]) -> Message:
    """Ranks that wait for each other, each with the one it waits for where that is told."""
    waiting = frozenset(rank for *pair, _ in claim.between for rank in pair)
    locks = [pair for pair in claim.between if pair[2] == LOCK]
    waiter, holder, _ = (locks or claim.between)[0]
    values = {
        "all": waiting,
        "ranks": claim.culprits,
        "waiter": frozenset({waiter}),
        "holder": frozenset({holder}),
        "others": claim.victims - waiting,
        "op": (tracks[holder].place.op if holder in tracks else None) or "?",
        "ops": frozenset(op for _, _, op in claim.between),
        "waited": round(claim.waited_s, 1),
    }
    if locks:
        return Message(key="live.circle_lock", values=values)
    if len(claim.culprits) == 1:
        return Message(key="live.circle_crossed", values=values)
    key = "live.circle_pairs_odd" if values["others"] else "live.circle_pairs"
    return Message(key=key, values={**values, "pairs": _arrows(claim)})


_MOST_ARROWS = 8


def _arrows(claim: Claim) -> str:
    """`1 → 0 (recv)`: who waits for whom."""
    told = [f"{a} \u2192 {b} ({op})" for a, b, op in claim.between[:_MOST_ARROWS]]
    return ", ".join((*told, *(["…"] if len(claim.between) > _MOST_ARROWS else [])))


def against(claim: Claim) -> tuple[Message, ...]:
    """What speaks against a hang."""
    return tuple(Message(key=f"live.shows_{sign}") for sign in claim.lives)


def patient(claim: Claim) -> tuple[Message, ...]:
    """For how long what is not proved is left alone."""
    if claim.patience_s is None:
        return ()
    left_s = max(0.0, claim.patience_s - (claim.lifeless_s or 0.0))
    values = {"needed": round(claim.patience_s), "left": round(left_s)}
    return (Message(key="live.patience", values=values),)


def cost(saves: Checkpoints, now_s: float) -> Message:
    """What an end of the job loses, by the saves that were seen."""
    values = {"unsaved": round(saves.unsaved_s(now_s)), "place": saves.place or "?"}
    if not saves.at_s:
        return Message(key="live.cost_unsaved", values=values)
    if saves.interval_s is None:
        return Message(key="live.cost", values=values)
    return Message(key="live.cost_often", values={**values, "every": round(saves.interval_s)})


def nested(rank: Rank, ranks: Ranks, found: Analysis) -> Message:
    """A rank waits for a job that it has started itself, and where that one stands."""
    values = {"rank": frozenset({rank}), "ranks": ranks}
    if not found.ends:
        return Message(key="live.nested", values=values)
    late = frozenset(end.rank for end in found.ends)
    op = found.ends[0].lacks[0].call.op or "?"
    return Message(key="live.nested_waits", values={**values, "late": late, "op": op})


def waits_for_save(ranks: Ranks) -> Message:
    """The end of the job waits for a save that moves."""
    return Message(key="live.saving", values={"ranks": ranks, "count": len(ranks)})


_AMONG = frozenset({SuspicionReason.MISMATCH, SuspicionReason.CIRCLE})


def resumed(claim: Claim) -> Message:
    """What stood moves on."""
    ranks = claim.culprits or claim.victims
    values = {"ranks": ranks, "count": len(ranks), "waited": round(claim.waited_s, 1)}
    return Message(key="live.resumed", values=values)


def attached(ranks: Ranks, host: str) -> Message:
    """Processes were seen for the first time."""
    return Message(key="live.attached", values={"ranks": ranks, "host": host})


def entered(ranks: Ranks, phase: Phase) -> Message:
    """Ranks began a phase."""
    values = {"ranks": ranks, "count": len(ranks), "phase": phase.value}
    return Message(key="live.phase", values=values)


def governed(ranks: Ranks, limit_ms: int) -> Message:
    """The limits of groups were set."""
    return Message(key="live.governed", values={"ranks": ranks, "limit": limit_ms})


def exited(ranks: Ranks, told: str | None) -> Message:
    """Processes ended.

    Args:
        ranks: that ended alike.
        told: how they failed, "" where nothing tells how they ended; None = well.
    """
    values = {"ranks": ranks, "count": len(ranks)}
    if told is None:
        return Message(key="live.exited", values=values)
    if not told:
        return Message(key="live.vanished", values=values)
    return Message(key="live.failed", values={**values, "told": told})


def finished(exit_code: int | None) -> Message:
    """The launch command ended."""
    return Message(key="live.finished", values={"code": exit_code})


def finished_after(key: str, ranks: Ranks, exit_code: int | None) -> Message:
    """The launch command ended after what some ranks had done, or had failed to do."""
    return Message(key=key, values={"ranks": ranks, "count": len(ranks), "code": exit_code})


def contested() -> Message:
    """Ranks are used twice."""
    return Message(key="live.contested")


def host_silent(host: str, ranks: Ranks) -> Message:
    """A host is not heard."""
    return Message(key="live.host_silent", values={"host": host, "ranks": ranks})


def ending(track: Track) -> str:
    """How a process ended, in the words of its interpreter or of the kernel; "" where unknown."""
    raised = track.beat.exception
    if raised is not None:
        name = raised.type.rpartition(".")[2]
        first = raised.message.partition("\n")[0][:160]
        return f"{name}: {first}" if first else name
    if track.facts.signal is not None:
        return f"signal {track.facts.signal}"
    if track.facts.exit_code is not None:
        return f"exit code {track.facts.exit_code}"
    return ""


def ending_of(claim: Claim, tracks: Mapping[Rank, Track]) -> str:
    """How the first culprit ended; "" where nothing tells."""
    found = [text for r in sorted(claim.culprits) if r in tracks and (text := ending(tracks[r]))]
    return found[0] if found else ""


def _ops(claim: Claim, tracks: Mapping[Rank, Track]) -> frozenset[str]:
    ranks = claim.culprits | claim.victims
    return frozenset(op for r in ranks if r in tracks and (op := tracks[r].place.op) is not None)
