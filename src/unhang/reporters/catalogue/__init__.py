"""Every sentence that a user may see, by key and language.

A message is a key and values; `write` turns it into text. A language is a sub-package whose modules
each hold a dictionary `SENTENCES`; what a language lacks is said in English. Sentences are format
strings with the specifications of `catalogue.wording`:

>>> write(Message(key="unit.ranks", values={"n": "0-3"}))
'ranks 0-3'
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache

from unhang.model.provenance import Message
from unhang.reporters.catalogue.wording import Wording

LANGUAGES = ("en", "zh")
"""What `--lang` takes."""

_LOWER_WORD = re.compile(r"[a-z]+(?=\s(?!-))")


def write(message: Message, language: str = "en") -> str:
    """Return the sentence for `message`; never raises, so that a report is never lost.

    A key that the catalogue lacks, or values that do not fit its sentence, give the bare key and
    values: still of use to the reader (and a test keeps the catalogue complete).
    """
    texts = sentences(language)
    try:
        return Wording(texts).vformat(texts[message.key], (), message.values)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError):
        return _bare(message)


def sentence(message: Message, language: str = "en") -> str:
    """Return `write(message)` with a capital where it begins with a plain word and is no command.

    Chinese knows no capitals.

    >>> sentence(Message(key="unit.rank", values={"n": 3}))
    'Rank 3'
    """
    text = write(message, language)
    if language == "zh" or not _LOWER_WORD.match(text):
        return text
    return text[:1].upper() + text[1:]


@cache
def sentences(language: str) -> Mapping[str, str]:
    """All sentences of a language by key; English where it has none."""
    own = own_sentences(language)
    return own if language == "en" else {**sentences("en"), **own}


def own_sentences(language: str) -> dict[str, str]:
    """The union of the `SENTENCES` of a language's own modules; empty when there are none."""
    try:
        package = importlib.import_module(f"{__name__}.{language}")
    except ModuleNotFoundError:
        return {}
    merged: dict[str, str] = {}
    for module in pkgutil.iter_modules(package.__path__):
        merged |= importlib.import_module(f"{package.__name__}.{module.name}").SENTENCES
    return merged


def _bare(message: Message) -> str:
    values = ", ".join(f"{name}={value}" for name, value in message.values.items())
    return f"{message.key} ({values})" if values else message.key
