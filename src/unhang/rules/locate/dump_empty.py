"""A rank left an empty dump.

## What it finds
A file with the name of a Flight Recorder dump and a size of zero.

## Why it hangs
The process opened the file and never wrote it: it was ended in between, or it is stuck while it
collects what to write (a dump with stacks needs the interpreter's lock). Where all ranks with a
dump wait for it, it is the first one to look at.

## When it stays quiet
Where another rank explains the wait, the empty file is only a remark: a rank may be killed while it
writes because the job ends. A disk that is full leaves many empty files.

## How to confirm
Look for the process: its exit code, its log, the kernel log of its host, free space on the disk.

## What to do
If the process died, find out why first. If it lives, `py-spy dump` shows where it is.

## References
pytorch/pytorch#167023.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import DumpFlaw, DumpUnusable
from unhang.model.recorder_analysis import SuspectRole
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import recorded


@rule("LOC110", "dump-empty", needs={Fact.UNUSABLE_DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all empty dumps; it names those that all others wait for."""
    found = [e for e in incident.all(DumpUnusable) if e.flaw is DumpFlaw.EMPTY]
    if not found:
        return
    ranks = frozenset(e.origin.rank for e in found if e.origin.rank is not None)
    culprits = ranks & recorded.ranks_of(recorded.suspects(incident, SuspectRole.SILENT))
    strength, against = recorded.weigh(
        incident, culprits, Strength.SUPPORTS if culprits else Strength.HINTS
    )
    yield check.finding(
        strength,
        claim=say(
            "LOC110.claim_waited",
            "The {count:|dump|dumps} of {ranks:ranks} {count:|is|are} empty (0 bytes), and"
            " all others wait for it.",
            ranks=culprits or ranks,
            count=len(found),
        )
        if culprits
        else say(
            "LOC110.claim",
            "{count} {count:|dump|dumps} of {ranks:ranks} {count:|is|are} empty (0 bytes).",
            ranks=culprits or ranks,
            count=len(found),
        ),
        why=say(
            "LOC110.why",
            "A process that left an empty dump was killed while writing it, or got stuck before.",
        ),
        against=against if culprits else None,
        culprits=culprits,
        evidence=found,
    )
