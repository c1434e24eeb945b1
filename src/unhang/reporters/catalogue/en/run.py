"""Sentences of a watched run: what the agent did, and what it could not."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "run.watching": "watching; the run folder is {path}",
    "run.captured": "everything about the hang is in {path}",
    "run.aborted": "the hanging job is ended, so that its launcher can start it again",
    "run.abandoned": "`unhang run` was killed: the job is ended with it",
    "run.notified": "{target} was told",
    "run.leftover": "processes {pids} outlived their launcher and are ended",
}
