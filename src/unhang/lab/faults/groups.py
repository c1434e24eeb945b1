"""Learns the rank when the default group is made, and keeps time limits short in a drill."""

from __future__ import annotations

import datetime
import functools
import os
from types import ModuleType
from typing import Any

from .declared import LIMIT_VARIABLE
from .director import Director
from .imports import when_imported

_DEFAULTS = ("default_pg_timeout", "default_pg_nccl_timeout")


def install(director: Director) -> None:
    """Hook into the making of groups."""
    when_imported(
        "torch.distributed.distributed_c10d", functools.partial(_change, director=director)
    )


def _change(module: ModuleType, *, director: Director) -> None:
    limit = os.environ.get(LIMIT_VARIABLE)
    longest = None if not limit else datetime.timedelta(seconds=float(limit))
    if longest is not None:
        for name in _DEFAULTS:
            if getattr(module, name, None) is not None:
                setattr(module, name, longest)
    for name in ("init_process_group", "new_group", "split_group"):
        if hasattr(module, name):
            setattr(module, name, _limited(getattr(module, name), longest))
    module.init_process_group = _joining(  # type: ignore[attr-defined]
        module.init_process_group, director
    )


def _limited(make: Any, longest: datetime.timedelta | None) -> Any:
    @functools.wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        asked = options.get("timeout")
        if longest is not None and asked is not None and asked > longest:
            options["timeout"] = longest
        return make(*args, **options)

    return made


def _joining(make: Any, director: Director) -> Any:
    @functools.wraps(make)
    def made(*args: Any, **options: Any) -> Any:
        rank = options.get("rank", -1)
        if rank < 0:
            rank = int(os.environ.get("RANK", "-1"))
        if rank >= 0:
            director.joined(rank)
        return make(*args, **options)

    return made
