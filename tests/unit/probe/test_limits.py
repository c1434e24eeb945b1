"""Limits of process groups: whose holds when, and wrappers that change nothing else.

The module `distributed_c10d` here is made up; real groups are in tests/integration/test_probe.py.
"""

from __future__ import annotations

import traceback
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from unhang.probe.limits import GroupLimits

MINUTE = timedelta(minutes=1)


class MadeUpOptions:
    def __init__(self, limit: timedelta) -> None:
        self._timeout = limit


class MadeUpGroup:
    """A group that is its own back end, as in torch 1.x."""

    def __init__(self, limit: timedelta) -> None:
        self.options = MadeUpOptions(limit)

    def size(self) -> int:
        return 2

    def _set_default_timeout(self, limit: timedelta) -> None:
        self.options._timeout = limit


def made_up_c10d() -> Any:
    module = SimpleNamespace(_pg_names={}, calls=[])

    def init_process_group(backend: str = "gloo", timeout: timedelta | None = None) -> None:
        module.calls.append(timeout)
        if backend == "broken":
            raise ConnectionError("refused")
        module._new_process_group_helper("0", timeout=timeout)

    def _new_process_group_helper(name: str, timeout: timedelta = 30 * MINUTE) -> MadeUpGroup:
        group = MadeUpGroup(timeout)
        module._pg_names[group] = name
        return group

    module.init_process_group = init_process_group
    module._new_process_group_helper = _new_process_group_helper
    module._get_default_timeout = lambda backend: 10 * MINUTE if backend == "nccl" else 30 * MINUTE
    return module


def governed(mode: str, c10d: Any) -> GroupLimits:
    limits = GroupLimits(mode, 3_600_000)
    limits.wrap(c10d, on_birth=lambda: None)
    return limits


def test_a_group_is_born_with_the_long_limit_and_its_own_is_remembered() -> None:
    c10d = made_up_c10d()
    limits = governed("judge", c10d)
    c10d.init_process_group(timeout=MINUTE)
    group = c10d._new_process_group_helper("1")
    assert group.options._timeout == timedelta(hours=1)
    assert limits.asked == {"0": 60_000, "1": 1_800_000}
    assert limits.governed == {"0": 3_600_000, "1": 3_600_000}


def test_the_default_of_a_back_end_is_what_was_asked_for() -> None:
    c10d = made_up_c10d()
    limits = governed("judge", c10d)
    c10d.init_process_group("nccl")
    assert limits.asked == {"0": 600_000}


def test_nothing_changes_where_limits_are_kept() -> None:
    c10d = made_up_c10d()
    limits = governed("keep", c10d)
    c10d.init_process_group(timeout=MINUTE)
    limits.apply(c10d)
    assert c10d.calls == [MINUTE]
    assert limits.current == {"0": 60_000}
    assert limits.governed == {}


def test_the_programs_limits_come_back_with_the_silence_of_the_judge() -> None:
    c10d = made_up_c10d()
    limits = governed("judge", c10d)
    c10d.init_process_group(timeout=MINUTE)
    limits.judge_gone = True
    limits.apply(c10d)
    assert limits.current == {"0": 60_000}
    limits.judge_gone = False
    limits.apply(c10d)
    assert limits.current == {"0": 3_600_000}


def test_a_fixed_limit_needs_no_judge_and_may_be_shorter() -> None:
    limits = GroupLimits("fixed", 3_600_000)
    limits.judge_gone = True
    assert limits.instead_of(60_000) == 3_600_000
    assert limits.instead_of(7_200_000) == 3_600_000
    assert GroupLimits("judge", 3_600_000).instead_of(7_200_000) == 7_200_000


def test_a_limit_that_the_program_sets_later_is_remembered_and_governed() -> None:
    c10d = made_up_c10d()
    limits = governed("judge", c10d)
    c10d.init_process_group(timeout=MINUTE)
    (group,) = c10d._pg_names
    group._set_default_timeout(2 * MINUTE)
    limits.apply(c10d)
    assert limits.asked == {"0": 120_000}
    assert limits.current == {"0": 3_600_000}


def test_an_error_of_torch_passes_and_the_call_is_made_once() -> None:
    c10d = made_up_c10d()
    governed("judge", c10d)
    with pytest.raises(ConnectionError, match="refused"):
        c10d.init_process_group("broken", timeout=MINUTE)
    assert len(c10d.calls) == 1
    with pytest.raises(TypeError):
        c10d.init_process_group(no_such_argument=1)


def test_one_frame_of_ours_at_most_stands_in_the_users_traceback() -> None:
    c10d = made_up_c10d()
    governed("judge", c10d)
    with pytest.raises(ConnectionError) as caught:
        c10d.init_process_group("broken", timeout=MINUTE)
    functions = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert functions[1:] == ["wrapped", "init_process_group"]


def test_an_error_of_ours_does_not() -> None:
    def fail() -> None:
        raise RuntimeError

    c10d = made_up_c10d()
    GroupLimits("judge", 3_600_000).wrap(c10d, on_birth=fail)
    c10d.init_process_group(timeout=MINUTE)
    assert c10d.calls == [MINUTE]
