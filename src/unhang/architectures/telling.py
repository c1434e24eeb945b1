"""From what a collective carries to sentences."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.contents import Contents, Layout, Reading
from unhang.model.provenance import Message, say

_MOST_NAMES = 3


def tell_contents(contents: Contents, world: int | None = None) -> Iterator[Message]:
    """Yield what the sizes tell: the tensors, and over how many ranks, where that is news.

    Args:
        contents: one form of a call.
        world: size of the job, or None.
    """
    yield from map(_tensors, contents.readings)
    size = contents.group_size
    if size is None or (size == world and not contents.readings):
        return
    if world in (None, size):
        yield say("contents.ranks", "over {size} ranks by its sizes", size=size)
    else:
        yield say(
            "contents.ranks_of",
            "over {size} ranks by its sizes, of a job of {world}",
            size=size,
            world=world,
        )


def _tensors(reading: Reading) -> Message:
    values: dict[str, object] = {
        "sum": reading.formula or f"{reading.numel:,}",
        "models": _either(reading.models),
    }
    if reading.layout is Layout.FEATURES:
        return say(
            "contents.features",
            "{sum} elements: whole vectors of the width of {models}, such as one for each sample",
            **values,
        )
    if reading.layout is Layout.ONE:
        values["tensors"] = _either(reading.tensors)
        return say("contents.one", "{sum} elements, the size of {tensors} of {models}", **values)
    if reading.tensors == ("root",):
        return say(
            "contents.root",
            "{sum} elements, the size of embedding, head and norm of {models} together",
            **values,
        )
    if reading.tensors == ("norm and head",):
        return say(
            "contents.head", "{sum} elements, the size of head and last norm of {models}", **values
        )
    return say("contents.layer", "{sum} elements, the size of one layer of {models}", **values)


def _either(names: tuple[str, ...]) -> str:
    more = ", …" if len(names) > _MOST_NAMES else ""
    return " / ".join(names[:_MOST_NAMES]) + more
