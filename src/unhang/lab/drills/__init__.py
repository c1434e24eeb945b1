"""Every drill, and how one is found by its name."""

from __future__ import annotations

import difflib

from unhang.errors import UsageError
from unhang.lab.drill import Drill
from unhang.lab.drills import deaths, desync, healthy, network, parallel, slow, stalls

DRILLS: tuple[Drill, ...] = (
    *stalls.DRILLS,
    *deaths.DRILLS,
    *desync.DRILLS,
    *slow.DRILLS,
    *parallel.DRILLS,
    *network.DRILLS,
    *healthy.DRILLS,
)
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
