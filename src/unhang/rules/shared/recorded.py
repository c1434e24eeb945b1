"""What Flight Recorder dumps show, as the rules of several families say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import (
    DumpFlaw,
    DumpUnusable,
    Frame,
    GroupRef,
    LoopStood,
    StackKind,
    ThreadStack,
)
from unhang.model.ids import NO_RANKS, GroupId, Ranks, SeqId
from unhang.model.incident import Call, Join
from unhang.model.phases import Phase
from unhang.model.provenance import Provenance
from unhang.model.recorder_analysis import Suspect, SuspectRole
from unhang.model.recording import LastCall
from unhang.model.rule import Finding, Incident, Message, Rule, Strength, say
from unhang.model.waits import CallRef, Mismatch, Variant, Wait

_SHOWN_SUSPECTS = 2

# Functions of programs and frameworks that do nothing else.
_PHASES = (
    (
        Phase.SAVE,
        re.compile(r"_?save_?(?:model|checkpoint|state|pretrained|to_disk|optimizer|ckpt)"),
    ),
    (Phase.LOAD, re.compile(r"_?load_?(?:model|checkpoint|ckpt|pretrained)|from_pretrained")),
    (Phase.EVAL, re.compile(r"_?(?:evaluate|evaluation_loop|evaluation_step|validate|run_eval)")),
    (Phase.GENERATE, re.compile(r"generate(?:_rollouts?|_sequences)?|rollout")),
    (Phase.DATA, re.compile(r"_?(?:next_data|_try_get_data|get_batch_samples|fetch_batch)")),
)


def suspects(incident: Incident, role: SuspectRole) -> tuple[Suspect, ...]:
    """Ranks that hold others up in one way; none where the calls themselves differ.

    After calls that differ, who waits for whom is only their consequence. A rank whose file was
    refused is not silent: what it said is not known.
    """
    found = incident.recorded
    if found is None or found.analysis.mismatches:
        return ()
    refused = _refused(incident) if role is SuspectRole.SILENT else NO_RANKS
    return tuple(s for s in found.suspects if s.role is role and s.rank not in refused)


def _refused(incident: Incident) -> Ranks:
    """Ranks that left a file which was refused."""
    files = (e for e in incident.all(DumpUnusable) if e.flaw is not DumpFlaw.EMPTY)
    return frozenset(e.origin.rank for e in files if e.origin.rank is not None)


def ranks_of(found: tuple[Suspect, ...]) -> Ranks:
    """Their ranks."""
    return frozenset(suspect.rank for suspect in found)


def call_of(wait: Wait) -> Call:
    """A call of the dumps as reports show it."""
    call = _call(wait.call, [(wait.waiters, wait.shown)], wait.sources[0])
    return replace(call, absent=wait.awaited, silent=wait.unknown)


def mismatched_call(found: Mismatch) -> Call:
    """The same of one that was issued in different forms."""
    first = found.variants[0]
    assert first.source is not None  # dumps always have a place
    return _call(found.call, [(v.ranks, v.last) for v in found.variants], first.source)


def _call(ref: CallRef, forms: Iterable[tuple[Ranks, LastCall | None]], source: Provenance) -> Call:
    """A call as its ranks issued it; the most frequent form first."""
    return Call(
        group=GroupRef(guid=GroupId(ref.group or ""), description=ref.description or None),
        seq=None if ref.seq is None else SeqId(ref.seq),
        joins={
            rank: Join(
                rank=rank,
                global_rank=True,
                op=None if last is None else operation(last.op),
                numel_in=None if last is None else last.numel_in,
                numel_out=None if last is None else last.numel_out,
                timed_out=False,
                source=source,
            )
            for ranks, last in forms
            for rank in sorted(ranks)
        },
        members=ref.members,
    )


def operation(op: str) -> str:
    """An operation as logs write it.

    >>> operation("_all_gather_base")
    '_ALLGATHER_BASE'
    """
    return op.upper().replace("ALL_REDUCE", "ALLREDUCE").replace("ALL_GATHER", "ALLGATHER")


def evidence(found: tuple[Suspect, ...], wait: Wait | None) -> list[Provenance]:
    """The last calls of the first suspects, and of one rank that waits."""
    sources = [suspect.source for suspect in found[:_SHOWN_SUSPECTS]]
    return sources if wait is None else [*sources, *wait.sources]


def weigh(incident: Incident, ranks: Ranks, otherwise: Strength) -> tuple[Strength, Message | None]:
    """Lower a strength where the logs say that another rank failed by itself."""
    failed = frozenset(f.rank for f in incident.own_failures if f.rank is not None)
    if failed and not failed & ranks:
        weaker = Strength.SUPPORTS if otherwise is Strength.PROVES else Strength.HINTS
        return weaker, say(
            "recorder.against_log",
            "According to the logs, {ranks:ranks} failed by itself.",
            ranks=failed,
        )
    return otherwise, None


def may_be_a_shorter_loop(incident: Incident, difference: Mismatch) -> bool:
    """Whether the odd rank may only be through with its steps: in no earlier line of what it is."""
    most, other = difference.variants[:2]
    if not (difference.ended and other.kind.op == "barrier"):
        return False
    parted = _parting(*(side.last.frames if side.last else () for side in (other, most)))
    before = parted is not None and (parted[0].line or 0) < (parted[1].line or 0)
    return not before and not in_one_loop(incident, difference)


def in_one_loop(incident: Incident, difference: Mismatch) -> bool:
    """Whether the loop that most are in holds the odd ranks' call as well: they have not left it.

    That of a step decides, not one around it.
    """
    most, other = difference.variants[:2]
    parted = _parting(_frames(incident, other), _frames(incident, most))
    if parted is None:
        return False
    odd, like = parted
    where = like.file, like.function
    loops = (e for e in incident.all(LoopStood) if (e.file, e.function) == where)
    held = (loop for loop in loops if loop.first <= (like.line or 0) <= loop.last)
    inner = min(held, key=lambda loop: loop.last - loop.first, default=None)
    return inner is not None and inner.first <= (odd.line or 0) <= inner.last


def _parting(one: Sequence[Frame], other: Sequence[Frame]) -> tuple[Frame, Frame] | None:
    """The frames of the innermost function that two calls are both in, from different lines."""
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if (a.file, a.function) != (b.file, b.function):
            return None
        if a.line != b.line:
            return a, b
    return None


def _frames(incident: Incident, variant: Variant) -> Sequence[Frame]:
    """The stack of a call, the innermost frame first; that of a thread where dumps have none yet.

    The main thread's is printed last.
    """
    if variant.last is not None and variant.last.frames:
        return variant.last.frames
    stacks = (s for s in incident.all(ThreadStack) if s.origin.rank in variant.ranks)
    told = [s.frames for s in stacks if s.kind is StackKind.PYTHON and s.main is not False]
    return told[-1][::-1] if told else ()


def located(
    rule: Rule, incident: Incident, role: SuspectRole, claim: Message, why: Message
) -> Iterator[Finding]:
    """Yield one finding for all ranks of a role that dumps support, but do not prove.

    Args:
        rule: the rule.
        incident: what the dumps show.
        role: how they hold the others up.
        claim: what is said of the ranks.
        why: what shows it.
    """
    found = suspects(incident, role)
    if not found or incident.recorded is None:
        return
    ranks = ranks_of(found)
    wait = incident.recorded.analysis.wait_for(ranks)
    strength, against = weigh(incident, ranks, Strength.SUPPORTS)
    yield rule.finding(
        strength,
        claim=claim.using(ranks=ranks),
        why=why,
        against=against,
        culprits=ranks,
        call=None if wait is None else call_of(wait),
        evidence=evidence(found, wait),
    )


def phase_of(found: tuple[Suspect, ...]) -> Phase | None:
    """What the suspects were doing, where the stack of their last call says it outright."""
    phases = {_phase(suspect.last) for suspect in found}
    return phases.pop() if len(phases) == 1 else None


def _phase(last: LastCall | None) -> Phase | None:
    found = phase_of_frames(() if last is None else last.frames)
    return None if found is None else found[0]


def phase_of_frames(frames: Sequence[Frame]) -> tuple[Phase, Frame] | None:
    """The first frame whose function does nothing but the work of a phase; innermost first."""
    for frame in frames:
        for phase, pattern in _PHASES:
            if pattern.fullmatch(frame.function.rpartition(".")[2]):
                return phase, frame
    return None


def place(call: LastCall | None) -> str | None:
    """Where in the program a call was issued."""
    if call is None or not call.frames:
        return None
    frame = call.frames[0]
    return f"{frame.file}:{frame.line} ({frame.function})"


def sources(variants: Sequence[Variant]) -> tuple[Provenance, ...]:
    """Where the forms of a call were read."""
    return tuple(v.source for v in variants if v.source is not None)


def group_name(call: CallRef) -> str:
    """A group as people know it."""
    return f"{call.group} ({call.description})" if call.description else str(call.group)
