"""`device_map` that spreads one copy of the model over all GPUs, in every process."""

from __future__ import annotations

import ast

from unhang import lazy_re as re
from unhang.fixing.editors import python as python_editor
from unhang.fixing.job import plain
from unhang.fixing.shell_words import read_commands
from unhang.model.diagnosis import Fix

_DEVICE_MAP = "device_map"
_SPREAD = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
"""Values that spread one copy of the model over all GPUs, in every process."""
_DEVICE_KEY = re.compile(
    rf"^{_DEVICE_MAP}:[ \t]*[\"']?(?:{'|'.join(sorted(_SPREAD))})[\"']?[ \t]*(?:#.*)?(?:\r?\n|\Z)",
    re.MULTILINE,
)
_OWN_GPU = '{"": int(os.environ.get("LOCAL_RANK", "0"))}'


def in_shell(text: str, _: Fix) -> str | None:
    """Leave the place of each rank's model to the rank."""
    for command in reversed(read_commands(text)):
        words = command.words
        for index in reversed(range(len(words))):
            name, sign, value = words[index].text.partition("=")
            last = words[index] if sign or index + 1 == len(words) else words[index + 1]
            if plain(name) != _DEVICE_MAP or (value or last.bare) not in _SPREAD:
                continue
            start, end = words[index].start, last.end
            return text[: len(text[:start].rstrip(" \t\\\r\n"))] + text[end:]
    return None


def in_yaml(text: str, _: Fix) -> str | None:
    """Without the key, each rank loads to its own device."""
    return _DEVICE_KEY.sub("", text)


def in_python(text: str, _: Fix) -> str | None:
    """`device_map` of the calls that load a model: the GPU of the rank."""
    calls = [
        call
        for call in ast.walk(python_editor.parse(text))
        if isinstance(call, ast.Call)
        and isinstance(value := python_editor.argument(call, _DEVICE_MAP), ast.Constant)
        and value.value in _SPREAD
    ]
    if not calls:
        return None
    for call in sorted(calls, key=lambda c: -c.lineno):
        text = python_editor.set_argument(text, call, [_DEVICE_MAP], _OWN_GPU)
    return python_editor.with_imports(text, ["import os"])
