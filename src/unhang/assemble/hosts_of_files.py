"""From the name of a kernel's log to the host whose it is, where the job names such a host.

`dmesg_wx-04.txt` is the log of wx-04 if a process of the job ran there: a name alone names no host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, KernelEvent
from unhang.model.host_lists import short_host

_WORD = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def with_hosts_of_files(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events, those of kernels with the host that their file is named after."""
    logs = {e.source.artifact for e in events if isinstance(e, KernelEvent)}
    if not logs:
        return events
    known = {short_host(e.origin.host) for e in events if e.source.artifact not in logs} - {None}
    hosts = {name: host for name in logs if (host := _host_in(name, known)) is not None}
    return [
        replace(event, origin=replace(event.origin, host=host))
        if (host := hosts.get(event.source.artifact)) is not None and _is_part(event, host)
        else event
        for event in events
    ]


def _is_part(event: Event, host: str) -> bool:
    """Whether nothing else is told of the host than the name of the file, or a part of it."""
    told = event.origin.host
    return told is None or (told != host and host.endswith(told))


def _host_in(name: str, known: set[str | None]) -> str | None:
    """The one known host that a name holds as a word, alone or behind another."""
    last = name.replace("!", "/").rpartition("/")[2].lower()
    words = _WORD.findall(last)
    words += [word.partition("-")[2] for word in words] + [w.rpartition("-")[0] for w in words]
    found = {word for word in words if word in known and any(c.isdigit() for c in word)}
    return found.pop() if len(found) == 1 else None
