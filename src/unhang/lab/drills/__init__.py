"""Every drill, from the TOML files beside this one, and how one is found by its name.

The name of a table is the drill's; its keys are the fields of `Drill` that differ from the usual,
and its faults have the form in which jobs read them (`faults.declared`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from unhang.errors import UsageError
from unhang.lab.drill import Drill, LaunchMethod, Need
from unhang.lab.faults.declared import from_rows
from unhang.model.causes import Cause
from unhang.model.phases import Phase
from unhang.model.toml import load

_FILES = ("stalls", "deaths", "desync", "slow", "parallel", "network", "healthy")
_READ: Mapping[str, Callable[[Any], Any]] = {
    "faults": from_rows,
    "cause": Cause,
    "culprits": frozenset,
    "phase": Phase,
    "accept": tuple,
    "arguments": tuple,
    "launch": lambda name: LaunchMethod[name.upper()],
    "needs": lambda names: frozenset(Need[name.upper()] for name in names),
}


def _drills() -> Iterator[Drill]:
    for file in _FILES:
        for name, row in load(__name__, f"{file}.toml").items():
            fields = {"faults": (), **row}
            read = {
                key: _READ.get(key, lambda value: value)(value) for key, value in fields.items()
            }
            yield Drill(name=name, **read)


DRILLS: tuple[Drill, ...] = tuple(_drills())
"""In the order in which they are listed."""


def find_drill(name: str) -> Drill:
    """The drill of a name.

    Raises:
        UsageError: there is none.
    """
    for drill in DRILLS:
        if drill.name == name:
            return drill
    close = difflib.get_close_matches(name, [drill.name for drill in DRILLS], n=1)
    meant = f"; did you mean '{close[0]}'?" if close else "; `unhang drill list` shows all"
    raise UsageError(f"there is no drill '{name}'{meant}")
