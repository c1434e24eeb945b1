"""Another environment on some ranks, before their program reads it."""

from __future__ import annotations

import os

from .director import Director


def apply(director: Director) -> None:
    """Set the variables of each `env` fault: option `set`, names and values."""
    for fault in director.due("start", value=True):
        if fault.what == "env" and director.take(fault):
            os.environ.update({k: str(v) for k, v in fault.options.get("set", {}).items()})
