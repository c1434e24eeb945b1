"""What a fault is: which ranks, when, what. Written by the drill, read inside each process.

In `UNHANG_FAULT` stands JSON, one object or a list of them::

    {"what": "sleep", "ranks": [2], "when": {"step": 3}, "for_s": 3600}
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

VARIABLE = "UNHANG_FAULT"
"""Environment variable that holds the faults of a job."""

FOLDER_VARIABLE = "UNHANG_DRILL"
"""Environment variable that holds the folder of a drill."""

LIMIT_VARIABLE = "UNHANG_DRILL_LIMIT"
"""Seconds after which a collective of a drill gives up, whatever the program asks for."""

STACK_SIGNAL = signal.SIGUSR2
"""What makes a rank of a drill write the stacks of all its threads."""

MOMENTS = ("start", "call", "step", "seconds", "phase", "function")
"""What a fault can wait for.

`start`: the interpreter starts. `call`: the n-th collective that Python code of this process
issues, from 1. `step`: n optimizer steps are done. `seconds` since the default group was made.
`phase`: the n-th save, evaluation, batch or compilation. `function`: a function of that name is
entered."""

PHASES = ("save", "eval", "data", "compile")
"""Values of `phase`."""


class FaultError(ValueError):
    """A declared fault cannot be understood; the message is one sentence."""


@dataclass(frozen=True)
class When:
    """The moment of a fault.

    Attributes:
        moment: one of `MOMENTS`.
        value: number, seconds, phase or name that belongs to it.
        nth: of `phase` and `function`: which time, from 1.
    """

    moment: str
    value: Any = True
    nth: int = 1


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        what: the kind; the modules of this package register the kinds they know.
        when: the moment.
        ranks: global ranks it happens to; None for all.
        options: what the kind takes besides (`for_s`, `by`, …).
    """

    what: str
    when: When
    ranks: frozenset[int] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def hits(self, rank: int) -> bool:
        """Whether it happens to a rank."""
        return self.ranks is None or rank in self.ranks


def fault(
    what: str,
    *ranks: int,
    nth: int = 1,
    options: dict[str, Any] | None = None,
    **when: Any,
) -> Fault:
    """Make a fault in the words of its JSON.

    Args:
        what: the kind.
        ranks: global ranks; none = all.
        nth: which time of a phase or function.
        options: of the kind.
        when: one of `MOMENTS` with its value.

    >>> fault("sleep", 2, step=3, options={"for_s": 60}).when
    When(moment='step', value=3, nth=1)
    """
    ((moment, value),) = when.items()
    return Fault(
        what=what,
        when=_when({moment: value, "nth": nth}),
        ranks=frozenset(ranks) if ranks else None,
        options=dict(options or {}),
    )


def load(text: str) -> tuple[Fault, ...]:
    """Read the value of `VARIABLE`.

    Raises:
        FaultError: it is not what is described above.

    >>> load('{"what": "raise", "ranks": [1], "when": {"call": 5}}')[0].ranks
    frozenset({1})
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise FaultError(f"{VARIABLE} is not JSON ({error}).") from None
    return from_rows(found if isinstance(found, list) else [found])


def from_rows(rows: Iterable[object]) -> tuple[Fault, ...]:
    """The faults that objects of that form declare.

    Raises:
        FaultError: one of them is not what is described above.
    """
    return tuple(_fault(row) for row in rows)


def dump(faults: tuple[Fault, ...]) -> str:
    """Write the value of `VARIABLE`.

    >>> dump((fault("kill", 1, step=2),))
    '[{"what": "kill", "when": {"step": 2}, "ranks": [1]}]'
    """
    return json.dumps([_row(each) for each in faults])


def _row(each: Fault) -> dict[str, Any]:
    when = {each.when.moment: each.when.value}
    if each.when.nth != 1:
        when["nth"] = each.when.nth
    row = {"what": each.what, "when": when, **each.options}
    return row if each.ranks is None else {**row, "ranks": sorted(each.ranks)}


def _fault(row: Any) -> Fault:
    if not isinstance(row, dict) or not isinstance(row.get("what"), str):
        raise FaultError(f'{VARIABLE} holds {row!r}; a fault is an object with "what" and "when".')
    options = {key: value for key, value in row.items() if key not in ("what", "ranks", "when")}
    ranks = row.get("ranks")
    if ranks is not None and not (
        isinstance(ranks, list) and all(isinstance(rank, int) for rank in ranks)
    ):
        raise FaultError(f'"ranks" of {row["what"]!r} is {ranks!r}; it is a list of numbers.')
    return Fault(
        what=row["what"],
        when=_when(row.get("when")),
        ranks=None if ranks is None else frozenset(ranks),
        options=options,
    )


def _when(row: Any) -> When:
    named = [key for key in MOMENTS if isinstance(row, dict) and key in row]
    if len(named) != 1:
        raise FaultError(f'"when" is {row!r}; it names one of {", ".join(MOMENTS)}.')
    moment, nth = named[0], row.get("nth", 1)
    value = row[moment]
    wanted: Any = {"phase": str, "function": str, "start": bool}.get(moment, (int, float))
    if not isinstance(value, wanted) or not isinstance(nth, int):
        raise FaultError(f'"when" is {row!r}; "{moment}" does not take {value!r}.')
    if moment == "phase" and value not in PHASES:
        raise FaultError(f'"phase" is {value!r}; known are {", ".join(PHASES)}.')
    return When(moment=moment, value=value, nth=nth)
