"""From the sizes of a stuck call to what it carries, and over how many ranks."""

from __future__ import annotations

from collections.abc import Iterable

from unhang.architectures import Architecture, decode, group_size
from unhang.model.contents import Contents
from unhang.model.ids import Rank
from unhang.model.incident import Call, CallSide, Join

_MOST_FORMS = 4


def contents_of(call: Call, models: Iterable[Architecture] = ()) -> tuple[Contents, ...]:
    """Return the forms in which ranks issued the call, those that tell something only.

    Args:
        call: the call.
        models: those that the job may train; none = all that are known by name.
    """
    asked = tuple(models)
    forms: dict[tuple[str, int | None, int | None], set[Rank]] = {}
    for side in call.sides:
        if side.op is not None:
            of = forms.setdefault((side.op, side.numel_in, side.numel_out), set())
            of.update(_rank(side))
    found = []
    for (op, numel_in, numel_out), ranks in list(forms.items())[:_MOST_FORMS]:
        contents = Contents(
            op=op,
            numel_in=numel_in,
            numel_out=numel_out,
            ranks=frozenset(ranks),
            group_size=group_size(op, numel_in, numel_out),
            readings=decode(op, numel_in, numel_out, asked),
        )
        if contents.readings or contents.group_size is not None:
            found.append(contents)
    return tuple(found)


def _rank(side: CallSide) -> Iterable[Rank]:
    return (side.rank,) if isinstance(side, Join) and side.global_rank else ()
