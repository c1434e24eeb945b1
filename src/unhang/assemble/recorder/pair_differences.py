"""Sends that met receives of another size or type, and which side of them is the odd one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang.assemble.recorder.pairs import traffic_with
from unhang.assemble.recorder.process_groups import ProcessGroup, Recordings
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.recording import CallKind, Traffic

_RECENT = 64
"""A difference that so many equal pairs followed did not stop the job."""

_MOSTLY = 2
"""So many times as often as the other is what the ranks usually pass on."""


@dataclass(frozen=True, slots=True)
class PairFound:
    """The first operations of two ranks that met and do not fit."""

    group: int
    sender: Rank
    receiver: Rank
    sent: CallKind
    expected: CallKind
    odd: Ranks


def find_pair_differences(groups: list[ProcessGroup], recordings: Recordings) -> list[PairFound]:
    """Return the first difference of each pair of ranks."""
    found: list[PairFound] = []
    for index, group in enumerate(groups):
        if not group.mixed:
            continue
        kinds = next(iter(recordings.values())).kinds
        for sender, receiver, sent, received in _pairs(group):
            different = _first_difference(_met(sent, received, group, sender, receiver), kinds)
            if different is not None:
                a, b = different
                usual = _usual(groups, group, a, b)
                odd = NO_RANKS
                if usual is not None:
                    odd = frozenset({receiver if usual == a else sender})
                found.append(PairFound(index, sender, receiver, kinds[a], kinds[b], odd))
    return found


def _pairs(group: ProcessGroup) -> Iterator[tuple[Rank, Rank, Traffic, Traffic]]:
    """Both sides of the traffic between each two ranks."""
    for sender, trace in group.traces.items():
        for number, sent in trace.sent.items():
            receiver = group.peer(number)
            other = None if receiver is None else group.traces.get(receiver)
            if receiver is None or other is None:
                continue
            received = traffic_with(group, other, sender, sends=False)
            if received is not None:
                yield sender, receiver, sent, received


def _met(
    sent: Traffic, received: Traffic, group: ProcessGroup, sender: Rank, receiver: Rank
) -> tuple[Sequence[int], Sequence[int]]:
    """Kinds of the operations that met, in their order on both sides."""
    if group.traces[sender].traffic_whole and group.traces[receiver].traffic_whole:
        return sent.kinds, received.kinds
    if sent.pending and received.pending:
        return sent.kinds[-sent.pending :], received.kinds[-received.pending :]
    return (), ()


def _first_difference(
    met: tuple[Sequence[int], Sequence[int]], kinds: Sequence[CallKind]
) -> tuple[int, int] | None:
    count = min(map(len, met))
    if met[0][:count] == met[1][:count]:
        return None
    pairs = list(zip(*met, strict=False))
    odd = [at for at, (a, b) in enumerate(pairs) if _differ(kinds[a], kinds[b])]
    return pairs[odd[0]] if odd and count - odd[-1] <= _RECENT else None


def _differ(one: CallKind, other: CallKind) -> bool:
    """Whether two kinds surely differ; the oldest dumps tell no types."""
    typed = one.dtypes != () and other.dtypes != ()
    return one.inputs != other.inputs or (typed and one.dtypes != other.dtypes)


def _usual(groups: list[ProcessGroup], own: ProcessGroup, one: int, other: int) -> int | None:
    """Which of two kinds most operations of this kind of group are of."""
    counts: Counter[int] = Counter()
    for group in groups:
        if group is own or group.is_like(own):
            for trace in group.traces.values():
                for traffic in (*trace.sent.values(), *trace.received.values()):
                    counts.update(traffic.kinds)
    for a, b in ((one, other), (other, one)):
        if counts[a] > _MOSTLY * counts[b]:
            return a
    return None
