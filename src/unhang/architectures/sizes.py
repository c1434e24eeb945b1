"""Reads a size of a model from its configuration, or says which field is wrong."""

from __future__ import annotations

from unhang.errors import UsageError

_MOST = 1 << 40
"""Above this no size of a model is one: a slip of the pen, or an attack."""


def read_size(value: object, field: str, default: int | None = None) -> int:
    """A positive whole number.

    Raises:
        UsageError: it is none, or missing without a default; the message names the field.
    """
    if value is None and default is not None:
        return default
    if value is None:
        raise UsageError(f"config.json: {field} is missing; expected a positive whole number")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MOST:
        raise UsageError(
            f"config.json: {field} is {str(value)[:40]!r}; expected a positive whole number"
        )
    return value
