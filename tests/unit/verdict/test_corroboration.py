"""Which kind of source says what for or against a verdict."""

from dataclasses import replace

from support.builders import by, source, timeout
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import Event, RasProblem, RasReport
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.statement import Bearing, Source, Statement
from unhang.verdict.corroboration import hear

LOG = timeout(0)
RAS = RasReport(source=source(9, "ras.txt"), origin=by(), problem=RasProblem.NONE)
SAID = Message(key="unit.s", values={"n": "so it is"})


def finding(
    event: Event,
    *culprits: int,
    cause: Cause | None = None,
    strength: Strength = Strength.SUPPORTS,
    code: str = "LOC001",
) -> Finding:
    return Finding(
        rule=code,
        cause=cause,
        strength=strength,
        claim=SAID,
        why=SAID,
        culprits=frozenset(map(Rank, culprits)),
        evidence=(event.source,),
    )


def heard(*findings: Finding, culprit: int | None = 2) -> list[tuple[Source, Bearing, str]]:
    verdict = Diagnosis(
        outcome=Outcome.LOCATED,
        culprits=frozenset() if culprit is None else frozenset({Rank(culprit)}),
        summary=SAID,
        cause=Cause.DATA_SLOW,
    )
    incident = Incident(events=(LOG, RAS))
    said: tuple[Statement, ...] = hear(incident, verdict, findings)
    return [(t.source, t.bearing, t.rule) for t in said]


def test_sources_that_agree() -> None:
    assert heard(finding(RAS, 2, code="LOC205"), finding(LOG, 2)) == [
        (Source.LOGS, Bearing.SUPPORTS, "LOC001"),
        (Source.RAS, Bearing.SUPPORTS, "LOC205"),
    ]


def test_a_source_that_names_another_rank_contradicts() -> None:
    assert heard(finding(LOG, 2), finding(RAS, 3, code="LOC205")) == [
        (Source.LOGS, Bearing.SUPPORTS, "LOC001"),
        (Source.RAS, Bearing.CONTRADICTS, "LOC205"),
    ]


def test_the_same_cause_of_another_rank_contradicts() -> None:
    found = finding(RAS, 3, cause=Cause.DATA_SLOW, code="SLO002")
    assert heard(found) == [(Source.RAS, Bearing.CONTRADICTS, "SLO002")]
    assert heard(found, culprit=None) == [(Source.RAS, Bearing.SUPPORTS, "SLO002")]


def test_a_source_that_names_nobody_adds() -> None:
    assert heard(finding(RAS)) == [(Source.RAS, Bearing.ADDS, "LOC001")]
    assert heard(finding(RAS, 1), culprit=None) == [(Source.RAS, Bearing.ADDS, "LOC001")]


def test_the_strongest_statement_of_a_source_is_told() -> None:
    sure = finding(LOG, 2, cause=Cause.DATA_SLOW, strength=Strength.PROVES, code="SLO002")
    assert heard(finding(LOG, 2), finding(LOG, 2, 3, code="LOC002"), sure) == [
        (Source.LOGS, Bearing.PROVES, "SLO002"),
        (Source.LOGS, Bearing.SUPPORTS, "LOC001"),
    ]


def test_other_causes_are_candidates_and_warnings_are_warnings() -> None:
    assert heard(finding(LOG, 2, cause=Cause.GPU_OOM)) == []
    assert heard(replace(finding(LOG), urgent=True)) == []
