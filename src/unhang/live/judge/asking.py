"""Dumps that are ordered to decide a claim among waiting ranks, and what their answer makes of it.

That ranks wait for each other is seen from outside; which of them went astray their dumps may tell.
While these are on their way nobody is accused beside the one whom they may single out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unhang.live.judge.claim import GRAVITY, Claim
from unhang.live.messages.inputs import DumpsReady
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.model.ids import NO_RANKS

_TWO = 2
_ANSWER_S = 60.0
"""Dumps of which nothing is heard for so long are no longer waited for, ..."""
_NAME_S = 4.0
"""... and only so long where ranks need but be named."""
_DIFFER = "DSY101"
"""The rule that finds different calls under one number."""
AMONG = frozenset({SuspicionReason.MISMATCH, SuspicionReason.CIRCLE})
"""What is held against ranks that all wait, and not in the same call."""
_DIFFERENCES = frozenset(
    {Cause.DESYNC, Cause.UNEVEN_WORK, Cause.MODEL_DIVERGENCE, Cause.PG_DEADLOCK}
)

Key = tuple[str | None, int | None]
"""Group and number of the call that a standstill is about."""


@dataclass(slots=True)
class Question:
    """An order of dumps that is to decide a claim."""

    number: int
    key: Key
    at_s: float
    answer: DumpsReady | None = None

    def is_open(self, now_s: float, for_s: float = _ANSWER_S) -> bool:
        """Whether its answer may still come."""
        return self.answer is None and now_s < self.at_s + for_s


def key_of(claim: Claim) -> Key:
    """By which a claim and the question about it are told to be of the same standstill."""
    return claim.call.group, claim.call.seq


def answered(claim: Claim, asked: Question | None, now_s: float) -> Claim:
    """A claim among waiting ranks, with what the dumps of that very standstill say of it."""
    if asked is None or not claim.ask or asked.key != key_of(claim):
        return claim
    answer, everybody = asked.answer, claim.culprits | claim.victims
    if answer is None:
        return _held_back(claim, asked, now_s)
    claim = narrowed(claim, answer)
    if not _decides(answer) or not answer.culprits <= everybody:
        return claim
    # Of two ranks whose calls differ either may be wrong: it is between them.
    between = everybody if len(everybody) == _TWO else NO_RANKS
    circle = claim.charge is SuspicionReason.CIRCLE
    known = circle or not _is_vague(claim)
    culprits = answer.culprits or (claim.culprits if known else between)
    same = culprits == claim.culprits
    return replace(
        claim,
        charge=claim.charge if circle else SuspicionReason.MISMATCH,
        culprits=culprits,
        victims=everybody - culprits,
        stage=Stage.CONFIRMED,
        lifeless_s=None,
        patience_s=None,
        between=(),
        move=claim.move if same else "",
        due=claim.due if same else "",
    )


def narrowed(claim: Claim, answer: DumpsReady) -> Claim:
    """That it is between some ranks is seen; of which of them it is less evidence may tell."""
    everybody, odd = claim.culprits | claim.victims, answer.culprits
    told = odd and answer.strength not in {None, Strength.HINTS}
    if told and claim.charge is SuspicionReason.TOGETHER and _locates(answer):
        # All seem to wait; who has not issued the call of the others waits in one that they lack.
        charge = SuspicionReason.MISMATCH
        return replace(claim, charge=charge, culprits=odd, victims=everybody - odd)
    if not (told and _is_vague(claim) and answer.cause in _DIFFERENCES and odd < everybody):
        return claim
    return replace(claim, culprits=odd, victims=everybody - odd)


def _held_back(claim: Claim, asked: Question, now_s: float) -> Claim:
    """Nobody is accused beside the one whom dumps that are on their way may single out.

    Whom only its habits single out is named, and the dumps are awaited all the same.
    """
    by_habit = claim.charge in AMONG and claim.move != ""
    if not (by_habit or _is_vague(claim)) or not asked.is_open(now_s):
        return claim
    nameless = not by_habit and asked.is_open(now_s, _NAME_S)
    most = Stage.WATCHED if nameless else Stage.SUSPECTED
    return replace(claim, stage=min(claim.stage, most, key=GRAVITY.__getitem__))


def _is_vague(claim: Claim) -> bool:
    """Whether a claim among waiting ranks singles out none of them."""
    return claim.charge in AMONG and not (claim.culprits and claim.victims)


def _locates(answer: DumpsReady) -> bool:
    """Whether recorded calls show who has not come to a call, and nothing tells why."""
    return answer.cause is None and any(code.startswith("LOC1") for code in answer.fired)


def _decides(answer: DumpsReady) -> bool:
    """Whether dumps prove a difference between ranks; logs alone may tell of an earlier start."""
    recorded = any(code.startswith("DSY1") for code in answer.fired)
    if not recorded or answer.cause not in _DIFFERENCES:
        return False
    # Calls that differ under one number never end; only who went astray may be left open.
    differ = answer.cause is Cause.UNEVEN_WORK or _DIFFER in answer.fired
    return answer.strength is Strength.PROVES or (differ and answer.strength is Strength.SUPPORTS)
