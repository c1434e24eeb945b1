"""Data were still being loaded, tokenized or downloaded when the other ranks gave up waiting.

## What it finds
The last thing that a rank printed before the first time-out is preparation of data that has begun
and not ended: a `Map` or tokenizer bar below 100 %, an index that is being built, a download; or a
live stack in such code.

## Why it hangs
Preparation is often done by one rank first while the others wait: in a barrier
(`main_process_first`), in a broadcast of one element, or already in the set-up of the next
communicator (`store->get('0')`, which names the rank that is late, not a network fault). When it
lasts longer than the timeout, the waiting ranks end the job, although nothing is broken.

## When it stays quiet
When training went on after the preparation, or hundreds of collectives have passed since. It is
only a hint when a process failed first, when ranks issued different calls, when the rank at work
waits in the collective itself, or when a vague `Loading …` is followed by the very first
collective: that may also be the network, or a barrier before `set_device`.

## How to confirm
A bar's elapsed time at or above the timeout settles it; earlier bars use up part of the time too.
Run the preparation alone in one process and time it.

## What to do
Prepare the data once, before the launch, and load the result; use more worker processes; put the
cache where all nodes see it; initialize the process group after the preparation; or give the
group (and the store: it is the same value) a timeout that covers it.

## References
`transformers.TrainingArguments.main_process_first`; `datasets.Dataset.map(num_proc=…)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, rule, say
from unhang.rules.slow.work_findings import WorkRule, tell


@rule(
    "SLO002",
    "data-preparation-under-way-at-timeout",
    cause=Cause.DATA_SLOW,
    needs={Fact.PHASES, Fact.STACKS},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when preparing data outlasted the wait."""
    about = WorkRule(
        rule=check,
        phases=frozenset({Phase.DATA}),
        claim_ranks=say(
            "SLO002.claim_ranks",
            "{ranks:ranks}: data are still being prepared (`{detail}`) when the"
            " others give up waiting",
        ),
        claim=say(
            "SLO002.claim",
            "data are still being prepared (`{detail}`) when the others give up waiting",
        ),
    )
    yield from tell(incident, about)
