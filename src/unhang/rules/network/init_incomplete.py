"""Some ranks never started a communicator that the others wait to complete.

## What it finds
`Init START` lines of a communicator without their `Init COMPLETE`, and which of its ranks never
printed a START.

## Why it hangs
A communicator is made by all its ranks together. Those that started wait inside NCCL, without a
collective and without a watchdog's time-out, until the last one arrives.

## When it stays quiet
When every rank started and none completed: then the set-up itself is stuck, and nobody is late.
Ranks of which no line at all was seen are silent, not absent; ranks of a communicator smaller than
the world are not translated into global ranks.

## How to confirm
The stack of a rank without START (`py-spy dump`): it is elsewhere in the program.

## What to do
Look at what the absent ranks do before their first collective: data, compilation, a crash.

## References
NCCL `src/init.cc`; NCCL 2.18 and later print START.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from unhang.model.events import CommunicatorStage, InitStage
from unhang.model.ids import Rank, Ranks, RankSpans
from unhang.model.phases import Phase
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say


@rule("NET013", "communicator-init-incomplete", needs={Fact.NCCL_INFO})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for each communicator of the world that waits for observed ranks."""
    for stages in _communicators(incident).values():
        size = stages[0].size
        started = _ranks(stages, InitStage.START)
        done = _ranks(stages, InitStage.COMPLETE)
        if size is None or size != incident.world.size or not started - done:
            continue
        missing = RankSpans.below(size) - started
        seen = frozenset(r for r, told in incident.roster.items() if told.observed) & missing
        if seen and 2 * len(missing) <= size:
            yield _finding(stages, started, seen, len(missing) == len(seen))


def _finding(
    stages: Sequence[CommunicatorStage], started: Ranks, seen: Ranks, complete: bool
) -> Finding:
    return check.finding(
        Strength.SUPPORTS if complete else Strength.HINTS,
        claim=say(
            "NET013.claim",
            "{absent:ranks} never started the communicator that {started:ranks} wait for",
            absent=seen,
            started=started,
        ),
        why=say(
            "NET013.why",
            "A communicator is made by all its ranks together; the others wait in NCCL.",
        ),
        against=None
        if complete
        else say("NET013.against_silent", "Nothing at all was seen of the other missing ranks."),
        culprits=seen,
        phase=Phase.INIT,
        at=stages[0].at,
        evidence=stages,
    )


def _communicators(incident: Incident) -> Mapping[str, list[CommunicatorStage]]:
    found = defaultdict(list)
    for stage in incident.all(CommunicatorStage):
        if stage.comm_id is not None:
            found[stage.comm_id].append(stage)
    return found


def _ranks(stages: Sequence[CommunicatorStage], kind: InitStage) -> Ranks:
    return frozenset(
        Rank(s.comm_rank) for s in stages if s.stage is kind and s.comm_rank is not None
    )
