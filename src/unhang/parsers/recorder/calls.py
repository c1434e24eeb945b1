"""From a Flight Recorder dump to its calls with their times, for timelines.

Verdicts need the order of calls and what was never issued (`entries`); a timeline needs when each
began and ended, which only dumps of torch 2.4 and later tell of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unhang.model.activity import Activity
from unhang.model.ids import Rank
from unhang.model.trace import CallKey, Slice, SliceKind
from unhang.parsers.recorder import read_document
from unhang.parsers.recorder.document import Entry, as_text, canonical, whole_number
from unhang.parsers.recorder.names import rank_of
from unhang.sources.artifact import Artifact

_JOINT = (
    *("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "all_to_all"),
    *("alltoall", "barrier"),
)
"""Operations that nobody can leave before everybody has come."""


def read_calls(artifact: Artifact, most: int) -> Iterator[Slice]:
    """Yield the last `most` calls of a dump; nothing where it is none or tells no times.

    Raises:
        ArtifactError: the dump was refused.
        OSError: it cannot be read.
    """
    found = read_document(artifact)
    rank = rank_of(artifact.name, artifact.origin)
    if found is None or rank is None:
        return
    members = _members(found.config)
    host = artifact.origin.host or ""
    for entry in found.entries[-most:]:
        told = canonical(entry, found.config)
        if told is not None and told["time_created_ns"] is not None:
            yield _slice(entry, told, rank, host, members)


def _slice(
    entry: Entry, told: Mapping[str, Any], rank: int, host: str, members: Mapping[str, str]
) -> Slice:
    name, description = told["process_group"]
    begin = told["time_created_ns"] / 1e9
    op = told["profiling_name"].rpartition(":")[2] or told["profiling_name"]
    seq = told["p2p_seq_id"] if told["is_p2p"] else told["collective_seq_id"]
    end = _end(entry, told, begin)
    frames = entry.get("frames")
    details = {
        "state": told["state"],
        "sizes in": as_text(str(told["input_sizes"]))[:80],
        "sizes out": as_text(str(told["output_sizes"]))[:80],
        "called by": _caller(frames if isinstance(frames, (list, tuple)) else ()),
    }
    return Slice(
        process=f"rank {rank}",
        rank=Rank(rank),
        host=host,
        track=description or f"group {name}",
        name=f"{op} #{seq}",
        kind=SliceKind.CALL,
        begin_s=begin,
        end_s=end,
        activity=Activity.WAIT,
        call=None if told["is_p2p"] else CallKey(f"{name} {members.get(name, '')}", str(seq)),
        joint=op.lower().lstrip("_").startswith(_JOINT),
        details={key: value for key, value in details.items() if value not in ("", "[]")},
    )


def _end(entry: Entry, told: Mapping[str, Any], begin: float) -> float | None:
    """When it was seen to be done; a call that is done at an unknown time takes no time."""
    if told["state"] != "completed" and not told["retired"]:
        return None
    done = whole_number(entry.get("time_discovered_completed_ns"))
    if done is not None and done > 0:
        return max(begin, done / 1e9)
    lasted = entry.get("duration_ms")
    return begin + (lasted / 1e3 if isinstance(lasted, (int, float)) and lasted > 0 else 0.0)


def _caller(frames: Sequence[object]) -> str:
    for frame in frames[:40]:
        if isinstance(frame, dict) and "torch/distributed" not in str(frame.get("filename"))[:300]:
            name, line = as_text(frame.get("filename")), whole_number(frame.get("line"))
            return f"{name.rpartition('/')[2]}:{line} {as_text(frame.get('name'), 60)}"
    return ""


def _members(config: Mapping[str, Any]) -> dict[str, str]:
    """Members of each group as the dump lists them: groups of one name may differ in them."""
    return {
        as_text(name): as_text(told.get("ranks"))
        for name, told in config.items()
        if isinstance(told, dict)
    }
