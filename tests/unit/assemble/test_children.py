"""What a launcher does with its processes tells who they are, where it is the only one."""

from __future__ import annotations

from dataclasses import replace

from support.builders import by, source, timeout
from unhang.assemble.children import find_children, own_errors
from unhang.model.events import (
    ClosingSignal,
    Event,
    ExceptionKind,
    ProcessEnded,
    PythonException,
    Reporter,
)
from unhang.model.ids import LocalRank, Rank


def failed(local: int, pid: int, *, signal: int | None = None) -> ProcessEnded:
    return ProcessEnded(
        source=source(20 + local),
        origin=by(),
        reporter=Reporter.ELASTIC,
        local_rank=LocalRank(local),
        pid=pid,
        signal=signal,
        exit_code=None if signal else 1,
    )


def closed(pid: int) -> ClosingSignal:
    return ClosingSignal(source=source(19), origin=by(), pid=pid, signal=15)


def nameless(line: int = 5, name: str = "ValueError") -> PythonException:
    return PythonException(
        source=source(line), origin=by(), kind=ExceptionKind.USER, exception=name, message="bad"
    )


def signed(*events: Event) -> list[Rank | None]:
    told = own_errors(events, find_children(events))
    return [e.origin.rank for e in told if isinstance(e, PythonException)]


def test_all_but_one_are_named() -> None:
    children = find_children([closed(50), failed(1, 51), failed(2, 52), failed(3, 53)])
    assert children is not None
    assert (children.count, children.ranks[50]) == (4, 0)


def test_an_error_that_names_nobody_is_of_the_one_that_failed() -> None:
    assert signed(nameless(), closed(50), failed(1, 51)) == [1]


def test_several_errors_or_names_are_nobodys() -> None:
    assert signed(nameless(), nameless(6, "KeyError"), closed(50), failed(1, 51)) == [None, None]
    other = replace(nameless(6), origin=by(0))
    assert signed(nameless(), other, closed(50), failed(1, 51)) == [None, 0]


def test_an_abort_after_a_timeout_is_a_victims_end() -> None:
    assert signed(nameless(), timeout(1), closed(50), failed(1, 51, signal=6)) == [None]


def test_several_agents_tell_nothing() -> None:
    assert find_children([closed(50), failed(1, 51), failed(1, 71)]) is None
    table = replace(failed(1, 51), reporter=Reporter.ELASTIC_TABLE, rank=Rank(9), host="b")
    assert find_children([closed(50), table]) is None
