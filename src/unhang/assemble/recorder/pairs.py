"""Whether the peer of a point-to-point operation has issued the other side of it.

Nothing numbers these operations alike on both sides: the n-th send to a peer meets the n-th receive
from it. Where a buffer has overwritten the first ones, only what is open can be compared, and
batches where both sides happen to number them alike (rings do).
"""

from __future__ import annotations

from unhang.assemble.recorder.process_groups import ProcessGroup
from unhang.model.ids import Rank
from unhang.model.recording import GroupTrace, Recording, Traffic

_SAME_NUMBERS = 0.9


def traffic_with(
    group: ProcessGroup, trace: GroupTrace, peer: Rank, *, sends: bool
) -> Traffic | None:
    """A rank's traffic with a peer."""
    traffic = trace.sent if sends else trace.received
    return traffic.get(group.number(peer))


def has_issued(
    group: ProcessGroup, rank: Rank, peer: Rank, recording: Recording, *, sends: bool
) -> bool | None:
    """Whether `peer` has issued the other side of what is open on `rank`; None: nothing tells.

    Args:
        group: their group.
        rank: whose operation is open.
        peer: whom it is with.
        recording: of the peer.
        sends: `rank` sends.
    """
    mine, other = group.traces[rank], group.traces.get(peer)
    traffic = traffic_with(group, mine, peer, sends=sends)
    if traffic is None:
        return None
    answer = None if other is None else traffic_with(group, other, rank, sends=not sends)
    whole = recording.from_start if other is None else other.traffic_whole
    wanted = traffic.count if traffic.batched else traffic.count - traffic.pending + 1
    if mine.traffic_whole and whole:
        return (0 if answer is None else answer.count) >= wanted
    if traffic.batched:
        return _aligned(traffic, answer)
    if answer is None:
        # A dump of active calls only, or a buffer that was overwritten: no open counterpart.
        return False
    return answer.batched or answer.pending > 0


def _aligned(traffic: Traffic, answer: Traffic | None) -> bool | None:
    """Compare batches by number, where both ranks number them alike (rings do)."""
    if answer is None:
        return None
    mine, other = set(traffic.seqs), set(answer.seqs)
    low, high = max(min(mine), min(other)), min(max(mine), max(other))
    window = {seq for seq in mine if low <= seq <= high}
    if len(window) < 2 or len(window & other) < _SAME_NUMBERS * len(window):
        return None
    return max(other) >= max(mine)
