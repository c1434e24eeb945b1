"""A file among the dumps carries code, or would have exhausted memory.

## What it finds
A file that poses as a Flight Recorder dump and is a program: a pickle that names a function to be
called when it is loaded. Also a dump that asks for far more memory than it holds. Such files are
refused; nothing in them is run.

## Why it hangs
It does not: it says nothing about the job. It may be an attack on whoever reads dumps:
`pickle.load`, which torch's own analyser calls, runs what it says.

## When it stays quiet
Dumps of torch hold texts, numbers, lists and dictionaries only; no dump of any version is refused.

## How to confirm
`python -m pickletools FILE` prints the file's opcodes without running them.

## What to do
Do not open the file with anything else. Find out who wrote it and where it came from; have the rank
write its dump again.

## References
Python documentation, `pickle`: "Never unpickle data that could have come from an untrusted source".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import DumpFlaw, DumpUnusable
from unhang.model.rule import Fact, Finding, Incident, Message, Strength, rule, say

_NAMED = 3


@rule("CFG201", "dump-carries-code", needs={Fact.UNUSABLE_DUMPS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one warning for files with code, and one for those refused for another reason."""
    refused = incident.all(DumpUnusable)
    code = [e for e in refused if e.flaw is DumpFlaw.CODE]
    unsafe = [e for e in refused if e.flaw is DumpFlaw.UNSAFE]
    if code:
        yield _warning(
            say(
                "CFG201.claim",
                "WARNING: {count:|a file carries|files carry} code and {count:|was|were} refused;"
                " nothing in {count:|it|them} was run: {files} ({detail}).",
            ),
            say(
                "CFG201.why",
                "No recorder writes that: find out who wrote it, and do not load it with anything"
                " else.",
            ),
            code,
        )
    if unsafe:
        yield _warning(
            say("CFG201.claim_unsafe", "WARNING: {files} {count:|was|were} refused: {detail}."),
            say(
                "CFG201.why_unsafe", "No recorder writes such a file: find out where it came from."
            ),
            unsafe,
        )


def _warning(claim: Message, why: Message, found: Sequence[DumpUnusable]) -> Finding:
    files = [e.source.artifact for e in found]
    more = f" (+{len(files) - _NAMED})" if len(files) > _NAMED else ""
    return check.finding(
        Strength.PROVES,
        claim=claim.using(
            files=", ".join(files[:_NAMED]) + more,
            count=len(files),
            detail=", ".join(dict.fromkeys(e.detail for e in found[:_NAMED])),
        ),
        why=why,
        evidence=found,
        urgent=True,
    )
