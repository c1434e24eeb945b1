"""From nouns of the model to the plain data of a JSON contract."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter

from unhang.model.ids import format_ranks
from unhang.model.provenance import Message, Provenance
from unhang.reporters.catalogue import sentence


def fields(
    noun: object, names: str, language: str = "en", digits: int | None = None
) -> dict[str, object]:
    """Some fields of a noun; what they hold tells how they are written.

    Args:
        noun: a dataclass.
        names: with blanks between them; `key=field` where the contract has another name for a
            field, which may be one of a field's own: `id=message.key`.
        language: of sentences.
        digits: behind the point of numbers; None keeps all.
    """
    pairs = (name.partition("=") for name in names.split())
    return {key: plain(attrgetter(path or key)(noun), language, digits) for key, _, path in pairs}


def plain(value: object, language: str = "en", digits: int | None = None) -> object:
    """What JSON can hold: ranks as ranges, messages as sentences, infinity as null."""
    match value:
        case Message():
            return sentence(value, language)
        case Provenance():
            return fields(value, "artifact line text")
        case enum.Enum():
            return value.value
        case float():
            known = None if math.isinf(value) else value
            return known if known is None or digits is None else round(known, digits)
        case AbstractSet():
            return format_ranks(value)
        case Mapping():
            return dict(value)
        case tuple():
            return [plain(item, language, digits) for item in value]
        case _:
            return value
