"""Work of unknown kind began when the others began to wait, and went on as long as they waited.

## What it finds
A progress bar whose label does not tell the kind of work, and whose elapsed time is the time that
the others waited, as their watchdogs measured it: it began when the wait began, and it
advanced all the time. One that counts bytes reads or fetches a file, unless a save or a load was
announced before.

## Why it hangs
Whoever draws the bar works alone; the others have gone on to the next collective and wait there.

## When it stays quiet
When the rank that draws the bar waits itself: a bar that is drawn once more when its process ends
shows the length of the hang, not of any work. So the bar must have advanced during the wait: by two
states far apart, or by a remaining time that fits the pace so far. When something else explains the
wait: a stop, a failure before, calls that differ. A bar says what, not who: a rank is named only
where its line does, or where the bar is the only voice of rank 0 on one host, and rank 0 does not
wait.

## How to confirm
Find the label in the program: who draws this bar, and what do the others do meanwhile?

## What to do
Do this work on all ranks, before the group is made, or with a timeout that covers it.

## References
`tqdm`: elapsed and remaining time; `torch.distributed.init_process_group(timeout=…)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import PhaseMark, Progress
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import order
from unhang.rules.slow.bar_of_wait import find_bar_of_wait, owner_of
from unhang.rules.slow.waiting import find_wait, measured_s
from unhang.rules.slow.work_strength import find_rival

_LEAST_S = 60.0
_BYTES = re.compile(r"\d ?[kKMGT]?i?B/s")
"""Without a label a file is read or fetched; what is sent away is named in front of its bar."""
_MOVES_BYTES = frozenset({Phase.SAVE, Phase.LOAD})


@rule(
    "SLO006",
    "work-as-long-as-the-wait",
    needs={Fact.PHASES},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield what was under way, and what kind of work it may be where the context tells."""
    wait = find_wait(incident)
    waited_s = None if wait is None else measured_s(wait)
    if wait is None or waited_s is None or waited_s < _LEAST_S:
        return
    states = find_bar_of_wait(incident, wait, waited_s)
    if not states or find_rival(incident, wait) is not None:
        return
    bar = states[-1]
    culprits = owner_of(incident, wait, bar)
    finding = check.finding(
        Strength.SUPPORTS,
        claim=say(
            "SLO006.claim_ranks",
            "{ranks:ranks}: work of {lasted:s} was under way (`{label}`), begun when the others"
            " began to wait.",
            ranks=culprits,
            lasted=bar.elapsed_s,
            label=bar.label or "…",
        )
        if culprits
        else say(
            "SLO006.claim",
            "Work of {lasted:s} was under way (`{label}`), begun when the others began to wait.",
            lasted=bar.elapsed_s,
            label=bar.label or "…",
        ),
        why=say(
            "SLO006.why",
            "The bar stands at {lasted:s} and advanced all the time; the others waited {waited:s}.",
            lasted=bar.elapsed_s,
            waited=waited_s,
        ),
        culprits=culprits,
        at=bar.at,
        call=wait.call,
        evidence=[*states[-2:], wait.alarm],
    )
    yield finding
    if not bar.label and _BYTES.search(bar.source.text) is not None:
        marks = [m for m in incident.all(PhaseMark) if order.is_before(m, states[0])]
        moves = bool(marks) and marks[-1].phase in _MOVES_BYTES
        yield replace(
            finding,
            cause=Cause.DATA_SLOW,
            strength=Strength.HINTS if moves or not culprits else Strength.SUPPORTS,
            phase=Phase.DATA,
            explains=frozenset({Cause.TIMEOUT_SHORT}),
        )
    elif _after_training(incident, states[0]):
        yield replace(
            finding,
            cause=Cause.EVAL_SLOW,
            strength=Strength.HINTS,
            against=say(
                "SLO006.against",
                "It came after the last step: it may be an evaluation, a save or a report.",
            ),
        )


def _after_training(incident: Incident, first: Progress) -> bool:
    """Whether the last bar before it that told of steps stood at its end."""
    earlier = [
        p
        for p in incident.all(Progress)
        if p.label != first.label
        and p.source.artifact == first.source.artifact
        and p.phase in (None, Phase.TRAIN)
        and order.is_before(p, first)
    ]
    return bool(earlier) and earlier[-1].done == earlier[-1].total
