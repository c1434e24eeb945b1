"""From other programs' timelines (Kineto, Ray, NCCL Inspector) to slices.

Kineto: `{"traceEvents": […], "distributedInfo": {"rank": 0, …}, "baseTimeNanoseconds": …}`, times
in microseconds. Kept are collectives, steps and the program's own annotations: a profile holds a
million kernels, and they have viewers of their own. A call's number is its place within its step
and group, for Kineto tells no sequence numbers.

Ray (`ray timeline`): a bare list of Chrome events, a process for each node, a thread for each
worker.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unhang import lazy_re as re
from unhang.errors import ArtifactError
from unhang.model.activity import Activity
from unhang.model.ids import Rank
from unhang.model.trace import CallKey, Slice, SliceKind

MOST_BYTES = 2 << 30
_HEAD = 1 << 16
_MOST_TEXT = 200
_LATEST_NS = 1 << 63
_STEP = re.compile(r"ProfilerStep#(\d{1,12})")
_RANK = re.compile(r"rank[-_]?(\d{1,7})", re.IGNORECASE)
_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_?(\w*)", re.IGNORECASE)
_JOINT = re.compile(r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|barrier", re.IGNORECASE)


def read_foreign(path: Path) -> Iterator[Slice] | None:
    """Return the slices of a file, or None where it is no timeline that is known.

    Raises:
        ArtifactError: it is one, and cannot be read.
        OSError: it cannot be read at all.
    """
    head = _read(path, _HEAD)
    if b'"coll_perf"' in head:
        return _inspector(path)
    start = head.lstrip()[:1]
    if start == b"{" and b'"traceEvents"' in head:
        return _kineto(_json(path), path.name)
    if start == b"[" and b'"ph"' in head and b'"cat"' in head:
        return _ray(_json(path))
    return None


def _read(path: Path, most: int) -> bytes:
    try:
        if path.name.endswith(".gz"):
            with gzip.open(path, "rb") as file:
                return file.read(most)
        with path.open("rb") as file:
            return file.read(most)
    except (EOFError, zlib.error) as error:
        raise ArtifactError(f"{path} is damaged ({error}); the rest was used") from error


def _json(path: Path) -> Any:  # noqa: ANN401 - JSON of any form, looked at by the callers
    data = _read(path, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ArtifactError(
            f"{path} holds more than {MOST_BYTES >> 30} GiB; profile fewer steps, or give a part"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(
            f"{path} is not a complete JSON document ({error}); was the job ended while it was"
            " written?"
        ) from error


def _kineto(tree: object, name: str) -> Iterator[Slice]:
    if not isinstance(tree, dict):
        return
    info = tree.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    if not isinstance(rank, int):
        found = _RANK.search(name)
        rank = int(found[1]) if found else None
    process = name if rank is None else f"rank {rank}"
    base = tree.get("baseTimeNanoseconds")
    base_s = base / 1e9 if isinstance(base, int) and 0 <= base < _LATEST_NS else 0.0
    events = [e for e in _events(tree.get("traceEvents")) if e.get("ph") == "X"]
    events.sort(key=lambda e: float(e["ts"]))
    step = ""
    counts: Counter[tuple[str, str]] = Counter()
    for event in events:
        text = str(event.get("name"))[:_MOST_TEXT]
        args = event.get("args")
        told = args if isinstance(args, dict) else {}
        if (found := _STEP.search(text)) is not None:
            step = found[1]
        elif not _wanted(event, text, told):
            continue
        begin = base_s + float(event["ts"]) / 1e6
        call, op = None, text
        is_call = found is None and _is_collective(text, told)
        if is_call:
            op = str(told.get("Collective name") or _op(text))[:_MOST_TEXT]
            group = str(told.get("Process Group Name", ""))[:_MOST_TEXT]
            members = str(told.get("Process Group Ranks", ""))[:_MOST_TEXT]
            counts[step, group] += 1
            if step and group:
                call = CallKey(f"{group} {members}", f"{step}.{counts[step, group]}")
        yield Slice(
            process=process,
            rank=None if rank is None else Rank(rank),
            track=_kineto_track(told) if is_call else "steps",
            name=op,
            kind=SliceKind.CALL if is_call else SliceKind.PHASE,
            begin_s=begin,
            end_s=begin + float(event["dur"]) / 1e6,
            activity=Activity.WAIT if is_call else Activity.WORK,
            call=call,
            joint=is_call and _JOINT.search(op) is not None,
            details={
                key: str(told[key])[:_MOST_TEXT]
                for key in ("In msg nelems", "Out msg nelems", "dtype", "Group size")
                if key in told
            },
        )


def _wanted(event: Mapping[str, Any], text: str, told: Mapping[str, Any]) -> bool:
    if _is_collective(text, told):
        return event.get("cat") in ("kernel", "gpu_user_annotation") or "Collective name" in told
    return event.get("cat") == "user_annotation"


def _is_collective(text: str, told: Mapping[str, Any]) -> bool:
    return "Collective name" in told or _KERNEL.search(text) is not None


def _op(text: str) -> str:
    found = _KERNEL.search(text)
    return (found[1] if found else "") or text


def _kineto_track(told: Mapping[str, Any]) -> str:
    name = told.get("Process Group Description") or told.get("Process Group Name")
    return f"NCCL {str(name)[:_MOST_TEXT]}" if name else "NCCL"


def _ray(tree: object) -> Iterator[Slice]:
    events = list(_events(tree))
    names = {
        (e.get("pid"), e.get("tid")): str(e["args"]["name"])[:_MOST_TEXT]
        for e in (tree if isinstance(tree, list) else ())
        if isinstance(e, dict)
        and e.get("name") in ("thread_name", "process_name")
        and isinstance(e.get("args"), dict)
        and "name" in e["args"]
        and isinstance(e.get("pid"), (str, int))
        and isinstance(e.get("tid"), (str, int, type(None)))
    }
    for event in events:
        pid, tid = event.get("pid"), event.get("tid")
        if event.get("ph") != "X" or not isinstance(pid, (str, int)):
            continue
        thread = tid if isinstance(tid, (str, int)) else ""
        begin = float(event["ts"]) / 1e6
        yield Slice(
            process=names.get((pid, None), str(pid)[:_MOST_TEXT]),
            host=str(pid)[:_MOST_TEXT],
            track=names.get((pid, tid), str(thread)[:_MOST_TEXT]) or "worker",
            name=str(event.get("name"))[:_MOST_TEXT],
            kind=SliceKind.TASK,
            begin_s=begin,
            end_s=begin + float(event["dur"]) / 1e6,
            activity=Activity.WORK,
            details={"category": str(event.get("cat"))[:_MOST_TEXT]},
        )


def _events(value: object) -> Iterator[dict[str, Any]]:
    """Chrome events that have a begin and a duration."""
    for event in value if isinstance(value, list) else ():
        if isinstance(event, dict) and event.get("ph") == "X":
            event = {"dur": 0, **event}  # noqa: PLW2901 (a slice without a duration takes no time)
            if all(_is_time(event.get(key)) for key in ("ts", "dur")):
                yield event


def _is_time(value: object) -> bool:
    if isinstance(value, str) and len(value) < 32:
        try:
            value = float(value)
        except ValueError:
            return False
    return type(value) in (int, float) and 0 <= value < 1e18  # type: ignore[operator]


def _inspector(path: Path) -> Iterator[Slice]:
    opener = gzip.open if path.name.endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            for line in file:
                if b'"coll_perf"' in line and (told := _inspected(line)) is not None:
                    yield told
    except (EOFError, zlib.error):
        return  # cut where the job was: what came before counts


def _inspected(line: bytes) -> Slice | None:
    try:
        record = json.loads(line)
        head, meta, told = (record[key] for key in ("header", "metadata", "coll_perf"))
        rank, number, op = int(head["rank"]), int(told["coll_sn"]), str(told["coll"])[:_MOST_TEXT]
        end, lasted = meta["dump_timestamp_us"] / 1e6, told["coll_exec_time_us"] / 1e6
        group = str(head["id"])[:_MOST_TEXT]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Slice(
        process=f"rank {rank}",
        rank=Rank(rank),
        host=str(meta.get("hostname", ""))[:_MOST_TEXT],
        track=f"NCCL {group}",
        name=f"{op} #{number}",
        kind=SliceKind.CALL,
        begin_s=end - lasted,
        end_s=end,
        activity=Activity.WAIT,
        call=CallKey(group, str(number)),
        details={"bytes": str(told.get("coll_msg_size_bytes", ""))[:_MOST_TEXT]},
    )
