"""Sentences of a watched run: what the agent did, and what it could not."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "run.captured": "everything about the hang is in {path}",
    "run.aborted": "the job is ended so that its launcher can start it again: {why}",
    "run.abandoned": "`unhang run` was killed: the job is ended with it",
    "run.notified": "{target} was told",
    "run.judged_elsewhere": "the judging node has found that the job hangs",
    "run.leftover": "processes {pids} outlived their launcher and are ended",
}
