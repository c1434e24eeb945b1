"""The dead-man's switch counts silence, and nothing else."""

from __future__ import annotations

from unhang.probe.deadman import InFlight, Switch
from unhang.probe.recorder import GroupProgress
from unhang.probe.unchanged_since import UnchangedSince


def silence(switch: Switch, begin_s: int, end_s: int) -> list[bool]:
    return [switch.tripped(float(at)) for at in range(begin_s, end_s)]


def test_it_trips_after_silence_and_is_set_again() -> None:
    switch = Switch(5.0)
    switch.saw(1, judges=True)
    assert not any(silence(switch, 0, 6))
    assert switch.tripped(6.0)
    switch.saw(2, judges=True)
    assert not switch.tripped(7.0)


def test_a_beat_that_stands_still_is_silence() -> None:
    switch = Switch(3.0)
    for at in range(4):
        switch.saw(1, judges=True)
        assert not switch.tripped(float(at))
    switch.saw(1, judges=True)
    assert switch.tripped(4.0)


def test_so_is_an_agent_without_a_judge() -> None:
    switch = Switch(3.0)
    for at in range(5):
        switch.saw(at, judges=False)
        tripped = switch.tripped(float(at))
    assert tripped


def test_a_stopped_process_and_a_jumping_clock_are_not() -> None:
    switch = Switch(5.0)
    switch.saw(1, judges=True)
    assert not switch.tripped(0.0)
    assert not switch.tripped(3600.0)  # SIGSTOP, or a laptop that slept
    assert not switch.tripped(10.0)
    switch.saw(2, judges=True)
    assert not switch.tripped(11.0)


def test_an_operation_is_in_flight_since_the_last_one_ended() -> None:
    flights = InFlight()
    assert flights.see({"0": GroupProgress(3, None, 3)}, 1.0) == {}
    assert flights.see({"0": GroupProgress(4, None, 3)}, 2.0) == {"0": (3, 2.0)}
    # More are issued behind it: it is the same one that is in flight.
    assert flights.see({"0": GroupProgress(9, None, 3)}, 5.0) == {"0": (3, 2.0)}
    assert flights.see({"0": GroupProgress(9, None, 4)}, 6.0) == {"0": (4, 6.0)}
    assert flights.see({"0": GroupProgress(9, None, None)}, 7.0) == {}


def test_since_when_something_is_as_it_is() -> None:
    since = UnchangedSince()
    assert since.see(None, 1.0) == 1.0
    assert since.see(None, 2.0) == 1.0
    assert since.see("a", 3.0) == 3.0
    assert since.see("a", 4.0) == 3.0
