"""From the entries of one dump to what the rank did in each group. The hot loop is here."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter

from unhang.model.recording import Traffic
from unhang.parsers.recorder.document import Entry
from unhang.parsers.recorder.kinds import PAIR_NAME, KindTable

_GROUP = itemgetter("process_group")
_COURSE = itemgetter("process_group", "is_p2p", "collective_seq_id", "state", "retired")
_KIND = itemgetter("profiling_name", "input_sizes", "output_sizes", "input_dtypes")
_PASSED = itemgetter("profiling_name", "p2p_seq_id", "state", "retired")
_CARRIED = itemgetter("input_sizes", "output_sizes", "input_dtypes")
_BATCH_END = ":coalesced"

MALFORMED = (KeyError, TypeError, ValueError, OverflowError, AttributeError)
"""What reading raises where entries are not of the newest form."""


@dataclass(slots=True)
class Pairs:
    """Point-to-point operations with one peer in one direction, as (place, number, open)."""

    seqs: array[int] = field(default_factory=lambda: array("q"))
    kinds: array[int] = field(default_factory=lambda: array("i"))
    pending: int = 0
    pending_at: int | None = None
    last_at: int = 0
    batched: bool = False

    def traffic(self) -> Traffic:
        """The same for the model."""
        return Traffic(
            count=len(self.seqs),
            pending=0 if self.batched else self.pending,
            pending_at=None if self.batched else self.pending_at,
            last_at=self.last_at,
            seqs=self.seqs,
            kinds=self.kinds,
            batched=self.batched,
        )


@dataclass(slots=True)
class GroupEntries:
    """The calls of one group.

    Attributes:
        pending: number and place of the first collective after the last completed one that had
            not completed.
        pair_places: places of point-to-point entries.
    """

    name: str
    description: str
    pg_id: object
    first_at: int
    seqs: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    last: int = -1
    last_at: int | None = None
    completed: int | None = None
    done_at: int | None = None
    pending: tuple[int, int] | None = None
    pair_places: list[int] = field(default_factory=list)


def read_entries(
    entries: Sequence[Entry], table: KindTable, *, has_states: bool
) -> dict[str, GroupEntries]:
    """Sort the entries of a dump by group.

    Args:
        entries: as the newest versions write them.
        table: of the whole run.
        has_states: `state` means something; else only `retired` does.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: an entry is of another form.
    """
    if set(map(type, chain.from_iterable(map(_GROUP, entries)))) - {str}:
        raise TypeError("a group's name is no text")
    groups: dict[tuple[str, str], GroupEntries] = {}
    guesses: dict[int, int] = {}
    raws, kind_of_raw = table.raws, table.kind_of_raw
    before = -1
    for place, entry in enumerate(entries):
        key, is_p2p, seq, state, retired = _COURSE(entry)
        group = groups.get(key)
        if group is None:
            group = groups[key] = GroupEntries(
                name=key[0], description=key[1], pg_id=entry.get("pg_id"), first_at=place
            )
        if is_p2p:
            group.pair_places.append(place)
            continue
        raw = _KIND(entry)
        guess = guesses.get(before, -1)
        if guess < 0 or raws[guess] != raw:
            guess = table.raw(raw)
            guesses[before] = guess
        before = guess
        kind = kind_of_raw[guess] if guess >= 0 else -1 - guess
        if seq == group.last:
            group.kinds[-1] = table.joined(group.kinds[-1], kind)
        else:
            group.seqs.append(seq)
            group.kinds.append(kind)
            group.last = seq
        group.last_at = place
        if state == "completed" or (retired and not has_states):
            group.completed = seq
            group.done_at = place
            group.pending = None
        elif group.pending is None:
            group.pending = (seq, place)
    return {group.name: group for group in groups.values()}


def read_pairs(
    entries: Sequence[Entry], places: Sequence[int], table: KindTable, *, has_states: bool
) -> tuple[dict[tuple[str, int, int], Pairs], bool]:
    """Point-to-point traffic of a group by (direction, own rank in the group, peer).

    Returns:
        The traffic, and whether the first operation of the group is still in the buffer.
    """
    found: dict[str, Pairs | None] = {}
    numbers = array("q")
    ends = _batch_ends(entries, places, has_states=has_states)
    for place in places:
        name, seq, state, retired = _PASSED(entries[place])
        numbers.append(seq)
        if type(name) is not str:
            raise TypeError("a name is no text")
        if name not in found:
            found[name] = Pairs() if PAIR_NAME.search(name) is not None else None
        pairs = found[name]
        if pairs is None:
            continue
        pairs.seqs.append(seq)
        pairs.kinds.append(table.carried(_CARRIED(entries[place])))
        pairs.last_at = place
        if ends.get(seq, state == "completed" or (retired and not has_states)):
            pairs.pending, pairs.pending_at = 0, None
        else:
            pairs.pending += 1
            if pairs.pending_at is None:
                pairs.pending_at = place
    batches = _batches(numbers) - ends.keys()
    traffic: dict[tuple[str, int, int], Pairs] = {}
    for name, pairs in found.items():
        match = PAIR_NAME.search(name)
        if match is not None and pairs is not None:
            pairs.batched = not batches.isdisjoint(pairs.seqs)
            traffic[match[1], int(match[2]), int(match[4])] = pairs
    return traffic, not numbers or numbers[0] <= 1


def _batches(numbers: Sequence[int]) -> set[int]:
    """Numbers that several operations share: they were issued in one batch."""
    return {number for number, count in Counter(numbers).items() if count > 1}


def _batch_ends(
    entries: Sequence[Entry], places: Sequence[int], *, has_states: bool
) -> dict[int, bool]:
    """Whether a batch is done, by its number, where the entry that ends it keeps its state.

    The operations of a batch themselves stay scheduled for ever.
    """
    ends: dict[int, bool] = {}
    for place in places:
        entry = entries[place]
        name = entry["profiling_name"]
        if type(name) is str and name.endswith(_BATCH_END):
            ends[entry["p2p_seq_id"]] = entry["state"] == "completed" and has_states
    return ends if any(ends.values()) else {}


def packed(seqs: list[int]) -> Sequence[int]:
    """Numbers in the smallest form; those of a group follow each other.

    Raises:
        TypeError, OverflowError: they are no numbers.
        ValueError: they do not ascend.
    """
    if not seqs:
        return range(0)
    numbers = array("q", seqs)
    span = range(numbers[0], numbers[-1] + 1)
    if len(span) == len(numbers):
        if array("q", span) != numbers:
            raise ValueError("sequence numbers do not ascend")
        return span
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError("sequence numbers do not ascend")
    return numbers
