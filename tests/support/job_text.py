"""From lines of a made-up log to the incident that the whole pipeline makes of them."""

from __future__ import annotations

import io
from collections.abc import Mapping

from unhang.assemble import assemble
from unhang.engine.gather import read_artifact
from unhang.model.events import Event
from unhang.model.finding import Finding
from unhang.model.incident import Incident
from unhang.model.rule import Rule
from unhang.sources.artifact import Artifact
from unhang.sources.hints import origin_of


def incident_of(*lines: str, **more: str) -> Incident:
    """The last incident of `job.log`, and of further artifacts by name."""
    artifacts: Mapping[str, str] = {"job.log": "\n".join(lines) + "\n", **more}
    events: list[Event] = []
    for name, text in artifacts.items():
        data = text.encode()
        artifact = Artifact(
            name=name,
            open=lambda data=data: io.BytesIO(data),  # type: ignore[misc]
            origin=origin_of(name),
        )
        found, problems = read_artifact(artifact)
        assert not problems
        events.extend(found)
    return assemble(events, len(artifacts))[-1]


def judge_text(rule: Rule, *lines: str, **more: str) -> list[Finding]:
    """What one rule says of a log."""
    return list(rule.check(incident_of(*lines, **more)))


TIMEOUT = (
    "[rank{rank}]:[E1121 01:{minute:02d}:45.172185860 ProcessGroupNCCL.cpp:607] [Rank {rank}] "
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, "
    "NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600020 milliseconds before "
    "timing out."
)


def timed_out(rank: int, *, minute: int = 30, seq: int = 808, numel: int = 1024) -> str:
    """A watchdog's line."""
    return TIMEOUT.format(rank=rank, minute=minute, seq=seq, numel=numel)


def raised(rank: int, error: str) -> list[str]:
    """A traceback of a rank that names the program's own code."""
    lines = [
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 12, in <module>',
        "    main()",
        '  File "/job/train.py", line 8, in main',
        "    step(batch)",
        error,
    ]
    return [f"[rank{rank}]: {text}" for text in lines]
