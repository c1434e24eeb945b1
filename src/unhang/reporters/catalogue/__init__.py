"""Every sentence that a user may see, by key and language.

A message is a key and values; `write` turns it into text. Ranks (a frozenset of int) are printed
as ranges. Only this package holds user-visible sentences of verdicts.
"""

from __future__ import annotations

from functools import cache

from unhang.model.ids import format_ranks
from unhang.model.provenance import Message


def write(message: Message, language: str = "en") -> str:
    """Return the sentence for `message`.

    Raises:
        KeyError: the catalogue lacks the key (a test keeps it complete).
    """
    return _sentences(language)[message.key].format(
        **{name: _text(value) for name, value in message.values.items()}
    )


def _text(value: object) -> object:
    return format_ranks(value) if isinstance(value, frozenset) else value


@cache
def _sentences(language: str) -> dict[str, str]:
    """All sentences of a language: the union of its modules' `SENTENCES`."""
    import importlib
    import pkgutil

    package = importlib.import_module(f"{__name__}.{language}")
    merged: dict[str, str] = {}
    for module in pkgutil.iter_modules(package.__path__):
        merged |= importlib.import_module(f"{package.__name__}.{module.name}").SENTENCES
    return merged
