"""From a setting as somebody wrote it to what is wrong with it.

Each setting is judged in the order: does anybody read the name, does the value mean anything,
does the timeout that it sets reach anything.
"""

from __future__ import annotations

from unhang.settings.verdicts import (
    existence,
    framework_keys,
    launcher_values,
    nccl_values,
    timeout_values,
    torch_values,
)
from unhang.settings.verdicts.base import Check, Given, SettingContext, SettingVerdict

__all__ = ["SettingContext", "SettingVerdict", "judge"]

_CHECKS: tuple[Check, ...] = (
    existence.check,
    nccl_values.check,
    torch_values.check,
    timeout_values.check,
    launcher_values.check,
    framework_keys.check,
)
_NOTHING = SettingContext()


def judge(
    name: str, value: str | None, context: SettingContext = _NOTHING
) -> tuple[SettingVerdict, ...]:
    """Judge one setting.

    Args:
        name: as written, with the `+` of Hydra or the dashes of a flag.
        value: as written, without quotes; None where only the name is known.
        context: releases, frameworks and the other settings, as far as they are known.

    Returns:
        What is wrong, the most basic first; empty for a setting that is right, and for a name
        that is unknown here: only the library itself can tell that nobody reads it.
    """
    if value is None:
        return tuple(existence.check(Given(written=name, value="", context=context)))
    given = Given(written=name, value=value.strip(), context=context)
    return tuple(verdict for check in _CHECKS for verdict in check(given))
