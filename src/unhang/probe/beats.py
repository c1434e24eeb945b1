"""Composes a beat: what this process is, where it stands, and how far its groups have come."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from . import arguments, course, declared, groups, kernel, stack, steps
from .calling import Calling
from .recorder import STATUS, GroupProgress, Recorder, lacking, switched_off
from .surroundings import Surroundings
from .unchanged_since import UnchangedSince

if TYPE_CHECKING:
    from collections.abc import Callable

    from .environment import Settings
    from .limits import GroupLimits

C10D, NATIVE = "torch.distributed.distributed_c10d", "torch._C._distributed_c10d"
_MOST_LOST = 20
_AWAIT = "wait"
"""The method by which a program waits for what it has begun."""
_LONG = 300


class Beats:
    """Remembers what a beat compares with: earlier numbers, what was lost.

    Args:
        settings: whose host and interval are told.
        limits: what the program asked for.
    """

    def __init__(self, settings: Settings, limits: GroupLimits) -> None:
        self._limits = limits
        self._recorder = Recorder()
        self._kernel: kernel.Usage | None = None
        self._place = UnchangedSince()
        self._calling = Calling()
        self._surroundings = Surroundings()
        self._described: dict[str, tuple[int, dict[str, Any]]] = {}
        self._progress: dict[str, tuple[GroupProgress, float]] = {}
        self._looked_for_lacks = False
        self.dumped: int | None = None
        self.lost: dict[str, tuple[str, str]] = {}
        """What could not be seen or done: by the part that failed, the last code and reason."""
        self._fixed: dict[str, Any] = {
            "schema": 1,
            "host": settings.host,
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "process_started": round(kernel.started_s(), 2),
            "restart": _number(os.environ.get("TORCHELASTIC_RESTART_COUNT")),
            "interval_s": settings.interval_s,
        }

    def lose(self, code: str, why: object = "", *, part: str | None = None) -> None:
        """Note what could not be done, for the next beat to tell.

        Args:
            code: what; the agent has the words.
            why: the reason, or what it is about.
            part: that failed, of which the last failure is told; None = the code says it.
        """
        part = part or code
        if part in self.lost or len(self.lost) < _MOST_LOST:
            self.lost[part] = (code, str(why)[:_LONG])

    def compose(self, now_s: float) -> dict[str, Any]:
        """One beat, at a monotonic time; what fails is left out and told in `lost`."""
        places = self._try("stack", stack.main_thread) or []
        calling = self._try("stack", self._calling.see)
        call = self._try("stack", arguments.of_call) if self._calling.stands else None
        rests = self._calling.stands and call is None and calling != _AWAIT
        self._try("stack", lambda: course.COURSE.pace(now_s))
        beat = {
            **self._fixed,
            "argv": getattr(sys, "argv", [])[:5],
            "wall": time.time(),
            "mono": now_s,
            "stack": places,
            "stack_since": self._place.see(stack.own_place(places), now_s),
            "calling": calling,
            "threads": self._try("stack", stack.other_threads) if self._calling.stands else [],
            "call": call,
            "course": self._try("stack", course.COURSE.told),
            "issued": course.COURSE.issued,
            "probe_thread": threading.get_native_id(),
            "steps": steps.COUNT.done if steps.COUNT.attached else None,
            "step_wall": steps.COUNT.wall_s,
            "phase": declared.phase(),
            **(self._try("usage", self._usage) or {}),
            **(self._try("torch", self._torch) or {}),
            **(self._try("ranks", _ranks) or {}),
            "groups": self._try("groups", lambda: self._groups(now_s, rests=rests)) or {},
            **(self._try("exit", _state) or {}),
            "timeouts": {
                "mode": self._limits.mode,
                "governed": dict(self._limits.governed),
                "meeting": waiting.asked_ms if (waiting := self._limits.waiting) else None,
            },
            "dumped": self.dumped,
        }
        surroundings = self._try("environment", self._surroundings.look)
        if surroundings is not None:
            beat["environment"] = surroundings
        beat["lost"] = list(self.lost.values())
        return beat

    def _try(self, code: str, look: Callable[[], Any]) -> Any:
        try:
            return look()
        except Exception as error:
            self.lose(code, f"{type(error).__name__}: {error}")
            return None

    def _usage(self) -> dict[str, Any]:
        if self._kernel is None:
            self._kernel = kernel.Usage()
        return self._kernel.now()

    def _torch(self) -> dict[str, Any]:
        torch = sys.modules.get("torch")
        version = getattr(torch, "__version__", None)
        cuda = getattr(torch, "cuda", None)
        # A question to CUDA before the program has begun to use it would begin it.
        ready = getattr(cuda, "is_initialized", bool)()
        used = None
        if ready and cuda is not None:
            used = sum(cuda.memory_reserved(n) for n in range(cuda.device_count()))
        return {
            "torch": None if version is None else str(version),
            "device": "cuda" if ready else "cpu",
            "gpu_bytes": used,
        }

    def rank(self) -> int | None:
        """Of this process in the job, as its default group or its environment says it."""
        rank: int | None = (self._try("ranks", _ranks) or {}).get("rank")
        return rank

    def _groups(self, now_s: float, *, rests: bool) -> dict[str, Any]:
        c10d = sys.modules.get(C10D)
        if c10d is None:
            return {}
        registered = groups.registered(c10d)
        native = sys.modules.get(NATIVE)
        progress = self._try("recorder", lambda: self._recorder.progress(native, rests=rests)) or {}
        # Then a group without a record has issued nothing, and its own count, which is dear, is 0.
        all_recorded = hasattr(native, STATUS[1]) and switched_off(os.environ) is None
        told = {}
        for group, name in registered:
            before, since_s = self._progress.get(name, (None, now_s))
            at = progress.get(name) or (before if all_recorded else None) or _own_count(group)
            since_s = since_s if before == at else now_s
            self._progress[name] = (at, since_s)
            told[name] = {
                **self._description(c10d, group, name),
                "timeout_ms": self._limits.current.get(name),
                "user_timeout_ms": self._limits.asked.get(name),
                **at._asdict(),
                "since": since_s,
            }
        if told and not self._looked_for_lacks:
            self._looked_for_lacks = True
            backends = {group["backend"] for group in told.values()}
            for code, why in lacking(native, os.environ, backends):
                self.lose(code, why or sys.modules["torch"].__version__)
        for gone in set(self._progress) - set(told):
            del self._progress[gone]
            self._described.pop(gone, None)
        return told

    def _description(self, c10d: Any, group: Any, name: str) -> dict[str, Any]:
        # By identity, not by the group itself: whoever holds a group keeps it alive.
        known = self._described.get(name)
        if known is None or known[0] != id(group):
            known = self._described[name] = (id(group), groups.describe(c10d, group))
        return known[1]


def _own_count(group: Any) -> GroupProgress:
    issued = groups.enqueued(group)
    return GroupProgress(enqueued=issued, completed=0 if issued == 0 else None)


def _ranks() -> dict[str, Any]:
    c10d = sys.modules.get(C10D)
    told = None if c10d is None else groups.default_rank_and_size(c10d)
    environ = os.environ
    rank, size = told or (_number(environ.get("RANK")), _number(environ.get("WORLD_SIZE")))
    return {"rank": rank, "local_rank": _number(environ.get("LOCAL_RANK")), "world_size": size}


def _state() -> dict[str, Any]:
    """Whether the process is leaving, and for which exception.

    The interpreter notes an exception that nobody caught before it calls `sys.excepthook`, and the
    end of the main thread before it calls what was registered for the exit. So the probe asks, and
    hooks neither.
    """
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    leaving = not threading.main_thread().is_alive()
    if error is None:
        return {"state": "exiting" if leaving else "running", "exception": None}
    return {"state": "raising", "exception": _raised(error)}


def _raised(error: BaseException) -> dict[str, Any]:
    places = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(stack.MainThreadFrame(code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return {
        "type": type(error).__name__,
        "message": str(error)[:1000],
        "stack": places[: -stack.DEEPEST - 1 : -1],
    }


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
