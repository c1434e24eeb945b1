"""DEV205: what a check said of a host that the job's own errors name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.job_text import judge_text
from unhang import diagnose
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.model.preflight import CheckReport, Stage, Status, Suspect
from unhang.model.provenance import Message
from unhang.reporters.check import render_check
from unhang.rules.device.check_found_fault import check as CHECK_FOUND_FAULT

LOSSY = Message(key="stage.link_lossy", values={"percent": 3.1})
WARN = (
    "{at} {host}:100:140 [0] misc/socket.cc:615 NCCL WARN socketPollConnect: connect to"
    " {peer}<40211> returned Connection timed out, exceeded error retry count after 35 attempts"
)


def nics(host: str, address: str) -> Stage:
    return Stage(
        name="nics",
        status=Status.PASS,
        host=host,
        message=Message(key="fact.nics", values={"nccl": "eth0", "gloo": "eth0"}),
        measured={"interfaces": [{"name": "eth0", "address": address, "up": True}]},
    )


def report(*suspects: Suspect, at: str = "2026-11-21T00:30:00+00:00") -> str:
    """A check of three hosts, as `--format json` prints it."""
    hosts = ("node0", "node1", "node2")
    stages = tuple(nics(host, f"10.0.0.{5 + i}") for i, host in enumerate(hosts))
    verdict = Message(key="check.fail", values={"hosts": 3, "failures": 1, "warnings": 0})
    found = CheckReport(
        hosts=hosts, world=3, at=at, verdict=verdict, stages=stages, suspects=suspects
    )
    return render_check(found, "json")


def lossy(host: str = "", link: tuple[str, ...] = ()) -> Suspect:
    return Suspect(stage="pairs", host=host, link=link, why=LOSSY)


def failed(peer: str = "10.0.0.7", at: str = "2026-11-21T01:30:00Z", host: str = "node0") -> str:
    return WARN.format(peer=peer, at=at, host=host)


def test_the_host_that_failed_had_lost_packets_an_hour_before() -> None:
    told, finding = judge_text(
        CHECK_FOUND_FAULT, failed(), **{"check.json": report(lossy("node2"))}
    )
    assert (finding.cause, finding.strength) == (Cause.BANDWIDTH_LOW, Strength.SUPPORTS)
    assert finding.culprit_hosts == {"node2"}
    assert told.urgent
    assert told.claim.key == "DEV205.claim_ago"
    assert told.claim.values["ago"] == 3600


@pytest.mark.parametrize("indent", [None, 2])
def test_the_verdict_tells_it_whatever_its_cause_is(indent: int | None, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(failed() + "\n" + failed(host="node1") + "\n")
    data = json.loads(report(lossy("node2")))
    (tmp_path / "check.json").write_text(json.dumps(data, indent=indent))
    verdict = diagnose(str(tmp_path))
    assert verdict.cause is Cause.NET_INTERFACE
    assert [finding.rule for finding in verdict.warnings] == ["DEV205"]


@pytest.mark.parametrize(
    ("line", "suspect"),
    [
        (failed("10.0.0.6"), lossy("node2")),  # another host
        (failed(at="2026-11-23T01:30:00Z"), lossy("node2")),  # two days later
        (failed(at="2026-11-20T01:30:00Z"), lossy("node2")),  # the job came first
        (failed("10.0.0.6"), lossy(link=("node0", "node2"))),  # another link of the same host
    ],
)
def test_what_no_error_names_is_a_hint(line: str, suspect: Suspect) -> None:
    (finding,) = judge_text(CHECK_FOUND_FAULT, line, **{"check.json": report(suspect)})
    assert (finding.strength, finding.culprit_hosts) == (Strength.HINTS, frozenset())


@pytest.mark.parametrize(
    ("at", "strength"),
    [
        ("2026-11-21 01:30:00", Strength.SUPPORTS),  # without a zone: any
        ("2026-11-24 01:30:00", Strength.HINTS),  # in no zone is that within a day
        ("", Strength.HINTS),  # nobody knows when
    ],
)
def test_the_time_of_the_error_decides_whether_the_check_speaks_of_it(
    at: str, strength: Strength
) -> None:
    *_, finding = judge_text(
        CHECK_FOUND_FAULT, failed(at=at).strip(), **{"check.json": report(lossy("node2"))}
    )
    assert finding.strength is strength


def test_a_link_is_named_where_both_ends_are() -> None:
    check = report(lossy(link=("node0", "node2")))
    _, finding = judge_text(CHECK_FOUND_FAULT, failed(), **{"check.json": check})
    assert finding.culprit_hosts == {"node0", "node2"}


def test_a_check_that_found_nothing_says_nothing() -> None:
    assert judge_text(CHECK_FOUND_FAULT, failed(), **{"check.json": report()}) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "unhang.check/1", "suspects": [{"id": 1, "link": [[], {}], "status": "fail"}]}',
        '{"schema": "unhang.check/1", "stages": "x", "at": "9999999-01-01", "hosts": {"a": 1}}',
        '{"schema": "unhang.check/1", "suspects": [' + "[" * 3000,
        report(lossy("node2"))[:-300],
    ],
)
def test_a_forged_or_torn_report_is_not_read(text: str) -> None:
    assert judge_text(CHECK_FOUND_FAULT, failed(), **{"check.json": text}) == []


def test_a_check_alone_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "check.json").write_text(report(lossy("node2")))
    assert diagnose(str(tmp_path)).cause is None
