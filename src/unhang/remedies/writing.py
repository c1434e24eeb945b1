"""Short ways to write a recipe."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.case import Strategy
from unhang.remedies.cures import Form, Recipe, Value


def script(text: str, *, since: str | None = None, last: str | None = None) -> tuple[Recipe, ...]:
    """A piece of Python for the training script."""
    return (Recipe(form=Form.PYTHON, text=text.strip(), since=since, last=last),)


def shell(text: str) -> tuple[Recipe, ...]:
    """Commands for a shell."""
    return (Recipe(form=Form.SHELL, text=text.strip()),)


def put(
    form: Form,
    place: str,
    settings: Mapping[str, Value],
    *,
    strategy: Strategy | None = None,
    since: str | None = None,
    last: str | None = None,
) -> tuple[Recipe, ...]:
    """Settings in the form of one framework."""
    return (
        Recipe(
            form=form, place=place, settings=settings, strategy=strategy, since=since, last=last
        ),
    )
