"""Gives process groups the limit that was asked for, and remembers the program's own.

An operation takes its limit when it is issued, so a group should have the long one at birth:
the functions through which torch makes groups are wrapped, whatever layer above calls them
(frameworks, DeviceMesh, DeepSpeed's clone). Groups whose limit is changed later are seen at the
next beat. The stores get it too: NCCL's ranks wait there for the id of a communicator.
"""

from __future__ import annotations

import functools
import inspect
import time
import types
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from . import groups

if TYPE_CHECKING:
    from collections.abc import Callable


class MainThreadWait(NamedTuple):
    """The main thread is in one of those."""

    what: str
    since_s: float
    asked_ms: int


class GroupLimits:
    """What holds now, and what the program asked for.

    Args:
        mode: `keep`, `judge` or `fixed`.
        limit_ms: of all groups in the last two.
    """

    def __init__(self, mode: str, limit_ms: int) -> None:
        self.mode, self.limit_ms = mode, limit_ms
        self.judge_gone = False
        self.asked: dict[str, int] = {}
        """Limit that the program asked for, by group, in milliseconds."""
        self.governed: dict[str, int] = {}
        """Limit that we have set, by group."""
        self.current: dict[str, int] = {}
        """Limit that each group has now, as far as its back end tells."""
        self.waiting: MainThreadWait | None = None
        self.unchangeable: set[str] = set()
        """Groups whose back end takes no other limit once it is made."""
        self._store_asked: dict[str, timedelta] = {}
        self._asked_of_init: int | None = None
        self._on_birth: Callable[[], object] = bool

    @property
    def governs(self) -> bool:
        """Whether our limit holds now. A fixed one needs no judge."""
        return self.mode == "fixed" or (self.mode == "judge" and not self.judge_gone)

    def instead_of(self, asked_ms: int) -> int:
        """The limit that a group gets whose program asked for `asked_ms`."""
        if not self.governs:
            return asked_ms
        return self.limit_ms if self.mode == "fixed" else max(self.limit_ms, asked_ms)

    def apply(self, c10d: Any) -> None:
        """Bring all groups and stores of this process to the limit that holds."""
        world = getattr(c10d, "_world", c10d)
        present = set()
        for group, name in groups.registered(c10d):
            present.add(name)
            for backend in groups.backends(group):
                self._apply_to(backend, name)
            entry = getattr(world, "pg_map", {}).get(group)
            if entry is not None:
                self._apply_to_store(entry[1], name)
        for gone in set(self.current) - present:
            del self.current[gone]
            self.governed.pop(gone, None)
            self._store_asked.pop(gone, None)

    def _apply_to(self, backend: Any, name: str) -> None:
        now_ms = groups.timeout_ms(backend)
        if now_ms is None:
            return
        if now_ms != self.governed.get(name, self.asked.get(name)):
            self.asked[name] = now_ms  # the program has set it since
        wanted_ms = self.instead_of(self.asked[name])
        if now_ms != wanted_ms:
            if groups.set_timeout(backend, timedelta(milliseconds=wanted_ms)):
                now_ms = self.governed[name] = wanted_ms
            else:
                self.unchangeable.add(name)
        self.current[name] = now_ms

    def _apply_to_store(self, store: Any, name: str) -> None:
        now = getattr(store, "timeout", None)
        if now is None:
            return
        limit = timedelta(milliseconds=self.limit_ms)
        if self.governs and now < limit:
            self._store_asked[name] = now
            store.set_timeout(limit)
        elif not self.governs and name in self.governed and now >= limit:
            # Without a note of ours it was torch that gave the store our limit, with the group's.
            asked_ms = self.asked.get(name)
            fallback = now if asked_ms is None else timedelta(milliseconds=asked_ms)
            store.set_timeout(self._store_asked.pop(name, fallback))

    def wrap(self, c10d: Any, on_birth: Callable[[], None]) -> None:
        """Put ourselves before the functions of `distributed_c10d` that take a limit.

        Args:
            c10d: the module.
            on_birth: is called before this process makes its default group.
        """
        self._on_birth = on_birth
        for name, wrapper in (
            ("init_process_group", self._around_init),
            ("_new_process_group_helper", self._around_birth),
            ("split_group", self._around_birth),
            ("_store_based_barrier", self._around_wait),
            ("_set_pg_timeout", self._around_change),
            ("monitored_barrier", self._around_monitored_barrier),
        ):
            function = getattr(c10d, name, None)
            if function is not None and "timeout" in inspect.signature(function).parameters:
                setattr(c10d, name, _Wrapped(function, wrapper, c10d).function)

    def _around_init(self, call: WrappedCall) -> Any:
        self._on_birth()
        asked_ms = call.asked_ms(call.argument("backend"))
        self._asked_of_init = asked_ms
        try:
            return self._wait(call, asked_ms)
        finally:
            self._asked_of_init = None

    def _around_wait(self, call: WrappedCall) -> Any:
        return self._wait(call, call.asked_ms(None))

    def _wait(self, call: WrappedCall, asked_ms: int | None) -> Any:
        if asked_ms is None:
            return call.run()
        outer, self.waiting = (
            self.waiting,
            self.waiting or MainThreadWait(call.name, time.monotonic(), asked_ms),
        )
        try:
            return call.run_with(self.instead_of(asked_ms))
        finally:
            self.waiting = outer

    def _around_birth(self, call: WrappedCall) -> Any:
        asked_ms = self._asked_of_init
        if asked_ms is None:
            asked_ms = call.asked_ms(call.argument("backend"))
        if asked_ms is None:
            return call.run()
        given_ms = self.instead_of(asked_ms)
        made = call.run_with(given_ms)
        group = made[0] if isinstance(made, tuple) else made
        name = dict(groups.registered(call.c10d)).get(group)
        if name is not None:
            self.asked[name], self.current[name] = asked_ms, given_ms
            self.governed.pop(name, None)
            if given_ms != asked_ms:
                self.governed[name] = given_ms
        return made

    def _around_change(self, call: WrappedCall) -> Any:
        asked_ms = call.asked_ms(None)
        if asked_ms is None:
            return call.run()
        group = call.argument("group") or call.c10d._get_default_group()
        name = dict(groups.registered(call.c10d)).get(group)
        if name is None:
            return call.run()
        self.asked[name] = asked_ms
        self.governed[name] = self.current[name] = self.instead_of(asked_ms)
        return call.run_with(self.governed[name])

    def _around_monitored_barrier(self, call: WrappedCall) -> Any:
        # A limit that the program names for this one barrier is a test of its own.
        if call.argument("timeout") is not None or not self.governs:
            return call.run()
        return call.run_with(self.limit_ms)


class WrappedCall:
    """One call of a wrapped function."""

    def __init__(self, function: Callable[..., Any], c10d: Any, args: Any, kwargs: Any) -> None:
        self.name = function.__name__
        self.c10d = c10d
        self._function, self._args, self._kwargs = function, args, kwargs
        self._bound = inspect.signature(function).bind(*args, **kwargs)
        self._bound.apply_defaults()
        self.begun = False
        self.ended = False
        self.result: Any = None

    def argument(self, name: str) -> Any:
        """The value of a parameter, or None."""
        return self._bound.arguments.get(name)

    def asked_ms(self, backend: Any) -> int | None:
        """The limit that was asked for, torch's default when none was; None when unknown."""
        asked = self.argument("timeout")
        if asked is None:
            default = getattr(self.c10d, "_get_default_timeout", None)
            asked = None if default is None else default(str(backend or "").lower())
        return groups.milliseconds(asked) if isinstance(asked, timedelta) else None

    def run(self) -> Any:
        """Call it as it was called."""
        return self._run(*self._args, **self._kwargs)

    def run_with(self, limit_ms: int) -> Any:
        """Call it with another limit."""
        if self.asked_ms(self.argument("backend")) == limit_ms:
            return self.run()
        self._bound.arguments["timeout"] = timedelta(milliseconds=limit_ms)
        return self._run(*self._bound.args, **self._bound.kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        self.begun = True
        self.result = self._function(*args, **kwargs)
        self.ended = True
        return self.result


class _Wrapped:
    """A function of torch with ours around it; trouble of ours leaves torch's as it was."""

    def __init__(
        self, function: Callable[..., Any], around: Callable[[WrappedCall], Any], c10d: Any
    ) -> None:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            call = None
            try:
                call = WrappedCall(function, c10d, args, kwargs)
                return around(call)
            except Exception as error:
                if call is not None and call.ended:
                    return call.result
                if call is not None and call.begun:
                    raise error.with_traceback(_without_ours(error.__traceback__))  # noqa: B904
            return function(*args, **kwargs)

        self.function = wrapped


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback as it would be without our frames: users read it."""
    theirs = []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            theirs.append(trace)
        trace = trace.tb_next
    rest = None
    for link in reversed(theirs):
        rest = types.TracebackType(rest, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return rest
