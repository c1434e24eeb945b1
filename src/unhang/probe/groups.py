"""Reads torch's own tables of process groups, and keeps no group alive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta


def registered(c10d: Any) -> list[tuple[Any, str]]:
    """All groups that this process is a member of, with their names."""
    world = getattr(c10d, "_world", c10d)
    names = getattr(world, "pg_names", None)
    if names is None:
        names = getattr(c10d, "_pg_names", {})
    # One call, which no other thread can interrupt.
    return [(group, str(name)) for group, name in list(names.items()) if hasattr(group, "size")]


def default_rank_and_size(c10d: Any) -> tuple[int, int] | None:
    """Rank and size in the default group, or None before there is one."""
    world = getattr(c10d, "_world", c10d)
    default = getattr(world, "default_pg", None) or getattr(c10d, "_default_pg", None)
    return None if default is None else (default.rank(), default.size())


def describe(c10d: Any, group: Any) -> dict[str, Any]:
    """What never changes in a group: description, members, back ends."""
    world = getattr(c10d, "_world", c10d)
    members = getattr(world, "pg_group_ranks", {}).get(group)
    ranks = None
    if members:
        ranks = sorted(members)
    elif getattr(group, "group_name", "") == "0" or len(registered(c10d)) == 1:
        ranks = list(range(group.size()))
    return {
        "desc": str(getattr(group, "group_desc", "") or ""),
        "ranks": ranks,
        "backend": _backend(world, group),
    }


def backends(group: Any) -> Iterator[Any]:
    """What a group works with, one for each kind of device; the group itself in torch 1.x."""
    if not hasattr(group, "_get_backend"):
        yield group
        return
    device = sys.modules["torch"].device

    seen: list[Any] = []
    for kind in getattr(group, "_device_types", None) or ("cpu", "cuda"):
        try:
            backend = group._get_backend(device(kind))
        except RuntimeError:
            continue  # none for this device
        inner = getattr(backend, "wrapped_pg", backend)
        if all(inner is not other for other in seen):
            seen.append(inner)
            yield inner


def timeout_ms(backend: Any) -> int | None:
    """The limit of operations to come, or None when the back end does not tell."""
    options = getattr(backend, "options", None)
    limit = getattr(options, "_timeout", None)
    return None if limit is None else milliseconds(limit)


def set_timeout(backend: Any, limit: timedelta) -> bool:
    """Set the limit of operations to come; False when this torch cannot."""
    for name in ("_set_default_timeout", "set_timeout"):
        change = getattr(backend, name, None)
        if change is not None:
            change(limit)
            return True
    return False


def enqueued(group: Any) -> int | None:
    """Operations issued so far by the group's own count, where there is no recorder."""
    for backend in backends(group):
        count = getattr(backend, "_get_sequence_number_for_group", None)
        if count is not None:
            return int(count())
    return None


def milliseconds(limit: timedelta) -> int:
    """A limit as torch prints it."""
    return int(limit.total_seconds() * 1000)


def _backend(world: Any, group: Any) -> str | None:
    entry = getattr(world, "pg_map", {}).get(group)
    return str(entry[0]) if entry else None
