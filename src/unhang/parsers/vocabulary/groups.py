"""From the prefix of a ProcessGroupNCCL line to the process group and the rank within it.

Forms, oldest first: `[PG 1 Rank 0]` (2.3), `[PG 0 (default_pg) Rank 1]` (2.4),
`[PG ID 2 PG GUID 3 Rank 3]` and `[PG ID 0 PG GUID 0(default_pg) Rank 3]` (2.5 and later).
`PG ID` counts per process; only the GUID is shared. The rank counts within the group.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import GroupRef
from unhang.model.ids import GroupRank

_PREFIX = re.compile(
    r"\[PG\s*(?:ID\s*)?(?P<id>\d{1,19})\s*"
    r"(?:PG\s*GUID\s*(?P<guid>[^\s()\[\]]{1,120}?)\s*)?"
    r"(?:\(\s*(?P<description>[^\]]{0,200}?)\s*\)\s*)?"
    r"Rank\s*(?P<rank>\d{1,9})\s*\]"
)
_BARE_RANK = re.compile(r"\[Rank\s*(?P<rank>\d{1,9})\s*\]")


class Speaker(NamedTuple):
    """Who says a line, in terms of process groups."""

    group: GroupRef | None
    rank: GroupRank | None


def find_speaker(text: str, before: int | None = None) -> Speaker:
    """Return the group and rank of the last prefix in `text[:before]`; both may be unknown.

    >>> find_speaker("[PG ID 2 PG GUID 7(mesh_tp) Rank 3]  failure detected").group
    GroupRef(guid='7', local_id=2, description='mesh_tp')
    """
    head = text if before is None else text[:before]
    found = _last(_PREFIX, head)
    if found is not None:
        group = GroupRef(
            guid=found["guid"], local_id=int(found["id"]), description=found["description"] or None
        )
        return Speaker(group, GroupRank(int(found["rank"])))
    found = _last(_BARE_RANK, head)
    return Speaker(None, None if found is None else GroupRank(int(found["rank"])))


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)
