"""All situations, in the order of the list."""

from __future__ import annotations

from rehearsals.catalogue import deepspeed, llama, open_clip, recbole, trl, verl
from rehearsals.situation import Situation
from unhang.errors import UsageError

SITUATIONS: dict[str, Situation] = {
    situation.name: situation
    for framework in (llama, trl, deepspeed, verl, open_clip, recbole)
    for situation in framework.SITUATIONS
}
"""By name."""


def find_situation(name: str) -> Situation:
    """The situation of a name.

    Raises:
        UsageError: there is none; the message lists them.
    """
    if name not in SITUATIONS:
        raise UsageError(f"no situation is called {name!r}; there are {', '.join(SITUATIONS)}")
    return SITUATIONS[name]
