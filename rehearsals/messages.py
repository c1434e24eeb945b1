"""What the commands print of situations."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rehearsals.situation import Situation
from unhang.model.ids import format_ranks


def tell_situations(situations: Iterable[Situation], say: Callable[[str], str] = str) -> str:
    """The list: what happens, the right verdict, whether the environment is there."""
    situations = tuple(situations)
    width = max(len(situation.name) for situation in situations)
    return "\n".join(line for each in situations for line in _lines(each, width, say))


def situation_rows(situations: Iterable[Situation]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "name": each.name,
            "summary": each.summary,
            "expected": each.cause.value,
            "accept": list(each.accept),
            "culprits": sorted(each.culprits),
            "phase": None if each.phase is None else each.phase.value,
            "environment": each.environment.name,
            "built": each.environment.is_ready,
            "versions": dict(each.versions),
        }
        for each in situations
    ]


def _lines(situation: Situation, width: int, say: Callable[[str], str]) -> tuple[str, str]:
    built = "" if situation.environment.is_ready else ", built at the first run"
    return (
        f"{situation.name:<{width}}  {say(situation.summary)}",
        f"{'':<{width}}    -> {situation.cause.value} of rank {format_ranks(situation.culprits)};"
        f" environment {situation.environment.name}{built}",
    )
