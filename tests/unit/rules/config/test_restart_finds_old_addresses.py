"""Restarts whose ranks look for each other where nobody is any more."""

from __future__ import annotations

from dataclasses import replace

from support.builders import by, ended, incident, source
from support.crashes import raised
from unhang.model.causes import Cause
from unhang.model.events import Event, GlooFault, GlooProblem, SettingSeen, VersionSeen
from unhang.model.finding import Finding, Strength
from unhang.rules.config.restart_finds_old_addresses import check
from unhang.rules.network.gloo_mesh import check as check_mesh

REFUSED = GlooFault(source=source(5), origin=by(), problem=GlooProblem.LOOPBACK, remote="127.0.0.1")


def findings(*events: Event, connected: bool = True) -> list[Finding]:
    return list(check(replace(incident(*events), connected_before=connected)))


def test_the_first_start_had_connected() -> None:
    (finding,) = findings(REFUSED)
    assert (finding.cause, finding.strength) == (Cause.RENDEZVOUS, Strength.SUPPORTS)
    assert Cause.NET_INTERFACE in finding.explains


def test_no_start_has_connected() -> None:
    assert findings(REFUSED, connected=False) == []


def test_each_start_has_a_store_of_its_own() -> None:
    name = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
    own = SettingSeen(source=source(1), origin=by(), name=name, value="1", basis="environment")
    assert findings(own, REFUSED) == []


def test_releases_before_stores_were_shared() -> None:
    old = VersionSeen(source=source(1), origin=by(), component="torch", version="2.4.1", basis="x")
    assert findings(old, REFUSED) == []


def test_a_rank_that_failed_first() -> None:
    (finding,) = findings(raised(1, "ValueError: bad sample", line=1), REFUSED)
    assert finding.strength is Strength.HINTS


def test_it_was_not_the_interface_then() -> None:
    (mesh,) = check_mesh(replace(incident(REFUSED), connected_before=True))
    assert mesh.strength is Strength.HINTS
    (mesh,) = check_mesh(incident(REFUSED))
    assert mesh.strength is Strength.PROVES


def test_a_process_that_ended_is_no_failure_to_connect() -> None:
    assert findings(ended(1, exit_code=1)) == []
