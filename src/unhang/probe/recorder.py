"""Asks the Flight Recorder how far each process group has come, under the names this torch has.

torch 2.5 to 2.7 know NCCL's recorder alone; later ones have a second, general one, which gloo
writes to. A status names a group by a counter of this process; entries tell which group that is.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

STATUS = ("_dump_nccl_trace_json", "_dump_fr_trace_json")
"""Functions of `torch._C._distributed_c10d`: (with entries, active only) -> JSON."""

DUMPS = ("_dump_nccl_trace", "_dump_fr_trace")
"""Functions there: (with entries, with stacks, active only) -> pickle."""

SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
"""Variables with the number of entries that are kept: the first that is set counts; 0 = none."""

# Keys are sorted in torch's JSON, so these two are neighbours; reading a whole dump as JSON would
# hold the GIL for tens of milliseconds.
_ENTRY = re.compile(rb'"pg_id":\s*"?(\d+)"?,\s*"process_group":\s*\[\s*"([^"\\]*)"')
_STATE = re.compile(
    rb'"collective_seq_id":\s*(\d+),[^{}]*?"is_p2p":\s*(true|false),[^{}]*?"pg_id":\s*"?(\d+)"?,'
    rb'[^{}]*?"retired":\s*(true|false)'
)
_RARELY = 100
"""Entries are read for at most a hundredth of the time."""


class GroupProgress(NamedTuple):
    """Sequence numbers of the last collective that was issued, begun and ended."""

    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None

    @property
    def in_flight(self) -> bool:
        """Whether something was issued and has not ended."""
        known = self.enqueued is not None and self.completed is not None
        return known and self.enqueued > self.completed  # type: ignore[operator]


def switched_off(environ: Mapping[str, str]) -> str | None:
    """The setting by which the user has switched the recorder off, or None."""
    for name in SIZES:
        if name in environ:
            return f"{name}={environ[name]}" if environ[name].strip() == "0" else None
    return None


def lacking(
    native: Any, environ: Mapping[str, str], backends: Collection[str | None]
) -> Iterator[tuple[str, str]]:
    """Yield what no recorder will tell of these back ends: a code, and the setting or ""."""
    off = switched_off(environ)
    nccl = any(hasattr(native, names[0]) for names in (STATUS, DUMPS))
    general = any(hasattr(native, names[1]) for names in (STATUS, DUMPS))
    if not (nccl or general):
        yield "recorder_absent", ""
    elif off is not None:
        yield "recorder_off", off
    elif not general and any("nccl" not in str(backend) for backend in backends):
        yield "recorder_nccl", ""


class Recorder:
    """Reads the status of both recorders."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {name: {} for name in STATUS}
        self._not_before_s = dict.fromkeys(STATUS, 0.0)
        self._checked: dict[str, tuple[dict[str, GroupProgress], dict[str, int]]] = {}

    def progress(self, native: Any, *, rests: bool = False) -> dict[str, GroupProgress]:
        """Progress by name of the group; a group whose name is not known yet is left out.

        Args:
            native: `torch._C._distributed_c10d`.
            rests: the main thread stands still outside of any collective, so that what seems to be
                in flight is worth a closer look: gloo notes what ended last, and not the highest
                number, which falls back where several operations end out of order.
        """
        seen: dict[str, GroupProgress] = {}
        for function in STATUS:
            ask = getattr(native, function, None)
            if ask is None:
                continue
            status = json.loads(ask(False, False)).get("pg_status", {})
            names = self._names[function]
            if any(number not in names for number in status):
                self._learn(function, ask)
            told = {n: _progress(s) for n, s in status.items() if n in names}
            if rests and any(at.in_flight and at.started is None for at in told.values()):
                told = self._looked_at(function, ask, told)
            seen.update((names[n], at) for n, at in told.items())
        return seen

    def _looked_at(
        self, function: str, ask: Callable[[bool, bool], bytes], told: dict[str, GroupProgress]
    ) -> dict[str, GroupProgress]:
        """The same, with what the entries say of operations that seem to be in flight."""
        if self._checked.get(function, ({}, {}))[0] != told:
            begun = time.monotonic()
            if begun < self._not_before_s[function]:
                return told
            open_: dict[str, int] = {}
            for seq, pair, number, retired in _STATE.findall(ask(True, False)):
                if retired == b"false" and pair == b"false":
                    name = number.decode()
                    open_[name] = min(open_.get(name, int(seq)), int(seq))
            self._checked[function] = (told, open_)
            spent = time.monotonic() - begun
            self._not_before_s[function] = begun + spent * _RARELY
        open_ = self._checked[function][1]
        return {
            n: at._replace(completed=open_.get(n, (at.enqueued or 0) + 1) - 1)
            if at.in_flight and at.started is None
            else at
            for n, at in told.items()
        }

    def _learn(self, function: str, ask: Callable[[bool, bool], bytes]) -> None:
        begun = time.monotonic()
        if begun < self._not_before_s[function]:
            return
        for number, name in _ENTRY.findall(ask(True, False)):
            self._names[function][number.decode()] = name.decode("utf-8", "replace")
        spent = time.monotonic() - begun
        self._not_before_s[function] = begun + spent * _RARELY


def _progress(status: dict[str, Any]) -> GroupProgress:
    return GroupProgress(
        enqueued=max(0, int(status["last_enqueued_collective"])),
        # The back end may never tell: -1 is not "none yet".
        started=_told(int(status.get("last_started_collective", -1))),
        completed=max(0, int(status["last_completed_collective"])),
    )


def _told(number: int) -> int | None:
    return None if number < 0 else number
