"""The Flight Recorder dumps that the ranks of a made-up job would leave, in any form of torch."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recorder_jobs import Group, Job, Op, Rank

Stacks = dict[int, list[dict[str, Any]]]
"""Frames by line: equal stacks are one object, as the recorder writes them."""


@dataclass(frozen=True)
class Form:
    """How dumps are written.

    Attributes:
        active: only calls that are not done.
        timed: events tell when a call has begun; else a call is scheduled until it is completed.
        retires_after_ns: how long after a call the watchdog takes note that it is done.
        offset: of the record numbers.
        global_numbers: sends and receives name the peers by their ranks in the job.
        batch_ends: batches end with an entry of their own: "none", "scheduled", or "stated".
    """

    version: str = "2.10"
    buffer: int = 2000
    back_end: str = "nccl"
    as_json: bool = False
    active: bool = False
    timed: bool = True
    retires_after_ns: int = 0
    offset: int = 0
    name: Callable[[int], str] = "nccl_trace_rank_{}".format
    frames: int = 4
    global_numbers: bool = False
    batch_ends: str = "scheduled"

    @property
    def has_states(self) -> bool:
        """Whether the back end tells how far its calls are."""
        return self.back_end != "gloo"


def write(
    job: Job, folder: Path, forms: Sequence[Form], at: Callable[[int], int] | None = None
) -> None:
    """Write the dumps of all ranks that live; forms are dealt out in turn.

    Args:
        job: what has run.
        folder: where to; it is made.
        forms: the rank with the number n writes in the n-th of them.
        at: when each rank was ordered to write, in nanoseconds, which the dump then tells; None =
            long after the end, by its watchdog.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stacks: Stacks = {}
    for rank in job.ranks:
        if rank.dead:
            continue
        form = forms[rank.rank % len(forms)]
        moment = None if at is None else at(rank.rank)
        tree = dump(rank, form, stacks, moment)
        path = folder / form.name(rank.rank)
        if moment is not None and form.as_json and isinstance(tree, dict):
            tree["unhang_taken_s"] = moment / 1e9
        path.write_bytes(
            json.dumps(tree, sort_keys=True).encode()
            if form.as_json
            else pickle.dumps(tree, protocol=2)
        )
        if moment is not None:
            os.utime(path, ns=(moment, moment))
    if at is not None:
        (folder / "done_node0-1").touch()


def dump(rank: Rank, form: Form, stacks: Stacks, at: int | None = None) -> object:
    """What a rank's recorder would write."""
    groups = sorted(dict.fromkeys(op.group for op in rank.program), key=lambda g: int(g.name))
    first = 0 if groups[0].name == "0" else 1  # 0 is the default group's, also when it is unused
    numbers = {group: number for number, group in enumerate(groups, first)}
    writer = _Writer(rank, form, stacks, numbers, (1 << 62) if at is None else at)
    entries = writer.entries()[-form.buffer :]
    if form.active:
        entries = [e for e in entries if not e["retired"] and e["state"] != "completed"]
    if form.version == "1.0":
        return [_old(e) for e in entries]
    config = {
        g.name: {"name": g.name, "desc": g.description, "ranks": str(list(g.ranks))} for g in groups
    }
    if form.back_end == "gloo":
        everyone = str(list(groups[0].ranks)) if len(groups) == 1 else "[]"
        config = {"": {"name": "", "desc": "", "ranks": everyone}}
    tree: dict[str, Any] = {"version": form.version, "pg_config": config}
    if form.version not in ("1.4", "2.1"):
        tree["pg_status"] = {str(numbers[g]): writer.status(g) for g in groups}
    if form.version == "1.4":
        config = {str(numbers[g]): config[g.name] for g in groups if g.name in config}
        return {**tree, "pg_config": config, "entries": [_old(e) for e in entries]}
    return {**tree, "entries": entries}


@dataclass
class _Writer:
    """One rank's recorder at one moment."""

    rank: Rank
    form: Form
    stacks: Stacks
    numbers: dict[Group, int]
    at: int

    def entries(self) -> list[dict[str, Any]]:
        """All entries, also those that the buffer has overwritten since."""
        found: list[dict[str, Any]] = []
        collectives: dict[Group, int] = {}
        recorded = (op for op in self.rank.program)
        for place, op in zip(range(self._issued()), recorded, strict=False):
            if not op.peers:
                collectives[op.group] = self.rank.seqs[place]
            elif self.form.back_end == "gloo":
                continue  # Gloo records no sends and receives
            for entry in self._of_call(op, place, collectives.get(op.group, 0)):
                found.append({**entry, "record_id": len(found) + self.form.offset})
        return found

    def status(self, group: Group) -> dict[str, int]:
        """Counters of a group, by the watchdog."""
        numbers = [
            (self.rank.seqs[i], self._has_passed(self.rank.done_at[i], self._lag()))
            for i in range(self._issued())
            if self.rank.program[i].group == group
        ]
        return {
            "last_enqueued_collective": numbers[-1][0] if numbers else -1,
            "last_started_collective": -1,
            "last_completed_collective": next((n for n, done in numbers[::-1] if done), -1),
        }

    def _issued(self) -> int:
        return sum(time <= self.at for time in self.rank.issued_at)

    def _lag(self) -> int:
        return self.form.retires_after_ns

    def _has_passed(self, time: int | None, lag: int = 0) -> bool:
        return time is not None and time + lag <= self.at

    def _of_call(self, op: Op, place: int, collective: int) -> list[dict[str, Any]]:
        """One entry, or those of a batch."""
        batch = op.name == "batch"
        names = [(op.name, op.size)]
        if op.peers:
            names = [
                (self._pair(op, peer, sends=sends), op.size_of(i))
                for i, (peer, sends) in enumerate(op.peers)
            ]
        stated = [not batch] * len(names)
        if batch and self.form.batch_ends != "none":
            names.append(("coalesced", ()))
            stated.append(self.form.batch_ends == "stated")
        return [
            self._entry(op, place, collective, name=name, size=size, stated=has_state)
            for (name, size), has_state in zip(names, stated, strict=True)
        ]

    def _pair(self, op: Op, peer: int, *, sends: bool) -> str:
        number = (lambda r: r) if self.form.global_numbers else op.group.ranks.index
        verb, arrow = ("send", "->") if sends else ("recv", "<-")
        return f"{verb} {number(self.rank.rank)}{arrow}{number(peer)}"

    def _entry(
        self,
        op: Op,
        place: int,
        collective: int,
        *,
        name: str,
        size: tuple[int, ...],
        stated: bool,
    ) -> dict[str, Any]:
        done_at, started_at = self.rank.done_at[place], self.rank.started_at[place]
        stated = stated and self.form.has_states
        done = stated and self._has_passed(done_at)
        begun = stated and self.form.timed and self._has_passed(started_at)
        retired = (stated or not self.form.has_states) and self._has_passed(done_at, self._lag())
        sizes = [list(size)] if size else []
        return {
            "frames": self.stacks.setdefault(op.line, _frames(op.line, self.form.frames)),
            "record_id": 0,
            "pg_id": self.numbers[op.group],
            "process_group": (op.group.name, op.group.description),
            "collective_seq_id": collective,
            "p2p_seq_id": self.rank.seqs[place] if op.peers else 0,
            "op_id": place,
            "profiling_name": f"{self.form.back_end}:{name}",
            "time_created_ns": self.rank.issued_at[place],
            "input_sizes": sizes,
            "input_dtypes": [op.dtype],
            "output_sizes": sizes,
            "output_dtypes": [op.dtype],
            "state": "completed" if done else "started" if begun else "scheduled",
            "time_discovered_started_ns": started_at if begun else None,
            "time_discovered_completed_ns": done_at if done else None,
            "retired": retired,
            "timeout_ms": 600_000,
            "is_p2p": bool(op.peers),
        }


def _frames(line: int, count: int) -> list[dict[str, Any]]:
    torch = "/venv/lib/python3.11/site-packages/torch/distributed/"
    frames = [
        {"name": "all_reduce", "filename": torch + "distributed_c10d.py", "line": 3245},
        {"name": "wrapper", "filename": torch + "c10d_logger.py", "line": 83},
        {"name": f"step_{line}", "filename": "/job/train.py", "line": line},
        {"name": "main", "filename": "/job/train.py", "line": 200},
    ]
    more = [
        {"name": f"layer_{i}", "filename": "/job/model.py", "line": 100 + i}
        for i in range(count - len(frames))
    ]
    return frames[:2] + more + frames[2:]


_NEW = ("process_group", "is_p2p", "input_dtypes", "output_dtypes", "p2p_seq_id")


def _old(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of 2.2 and 2.3."""
    old = {key: value for key, value in entry.items() if key not in _NEW}
    number = old.pop("collective_seq_id")
    old["seq_id"] = entry["p2p_seq_id"] if entry["is_p2p"] else number
    old["time_created_us"] = old.pop("time_created_ns") // 1_000
    return old
