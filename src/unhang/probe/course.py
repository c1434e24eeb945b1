"""The last calls of torch's collectives that the program issued, and whether the newest fit in.

No record of torch tells of the sends and receives of gloo, nor who the source of a broadcast was.
Programs repeat themselves: of two ranks that wait for each other, the one whose call does not
follow on what it always followed on is most likely the one that went astray.

Every function of `distributed_c10d` asks whether the process is in the group before it issues
anything. That question is where we listen: the functions themselves, which programs compare and
import by name, stay torch's own.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    Move = tuple[object, ...]

_ASKED = "_rank_not_in_group"
_SIDES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("isend", "reduce", "gather", "gather_object"), ("dst", "group_dst")),
    **dict.fromkeys(("send", "send_object_list"), ("dst", "group_dst")),
    **dict.fromkeys(("irecv", "recv", "recv_object_list"), ("src", "group_src")),
    **dict.fromkeys(("broadcast", "broadcast_object_list"), ("src", "group_src")),
    **dict.fromkeys(("scatter", "scatter_object_list"), ("src", "group_src")),
}
"""The parameters that name another rank, of the functions that have them."""
_ALIKE = frozenset({"all_reduce", "all_gather", "all_to_all", "reduce_scatter", "barrier"})
_ALIKE |= {"all_gather_single", "reduce_scatter_single", "all_to_all_single", "all_gather_object"}
_ALIKE |= {"all_gather_into_tensor", "reduce_scatter_tensor", "monitored_barrier"}
_SIZED = frozenset({"all_reduce", "broadcast", "reduce"})
"""Functions whose `tensor` has the same size and type on all ranks."""
_PAIRWISE = frozenset({"isend", "irecv", "send", "recv", "send_object_list", "recv_object_list"})
_LOGGER = "c10d_logger.py"
_KEPT = 384
_LONGEST = 32
"""Calls that are compared, from the newest back; more would cost milliseconds."""
_MOST_MOVES = 4_096
"""Different calls that are told apart: a program that makes more has no habits to compare."""
_MOST_PER_S, _WINDOW_S, _REST_S = 140, 10.0, 60.0
"""A call costs 1.7 us. Where more come in a second, in the mean, the program is left alone for a
while, but for one call from one beat to the next, which shows that there are any: all of them would
cost more than a fortieth of a percent."""
_MOST_THREADS = 64
_MAIN = threading.main_thread().ident
_TIMES = 3
"""What followed so often, and nothing else ever, was due."""
_LAST = 8
"""Calls before the end of which one may have been the wrong one, ..."""
_TRIED = 32
"""... and before these such by which is tried whether the program repeats itself at all: ..."""
_SELDOM = 1
"""... of them no more may be another one than was due."""


class _Thread:
    """The last calls of one thread, and how many there were."""

    __slots__ = ("count", "moves")

    def __init__(self) -> None:
        self.moves: deque[int] = deque(maxlen=_KEPT)
        self.count = 0


class Course:
    """Remembers the last calls of each thread."""

    def __init__(self) -> None:
        self._c10d: Any = None
        self._asked: Any = None  # torch's own function, and ours in its place
        self._noted: Any = None
        self._glimpse: Any = None  # ours that hears one call, and takes itself away
        self._glimpsed = 0
        self._file = ""
        self._tensor: Any = None  # torch's class
        self._listens = False
        self._since_s = 0.0  # when the present window or rest began, and the count then
        self._issued_before = 0
        self._numbers: dict[Move, int] = {}
        self._names: dict[int, str] = {}
        self._next = itertools.count()
        self._threads: dict[int, _Thread] = {}
        self._seen = 0  # calls at the last look, and those that were worked out
        self._fitted = 0
        self._told: dict[str, Any] | None = None
        self._show: Callable[[int, bytes], None] | None = None
        self._shown = 0  # calls of all ranks that the main thread has issued
        self._texts: dict[tuple[int, Any, Any], bytes] = {}

    def show_last(self, show: Callable[[int, bytes], None] | None) -> None:
        """Keep the last call of the main thread where it outlives the process; None = no longer.

        It has its number among the calls that all ranks issue alike, and its text.
        """
        self._show = show

    def listen(self, c10d: Any) -> None:
        """Hear what calls of the module ask; one that asks in another way is left alone."""
        asked = getattr(c10d, _ASKED, None)
        if asked is None or list(inspect.signature(asked).parameters) != ["group"]:
            return
        self._c10d, self._asked = c10d, asked
        self._file = c10d.__file__
        self._noted = self._wrapped(asked, self._note)
        self._glimpse = self._wrapped(asked, self._count_one)
        self._resume(0.0)

    def pace(self, now_s: float) -> None:
        """Listen no longer, for a while, where so many calls come that it would cost too much."""
        if self._c10d is None:
            return
        if not self._listens:
            if now_s - self._since_s >= _REST_S:
                self._resume(now_s)
            else:
                self._put(self._glimpse, instead_of=self._asked)
        elif now_s - self._since_s >= _WINDOW_S:
            self._since_s, self._issued_before = now_s, self.issued
        elif self.issued - self._issued_before > _WINDOW_S * _MOST_PER_S:
            self._listens, self._since_s = False, now_s
            self._put(self._asked, instead_of=self._noted)
            self._glimpsed = self.issued  # it never falls
            self._threads.clear()  # what comes until we listen again is missing
            if self._show is not None:
                self._show(0, b"")
                self._show = None

    def _resume(self, now_s: float) -> None:
        self._listens, self._since_s, self._issued_before = True, now_s, self.issued
        self._put(self._asked, instead_of=self._glimpse)
        self._put(self._noted, instead_of=self._asked)

    def _put(self, function: Any, *, instead_of: Any) -> None:
        """Have torch ask another function, unless somebody else has put one there."""
        if getattr(self._c10d, _ASKED) is instead_of:
            setattr(self._c10d, _ASKED, function)

    def _count_one(self, _frame: FrameType, _group: Any) -> None:
        """Count a call, and hear no further ones."""
        self._put(self._asked, instead_of=self._glimpse)
        self._glimpsed += 1

    def _wrapped(
        self, asked: Callable[[Any], bool], note: Callable[[FrameType, Any], None]
    ) -> Callable[[Any], bool]:
        """The question as torch asks it, noting who asks."""
        look = sys._getframe
        is_compiling: Any = None

        @functools.wraps(asked)
        def noted(group: Any) -> bool:
            nonlocal is_compiling
            if is_compiling is None:  # that module is loaded after us, and an old torch has none
                self._tensor = sys.modules["torch"].Tensor
                compiler = getattr(sys.modules["torch"], "compiler", None)
                is_compiling = getattr(compiler, "is_compiling", bool)
            # A tracer knows the answer as a constant, and follows us no further.
            if not is_compiling():
                try:
                    note(look(1), group)
                except Exception:
                    return asked(group)
            return asked(group)

        return noted

    def _note(self, frame: FrameType, group: Any) -> None:
        """Keep the call whose frame this is, if it is one of torch's, and where it was issued."""
        op = frame.f_code.co_name
        sides = _SIDES.get(op)
        if sides is None and op not in _ALIKE:
            return
        peer = None
        if sides is not None:
            values = frame.f_locals
            peer = values.get(sides[0])
            peer = values.get(sides[1]) if peer is None else peer
        file, outer = self._file, frame.f_back
        while outer is not None:
            code = outer.f_code
            name = code.co_filename
            if name != file and not name.endswith(_LOGGER):
                break
            outer = outer.f_back
        if outer is None:
            return
        move = (op, peer, None if group is None else id(group), id(code), outer.f_lineno)
        number = self._numbers.get(move)
        if number is None:
            if len(self._names) >= _MOST_MOVES:
                return
            # No lock, which a fork might leave held: each of these steps is whole by itself.
            number = self._numbers.setdefault(move, next(self._next))
            named = f"({sides[0]}={peer})" if sides is not None and isinstance(peer, int) else ""
            at = f"{code.co_name} ({os.path.basename(name)}):{outer.f_lineno}"
            self._names[number] = f"{op}{named} in {at}"
        ident = threading.get_ident()
        if self._show is not None and ident == _MAIN and op not in _PAIRWISE:
            self._shown += 1
            self._show(self._shown, self._last(number, frame, op))
        thread = self._threads.get(ident)
        if thread is None:
            if len(self._threads) >= _MOST_THREADS:
                return
            thread = self._threads[ident] = _Thread()
        thread.moves.append(number)
        thread.count += 1

    def _last(self, number: int, frame: FrameType, op: str) -> bytes:
        key: tuple[int, Any, Any] = (number, None, None)
        if op in _SIZED:
            tensor: Any = frame.f_locals.get("tensor")
            if type(tensor) is self._tensor:  # a subclass may have its own opinion
                key = (number, tensor.numel(), tensor.dtype)
        return self._texts.get(key) or self._text(*key)

    def _text(self, number: int, size: int | None, kind: object) -> bytes:
        """A call in words, with the size of its tensor where that must be the same on all ranks."""
        name = self._names[number]
        if size is not None:
            call, _, at = name.partition(" in ")
            name = f"{call} of {size} {str(kind).rpartition('.')[2]} in {at}"
        text = name.encode("utf-8", "replace")
        if len(self._texts) < _MOST_MOVES:
            self._texts[number, size, kind] = text
        return text

    @property
    def issued(self) -> int:
        """How many calls all threads have issued, as far as they were heard."""
        return self._glimpsed + sum(thread.count for thread in list(self._threads.values()))

    def told(self) -> dict[str, Any] | None:
        """How the last calls of the main thread fit in with those before; None = nothing known.

        It is worked out once the thread has issued nothing more from one look to the next.
        """
        thread = self._threads.get(threading.main_thread().ident or 0)
        count = 0 if thread is None else thread.count
        if count != self._seen:
            self._seen, self._told = count, None
        elif thread is not None and count != self._fitted:
            self._fitted, self._told = count, self._fit(list(thread.moves))
        return self._told

    def _fit(self, moves: list[int]) -> dict[str, Any] | None:
        """Whether the last calls are those that were due, and else the first that is not.

        None where nothing was due, or too often something else came than what was.
        """
        text = "".join(map(chr, moves))
        last = range(len(text) - 1, max(0, len(text) - 1 - _LAST), -1)
        odd = [(end, due) for end in last if (due := _due(text[:end])) not in {None, text[end]}]
        end, due = odd[-1] if odd else (len(text) - 1, _due(text[:-1]))
        if due is None:
            return None
        tried = range(max(1, len(text) - _LAST - _TRIED), len(text) - _LAST)
        others = sum(_due(text[:place]) not in {None, text[place]} for place in tried)
        if others > _SELDOM:
            return None
        move, before = self._names[moves[end]], self._names[ord(due)]
        return {"fits": not odd, "move": move, "due": before}


def _due(past: str) -> str | None:
    """What has always followed the calls that came last, as many of these as it can be told by."""
    least, most, followers = 0, min(_LONGEST, len(past) - 1), [""]
    length = most  # where a program repeats itself, that is long enough
    while least < most:
        found = _followers(past, past[-length:])
        if len(found) >= _TIMES:
            least, followers = length, found
        else:
            most = length - 1
        length = (least + most + 1) // 2
    return followers[0] if least and len(set(followers)) == 1 else None


def _followers(past: str, last: str) -> list[str]:
    """What came after each earlier time at which the calls were these."""
    found, at = [], past.find(last)
    while 0 <= at < len(past) - len(last):
        found.append(past[at + len(last)])
        at = past.find(last, at + 1)
    return found


COURSE = Course()
"""Of this process."""
