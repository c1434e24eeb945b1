"""Diagnoses for tests of reports and commands: one rich, one of each other outcome, one hostile."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from support.builders import DEFAULT_PG, at
from unhang.model.activity import Activity, ActivityBasis, ActivitySpan, fold_spans
from unhang.model.causes import Cause
from unhang.model.coverage import Coverage
from unhang.model.diagnosis import (
    Candidate,
    Diagnosis,
    Fix,
    FixKind,
    Outcome,
    RejectedAdvice,
    Stats,
    StoryItem,
)
from unhang.model.finding import Collect, Finding, Strength
from unhang.model.ids import Rank, Ranks, SeqId
from unhang.model.incident import Call, Join
from unhang.model.phases import Phase
from unhang.model.provenance import Message, Problem, Provenance
from unhang.model.waits import Analysis, CallRef, Snapshot, Wait, WaitWitness, WitnessKind

_SAVING = Provenance(
    artifact="runs/7/rank0.log", line=412, text="Writing model shards:  25%|##5       | 2/8"
)
_WAITING = Provenance(
    artifact="runs/7/rank3.log", line=398, text="[Rank 3] Watchdog caught collective timeout: …"
)


def ranks(*numbers: int) -> Ranks:
    return frozenset(Rank(n) for n in numbers)


def say(text: str) -> Message:
    """A message whose sentence is `text`, whatever the catalogue holds."""
    return Message(key="unit.s", values={"n": text})


def stuck_call() -> Call:
    joins = {
        Rank(n): Join(
            rank=Rank(n),
            global_rank=True,
            op="ALLREDUCE",
            numel_in=9_801_523,
            numel_out=9_801_523,
            timeout_ms=1_800_000,
            elapsed_ms=1_800_034,
            at=at(1_800),
            source=_WAITING,
        )
        for n in (1, 2, 3)
    }
    return Call(group=DEFAULT_PG, seq=SeqId(808), joins=joins, members=ranks(0, 1, 2, 3))


def _candidate(cause: Cause, confidence: float, strength: Strength, claim: str) -> Candidate:
    return Candidate(
        cause=cause,
        confidence=confidence,
        strength=strength,
        culprits=ranks(0),
        culprit_hosts=frozenset(),
        claim=Message(key=claim),
        why=Message(key=claim),
        against=Message(key=claim),
        rules=("SLO001",),
        evidence=(_SAVING, _WAITING),
        phase=Phase.SAVE,
    )


def slow_save() -> Diagnosis:
    """Every field holds something."""
    leading = _candidate(Cause.CHECKPOINT_SLOW, 0.93, Strength.PROVES, "cause.checkpoint_slow")
    other = _candidate(Cause.TIMEOUT_SHORT, 0.3, Strength.HINTS, "cause.timeout_short")
    return Diagnosis(
        outcome=Outcome.CAUSE,
        cause=Cause.CHECKPOINT_SLOW,
        confidence=0.93,
        strength=Strength.PROVES,
        culprits=ranks(0),
        culprit_hosts=frozenset({"node-0"}),
        victims=ranks(1, 2, 3),
        phase=Phase.SAVE,
        call=stuck_call(),
        summary=leading.claim,
        story=(
            StoryItem(
                at="10:02:11", ranks=ranks(0), what=Message(key="phase.save"), evidence=_SAVING
            ),
            StoryItem(
                at="10:32:11",
                ranks=ranks(1, 2, 3),
                what=Message(key="cause.timeout_short"),
                evidence=_WAITING,
            ),
        ),
        candidates=(leading, other),
        fixes=(
            Fix(
                title=Message(key="label.fix"),
                kind=FixKind.CURE,
                framework="torch",
                where="train.py",
                patch="dist.init_process_group(\n    timeout=timedelta(hours=2),\n)",
                reaches="default_pg",
                risk=Message(key="label.risk"),
                verify=Message(key="label.verify"),
            ),
        ),
        advice_rejected=(
            RejectedAdvice(
                setting="NCCL_TIMEOUT", found_in="launch.sh:12", reason=Message(key="label.why")
            ),
        ),
        collect_next=(
            Collect(
                what=Message(key="label.collect"),
                how=Message(key="label.evidence"),
                decides=Message(key="label.others"),
            ),
        ),
        coverage=Coverage(
            world_size=5,
            ranks_seen=ranks(0, 1, 2, 3),
            ranks_silent=ranks(4),
            lines_dropped=7,
            sources={"log": 4},
        ),
        problems=(
            Problem(artifact="runs/7/core", component="reader", message="it is no text; left out"),
        ),
        versions={"torch": ("2.6.0", "ProcessGroupNCCL.cpp:629")},
        framework=("trl", "the SFTTrainer of its traceback"),
        stats=Stats(files=4, size_bytes=1_536, events=31, seconds=0.4),
        incarnation=1,
        incarnations=2,
        earlier=(
            Diagnosis(
                outcome=Outcome.CAUSE,
                cause=Cause.GPU_OOM,
                confidence=0.97,
                strength=Strength.PROVES,
                culprits=ranks(2),
                summary=Message(key="cause.gpu_oom"),
                incarnations=2,
            ),
        ),
        missing_facts={"NET001": ("NCCL warnings or errors",)},
    )


def located() -> Diagnosis:
    return Diagnosis(
        outcome=Outcome.LOCATED,
        culprits=ranks(0),
        victims=ranks(1, 2, 3),
        call=stuck_call(),
        summary=Message(key="label.waiting"),
        located=Finding(
            rule="LOC001",
            cause=None,
            strength=Strength.PROVES,
            claim=Message(key="label.waiting"),
            why=Message(key="label.story"),
            culprits=ranks(0),
            evidence=(_WAITING,),
        ),
        missing_facts={"DEV001": ("the kernel log",), "SLO001": ("live stacks",)},
    )


def undetermined() -> Diagnosis:
    return Diagnosis(outcome=Outcome.UNDETERMINED, summary=Message(key="summary.undetermined"))


def healthy() -> Diagnosis:
    return Diagnosis(outcome=Outcome.HEALTHY, summary=Message(key="summary.healthy"))


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07[bold red]x[/] <img src=x onerror=alert(1)> `a` \u202egnp\x9b1m\r\n# h"
)
"""Escape sequences, markup of rich, HTML, Markdown, a reversing mark, line ends."""


def hostile() -> Diagnosis:
    """Text of others in every field that may hold it."""
    evil = Provenance(artifact=f"a/{HOSTILE}.log", line=1, text=HOSTILE)
    message = say(HOSTILE)
    candidate = Candidate(
        cause=Cause.RANK_EXCEPTION,
        confidence=0.9,
        strength=Strength.PROVES,
        culprits=ranks(0),
        culprit_hosts=frozenset({HOSTILE}),
        claim=message,
        why=message,
        against=message,
        rules=("CRA001",),
        evidence=(evil,),
    )
    return Diagnosis(
        outcome=Outcome.CAUSE,
        cause=Cause.RANK_EXCEPTION,
        confidence=0.9,
        strength=Strength.PROVES,
        culprits=ranks(0),
        culprit_hosts=frozenset({HOSTILE}),
        summary=message,
        story=(StoryItem(at=HOSTILE, ranks=ranks(0), what=message, evidence=evil),),
        candidates=(candidate,),
        fixes=(
            Fix(
                title=message,
                kind=FixKind.CURE,
                framework=HOSTILE,
                where=HOSTILE,
                patch=HOSTILE,
                reaches=HOSTILE,
                risk=message,
                verify=message,
            ),
        ),
        advice_rejected=(RejectedAdvice(setting=HOSTILE, found_in=HOSTILE, reason=message),),
        collect_next=(Collect(what=message, how=message, decides=message),),
        problems=(Problem(artifact=HOSTILE, component="reader", message=HOSTILE),),
        versions={HOSTILE: (HOSTILE, HOSTILE)},
        framework=(HOSTILE, HOSTILE),
    )


EVERY = {
    "slow-save": slow_save(),
    "located": located(),
    "undetermined": undetermined(),
    "healthy": healthy(),
    "hostile": hostile(),
}


def waiting(*, awaited: int | None, of: int, unknown: bool = False) -> Analysis:
    """All ranks of a job wait for one of them."""
    others = frozenset(Rank(n) for n in range(of) if n != awaited)
    late = frozenset() if awaited is None else ranks(awaited)
    wait = Wait(
        call=CallRef(group="0", description="default_pg", seq=41, op="all_reduce"),
        waiters=others,
        awaited=frozenset() if unknown else late,
        unknown=late if unknown else frozenset(),
        waited_s=1_800.0,
        witnesses=(WaitWitness(kind=WitnessKind.RECORDER, weight=Strength.PROVES),),
    )
    return Analysis(snapshot=Snapshot(waits=(wait,)), held_up=others)


@cache
def large(size: int) -> Diagnosis:
    """One late rank among very many, with what each did over time."""
    late = Rank(size // 3)
    spans = {
        Rank(n): [
            ActivitySpan(0.0, 40.0 + n % 7, Activity.WORK),
            ActivitySpan(40.0 + n % 7, 100.0, Activity.FAULT if n == late else Activity.WAIT),
        ]
        for n in range(size)
    }
    return replace(
        slow_save(),
        culprits=frozenset({late}),
        victims=frozenset(Rank(n) for n in range(size) if n != late),
        waits=waiting(awaited=late, of=size),
        activity=fold_spans(spans, ActivityBasis.RUN, dated=False),
    )
