"""From settings to a patch in YAML, JSON, Hydra overrides, flags or Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping

from unhang import lazy_re as re
from unhang.remedies.cures import PatchLanguage, Value

_PLAIN = re.compile(r"[A-Za-z_./-][\w./ -]*")
_WORDS = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n", "~"})


def write_settings(form: PatchLanguage, settings: Mapping[str, Value], call: str = "") -> str:
    """Spell settings in one form.

    >>> print(write_settings(PatchLanguage.YAML, {"fsdp_config": {"state_dict_type": "FULL"}}))
    fsdp_config:
      state_dict_type: FULL
    >>> write_settings(PatchLanguage.CLI, {"async-save": None, "save-interval": 200})
    '--async-save --save-interval 200'
    >>> write_settings(PatchLanguage.HYDRA, {"trainer.save_freq": 10})
    'trainer.save_freq=10'
    """
    match form:
        case PatchLanguage.YAML:
            return "\n".join(_yaml(settings, 0))
        case PatchLanguage.JSON:
            return json.dumps(settings, indent=2)
        case PatchLanguage.HYDRA:
            return " ".join(f"{key}={_override(value)}" for key, value in settings.items())
        case PatchLanguage.CLI:
            return " ".join(_flag(key, value) for key, value in settings.items())
        case PatchLanguage.PYTHON:
            lines = "".join(f"    {key}={value!r},\n" for key, value in settings.items())
            return f"{call}(\n{lines})"
        case PatchLanguage.ENV | PatchLanguage.SHELL:
            return "\n".join(
                f"export {key}={shlex.quote(str(value))}" for key, value in settings.items()
            )


def _yaml(settings: Mapping[str, Value], depth: int) -> Iterator[str]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield f"{'  ' * depth}{key}:"
            yield from _yaml(value, depth + 1)
        else:
            yield f"{'  ' * depth}{key}: {_scalar(value)}"


def _scalar(value: Value) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
        return value if plain else json.dumps(value)
    return json.dumps(value)


def _override(value: Value) -> str:
    """A Hydra value; a list needs quotes against the shell."""
    if isinstance(value, list):
        return shlex.quote("[" + ",".join(value) + "]").replace("'", '"')
    if isinstance(value, bool):
        return str(value)
    return "null" if value is None else shlex.quote(str(value))


def _flag(key: str, value: Value) -> str:
    match value:
        case None:
            return f"--{key}"
        case bool():
            return f"--{key} {str(value).lower()}"
        case Mapping() | list():
            return f"--{key} {shlex.quote(json.dumps(value))}"
        case _:
            return f"--{key} {shlex.quote(str(value))}"
