"""Settings that another file of the job must say the same: a value that changes changes there, too.

The Trainer compares its arguments with DeepSpeed's configuration and refuses to start where they
differ; `auto` takes over whatever the Trainer says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang.fixing.job import Held, Job, plain
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting, Spelling
from unhang.settings import frameworks


def partners(
    job: Job, request: RequestedSetting, old: str | None
) -> Iterator[tuple[Held, RequestedSetting]]:
    """Yield where else a setting stands, and the request to write there.

    Args:
        job: as it was before the change.
        request: what changes.
        old: the value in force before.

    Raises:
        Refusal: it stands in a file that is only read, or says another value already.
    """
    for framework in frameworks().values():
        for theirs, ours in framework.mirrors.items():
            if ours != plain(request.name) or theirs == request.name:
                continue
            for held in job.documents:
                value = held.settings.get(theirs)
                if value is None or value == "auto" or not _of(held, framework.name):
                    continue
                if held.owner is None:
                    raise Refusal(f"{held.file.path} holds `{theirs}`: give that file too")
                if old is not None and value != old:
                    raise Refusal(
                        f"{held.file.path} says `{theirs}` {value}, and `{ours}` is {old}: make"
                        " them agree first"
                    )
                yield held, replace(request, path=tuple(theirs.split(".")), spelling=Spelling.KEY)


def _of(held: Held, framework: str) -> bool:
    return any(tag.startswith(f"{framework}-") for tag in held.tags)
