"""The same job does not hang with another setting, which shows where the fault is.

## What it finds
Two runs of one command, of which the one without a setting was stuck and the one with it came to a
result; or a remark beside the log that nothing hangs with it.

## Why it hangs
If turning off one transport, or fixing one order, cures the hang, the fault is in what the setting
turns off or fixes.

## When it stays quiet
Where the job ended well, and no run of the log shows that only the trial did; where the sentence is
advice, a condition, a question, or says that it did not help; where the job that hung had the
setting already; for settings that change more than one thing. Where a process failed by itself it
only hints.

## How to confirm
Run several times with each value: a hang that occurs now and then may be absent once by chance.

## What to do
Repair what the setting works around; until then keep the setting, and know what it costs.

## References
NCCL documentation, "Environment Variables"; `settings/data/trials.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import SettingSeen, SettingTried
from unhang.model.rule import Cause, Fact, Finding, Incident, Status, Strength, rule, say
from unhang.rules.shared import order
from unhang.settings.trials import trials


@rule(
    "NET015",
    "setting-cures-it",
    needs={Fact.TRIALS},
    status=Status.PREVIEW,
    explains={Cause.EXTERNAL_STOP, Cause.TIMEOUT_SHORT},
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the setting that was tried, where only one kind of cure was."""
    in_force = {(seen.name, seen.value) for seen in incident.all(SettingSeen)}
    found = [e for e in incident.all(SettingTried) if e.measured or _key(e) not in in_force]
    causes = {trials()[event.name].cause for event in found}
    if len(causes) != 1 or incident.finished:
        return
    (cause,) = causes
    first = max(found, key=lambda event: event.measured)
    failed = any(f.manner in order.DECISIVE for f in incident.failures)
    yield check.finding(
        Strength.HINTS if failed else Strength.SUPPORTS,
        cause=cause,
        claim=say(
            "NET015.claim",
            "With {name}={value} the same job did not hang.",
            name=first.name,
            value=first.value,
        ),
        why=say(
            "NET015.why",
            "The two runs differ in this setting alone: what it turns off or decides is at fault.",
        ),
        at=first.at,
        evidence=found[:3],
    )


def _key(event: SettingTried) -> tuple[str, str]:
    return event.name, event.value
