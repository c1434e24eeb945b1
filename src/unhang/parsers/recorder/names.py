"""The rank of a dump: it stands in the file's name only."""

from __future__ import annotations

from pathlib import PurePosixPath

from unhang import lazy_re as re
from unhang.model.ids import Rank
from unhang.model.provenance import Origin

_RANK = re.compile(r"(?:^|[^a-zA-Z])rank[._=-]?(\d{1,6})(?!\d)", re.IGNORECASE)
_TRACE = re.compile(r"(?:trace|dump|json|recorder)[._-]?(\d{1,6})(?!\d)", re.IGNORECASE)
_SUFFIX = re.compile(
    r"\.(?:pkl|pickle|json|bin|dump|trace|txt|log|gz|zst|xz|bz2|bak|old|tmp)$", re.IGNORECASE
)
_LAST = re.compile(r"(?<!\d)(\d{1,6})$")


def rank_of(name: str, origin: Origin) -> Rank | None:
    """The global rank that the name of a dump tells; its folders count where it tells nothing.

    A writer of one's own may put a host name before or after the rank, and hosts have numbers too.

    >>> rank_of("dumps/node12_nccl_trace_rank_3.node12", Origin())
    3
    >>> rank_of("dumps/host-7_dump_12.pkl", Origin())
    12
    """
    stem = PurePosixPath(name.replace("\\", "/").replace("!", "/")).name
    while (shorter := _SUFFIX.sub("", stem)) != stem:
        stem = shorter
    for pattern in (_RANK, _TRACE, _LAST):
        found = pattern.findall(stem)
        if found:
            return Rank(int(found[-1]))
    return origin.rank
