"""Start-up that cannot complete, and what only looks like it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import by, incident, source, timeout
from support.crashes import raised, stopped, store, work
from support.phase_builders import bar
from support.steps import world
from unhang.model.causes import Cause
from unhang.model.events import Event, ExceptionKind, Frame, StoreProblem, WorldSeen
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.rule import Rule
from unhang.rules.config import (
    clients_missing,
    group_not_initialised,
    owner_late,
    port_in_use,
    ranks_misnumbered,
    store_unreachable,
)

TAKEN = store(StoreProblem.PORT_IN_USE, port=29500, line=5)
UNREACHED = store(StoreProblem.CONNECT_TIMED_OUT, host="node1", port=29500, line=5)
SHORT = store(StoreProblem.CLIENTS_MISSING, joined=3, expected=4, line=5)
LATE = store(StoreProblem.UNIQUE_ID_TIMED_OUT, waiter=5, owner=0, line=5)
BARE = store(StoreProblem.BAD_CONFIGURATION, rank=2, line=5)

FIRES: list[tuple[Rule, Event, Strength]] = [
    (port_in_use.check, TAKEN, Strength.PROVES),
    (store_unreachable.check, UNREACHED, Strength.SUPPORTS),
    (clients_missing.check, SHORT, Strength.SUPPORTS),
    (owner_late.check, LATE, Strength.SUPPORTS),
    (group_not_initialised.check, BARE, Strength.SUPPORTS),
]


def cause_of(rule: Rule, *events: Event) -> Finding:
    (finding,) = (f for f in rule.check(incident(*events)) if f.cause is not None)
    return finding


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_it_fires(rule: Rule, fault: Event, strength: Strength) -> None:
    finding = cause_of(rule, fault)
    assert (finding.cause, finding.strength) == (Cause.RENDEZVOUS, strength)


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_agents_that_wait_at_the_end_are_past_the_start(
    rule: Rule, fault: Event, strength: Strength
) -> None:
    wait = Frame(file="torch/distributed/elastic/agent/server/api.py", line=9, function="f")
    told = replace(raised(kind=ExceptionKind.COLLECTIVE, line=5), frames=(wait,))
    assert cause_of(rule, told, fault).strength is strength
    leaving = replace(told, frames=(replace(wait, function="_exit_barrier"),))
    assert [f for f in rule.check(incident(leaving, fault)) if f.cause is not None] == []


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_after_a_failure_it_is_an_echo(rule: Rule, fault: Event, strength: Strength) -> None:
    finding = cause_of(rule, raised(3, line=1), fault)
    assert finding.strength is Strength.HINTS
    assert finding.explains == frozenset()


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_after_a_stop_it_is_an_echo(rule: Rule, fault: Event, strength: Strength) -> None:
    assert cause_of(rule, stopped(line=1), fault).strength is Strength.HINTS


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_after_time_outs_start_up_had_succeeded(
    rule: Rule, fault: Event, strength: Strength
) -> None:
    assert cause_of(rule, timeout(1, global_rank=1, line=1), fault).strength is Strength.HINTS


@pytest.mark.parametrize(("rule", "fault", "strength"), FIRES)
def test_normal_attempts_say_nothing(rule: Rule, fault: Event, strength: Strength) -> None:
    normal = store(StoreProblem.CONNECT_REFUSED), store(StoreProblem.PEER_CLOSED, line=2)
    assert list(rule.check(incident(*normal))) == []


@pytest.mark.parametrize(
    ("rule", "fault"), [(store_unreachable.check, UNREACHED), (owner_late.check, LATE)]
)
def test_after_steps_of_training_it_is_no_start_up(rule: Rule, fault: Event) -> None:
    assert cause_of(rule, bar(Phase.TRAIN, line=1), fault).strength is Strength.HINTS
    assert cause_of(rule, bar(Phase.TRAIN, done=0, line=1), fault).strength is not Strength.HINTS
    assert cause_of(rule, fault, bar(Phase.TRAIN, line=9)).strength is not Strength.HINTS


def test_a_store_that_many_steps_followed_was_reached() -> None:
    steps = [bar(Phase.TRAIN, done=n, line=9 + n) for n in range(1, 9)]
    assert list(store_unreachable.check(incident(UNREACHED, *steps))) == []


def test_the_owner_of_the_key_is_late_not_the_one_that_gives_up() -> None:
    findings = list(owner_late.check(incident(LATE)))
    assert {f.cause for f in findings} == {None, Cause.RENDEZVOUS}
    assert all(f.culprits == {0} for f in findings)


def test_a_failure_in_another_log_without_times_may_have_been_first() -> None:
    elsewhere = raised(3, artifact="rank3.log", line=99)
    assert cause_of(clients_missing.check, SHORT, elsewhere).strength is Strength.HINTS


def test_a_system_port_is_a_leaked_variable() -> None:
    finding = cause_of(port_in_use.check, store(StoreProblem.PORT_IN_USE, port=22))
    assert finding.claim.key == "CFG001.claim_system"


def waiting(line: int) -> Event:
    return store(StoreProblem.BARRIER_WAITING, joined=1, expected=4, line=line)


def refused(line: int) -> Event:
    return store(StoreProblem.CONNECT_REFUSED, host="node1", port=29500, line=line)


def test_a_barrier_that_waits_until_the_log_ends() -> None:
    finding = cause_of(clients_missing.check, *(waiting(n) for n in range(1, 6)))
    assert finding.strength is Strength.SUPPORTS


def test_a_barrier_that_waited_and_passed() -> None:
    waits = [waiting(n) for n in range(1, 6)]
    assert list(clients_missing.check(incident(*waits, work(1, line=9)))) == []


def test_attempts_that_are_refused_until_the_log_ends() -> None:
    finding = cause_of(store_unreachable.check, *(refused(n) for n in range(1, 12)))
    assert finding.strength is Strength.SUPPORTS


def test_attempts_that_are_refused_until_rank_0_is_there() -> None:
    attempts = [refused(n) for n in range(1, 12)]
    assert list(store_unreachable.check(incident(*attempts, work(1, line=19)))) == []


def announced(rank: int, size: int, line: int) -> WorldSeen:
    return WorldSeen(source=source(line), origin=by(), rank=Rank(rank), world_size=size)


def test_two_nodes_with_one_number() -> None:
    twice = [announced(r, 8, 1 + n) for n, r in enumerate([0, 1, 2, 3, 0, 1, 2, 3])]
    (finding,) = ranks_misnumbered.check(incident(*twice))
    assert (finding.cause, finding.strength) == (Cause.RENDEZVOUS, Strength.SUPPORTS)
    assert finding.culprits == frozenset()


def test_a_node_that_was_never_started() -> None:
    (finding,) = ranks_misnumbered.check(incident(*(announced(r, 8, 1 + r) for r in range(4))))
    assert finding.culprits == {4, 5, 6, 7}


def test_announcements_of_one_node_of_a_working_job() -> None:
    events = [announced(r, 8, 1 + r) for r in range(4)]
    assert list(ranks_misnumbered.check(incident(*events, work(1, line=9)))) == []


def test_announcements_that_add_up() -> None:
    events = [announced(r, 4, 1 + r) for r in range(4)]
    assert list(ranks_misnumbered.check(incident(*events))) == []


def test_who_counts_clients_alone_is_rank_0() -> None:
    """The others did not come, unless it is an agent that counts agents."""
    alone = store(StoreProblem.CLIENTS_MISSING, joined=1, expected=4, line=5)
    assert cause_of(clients_missing.check, alone).culprits == frozenset()
    told = replace(
        raised(kind=ExceptionKind.COLLECTIVE, line=5),
        frames=(
            Frame(file="torch/distributed/rendezvous.py", line=9, function="_create_c10d_store"),
        ),
    )
    events: tuple[Event, ...] = (world(4), told, alone)
    assert cause_of(clients_missing.check, *events).culprits == {1, 2, 3}
    more = replace(alone, joined=2)
    assert cause_of(clients_missing.check, world(4), told, more).culprits == frozenset()


def test_who_waits_at_the_barrier_came() -> None:
    """The others are missing where as many wait as were counted."""
    waits = [
        store(StoreProblem.BARRIER_TIMED_OUT, waiter=r, joined=2, expected=3, line=5 + r)
        for r in (0, 2)
    ]
    assert cause_of(clients_missing.check, world(3), *waits).culprits == {1}
    assert cause_of(clients_missing.check, world(3), waits[0]).culprits == frozenset()
