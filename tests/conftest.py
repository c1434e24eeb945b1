"""Pure tests stay pure: who starts a process, opens a socket or sleeps carries the mark `process`.

`make unit` (`pytest tests/unit src -m 'not process'`) is the suite to run after every change. It
stays that fast only while this holds, so a test that breaks it fails there and says why.

Property tests draw the same inputs in every run, so that a red run can be repeated;
`pytest --hypothesis-profile random` draws others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import SupportsIndex

import pytest
from hypothesis import HealthCheck, settings

_COSTLY = frozenset(
    {
        *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"),
        *("socket.__new__", "socket.bind", "socket.connect"),
    }
)
"""Audit events of the interpreter."""
_NOTICED_S = 0.002
"""Shorter sleeps are a yield."""

_seen: list[str] | None = None
"""What the running test did; None while no pure test runs."""


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _seen is not None and event in _COSTLY:
        _seen.append(f"{event}{args[:1]!r}"[:200])


_sleep = time.sleep


def _noticed_sleep(seconds: SupportsIndex | float, /) -> None:
    if _seen is not None and float(seconds) >= _NOTICED_S:
        _seen.append(f"time.sleep({seconds})")
    _sleep(seconds)


def pytest_configure() -> None:
    """Listen from the beginning; an audit hook cannot be taken away again."""
    sys.addaudithook(_audit)
    time.sleep = _noticed_sleep


# A busy machine is no fault of what is tested.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("random", _PATIENT, derandomize=False)
settings.register_profile("repeatable", _PATIENT, derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` looks for tests that start jobs in one folder: to read all takes long."""
    for item in items:
        if item.get_closest_marker("integration") and "integration" not in item.path.parts:
            raise pytest.UsageError(f"{item.nodeid} starts jobs: it belongs in tests/integration")


def _is_pure(item: pytest.Item) -> bool:
    without = "not process" in item.config.option.markexpr
    return without and item.get_closest_marker("process") is None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _seen  # noqa: PLW0603 - the audit hook has no other way
    _seen = [] if _is_pure(item) else None
    try:
        return (yield)
    finally:
        _seen = None


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    result = yield
    if _seen:
        pytest.fail(
            f"{item.name} has no mark `process`, but it did: {'; '.join(_seen[:3])}", pytrace=False
        )
    return result
