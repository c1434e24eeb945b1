"""What could not be seen or done: a code and values now, words in the reader's language later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from unhang.model.codec import decode, encode
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write

_LONG = 300


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing.

    Attributes:
        code: stable; `lost.<code>` in the catalogue has the words.
        values: that go into them; text, numbers.
        ranks: whom it concerns; empty = nobody in particular.
        host: where it was noticed; "" = the host of the run folder.
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)
    ranks: Ranks = NO_RANKS
    host: str = ""

    @classmethod
    def of(cls, code: str, **values: str | float) -> Loss:
        """A loss with these values."""
        return cls(code, values)

    @classmethod
    def failed(cls, code: str, error: Exception) -> Loss:
        """Something failed for a reason that nobody has foreseen."""
        return cls.of(code, why=f"{type(error).__name__}: {error}"[:_LONG])

    def __hash__(self) -> int:
        return hash((self.code, *sorted(self.values.items()), self.ranks, self.host))

    def __str__(self) -> str:
        return self.say()

    def say(self, language: str = "en") -> str:
        """One sentence."""
        return _say(self, language)

    @property
    def message(self) -> Message:
        """The sentence, before it is written: what was lost, and where; not of which ranks."""
        what = Message(key=f"lost.{self.code}", values=self.values)
        if not self.host:
            return what
        return Message(key="words.of_host", values={"host": self.host, "what": what})

    def to_json(self) -> dict[str, Any]:
        """For the run record: the code for programs, the sentence for people."""
        data = encode(self)
        assert isinstance(data, dict)
        return {"code": self.code, "values": {}, **data, "text": self.say()}


def losses_to_json(losses: Iterable[Loss]) -> list[object]:
    """Plain data, without words."""
    return [encode(loss) for loss in losses]


def losses_from_json(items: object) -> tuple[Loss, ...]:
    """The inverse for a list of them; what is none is left out."""
    found = (_loss(item) for item in items) if isinstance(items, list | tuple) else ()
    return tuple(loss for loss in found if loss is not None)


def _loss(item: object) -> Loss | None:
    try:
        loss = decode(Loss, item)
    except ValueError:
        return None
    plain = all(isinstance(value, str | int | float) for value in loss.values.values())
    return loss if plain else None


def gather(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Each once, for all ranks that have it; in the order in which they came."""
    ranks: dict[Loss, Ranks] = {}
    for loss in losses:
        same = replace(loss, ranks=NO_RANKS)
        ranks[same] = ranks.get(same, NO_RANKS) | loss.ranks
    return tuple(replace(loss, ranks=those) for loss, those in ranks.items())


@lru_cache(maxsize=4096)
def _say(loss: Loss, language: str) -> str:
    """Cached: what is lost is lost in every report from then on."""
    if not loss.ranks:
        return write(loss.message, language)
    values = {"ranks": loss.ranks, "what": loss.message}
    return write(Message(key="words.of_ranks", values=values), language)
