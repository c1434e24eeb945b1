"""Rules on the record of a watched run: what makes them speak, and what leaves them quiet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.job_text import judge_text, timed_out
from unhang.live.messages.job_snapshot import SCHEMA, JobSnapshot, Stage, Suspicion, SuspicionReason
from unhang.model.causes import Cause
from unhang.model.codec import document
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.rule import Rule
from unhang.model.waits import CallRef
from unhang.rules import RULES
from unhang.rules.crash.job_stopped import check as CRA005
from unhang.rules.desync.watched_circle import check as DSY301
from unhang.rules.locate.watched_departure import check as LOC302
from unhang.rules.locate.watched_standstill import check as LOC301
from unhang.rules.slow.watched_phase import check as SLO301

WATCHING = (LOC301, LOC302, DSY301, SLO301)


def suspicion(
    charge: SuspicionReason,
    *,
    stage: Stage = Stage.CONFIRMED,
    culprits: tuple[int, ...] = (2,),
    phase: Phase | None = None,
) -> Suspicion:
    return Suspicion(
        culprits=frozenset(Rank(r) for r in culprits),
        victims=frozenset({Rank(0), Rank(1)}),
        charge=charge,
        stage=stage,
        phase=phase,
        call=CallRef(group="0", seq=21, op="all_reduce"),
        since_s=8.5,
        still_s=9.0,
        why=Message(key="fix.verbatim", values={"text": ""}),
    )


def judge(rule: Rule, *suspicions: Suspicion, log: str = "") -> list[Finding]:
    view = JobSnapshot(at_s=1_763_712_000.5, up_s=60.0, world_size=3, suspicions=suspicions)
    return judge_text(rule, log, **{"standing.json": document(SCHEMA, view)})


@pytest.mark.parametrize(
    ("charge", "rule"),
    [
        *(
            (c, LOC301)
            for c in (
                SuspicionReason.STOPPED,
                SuspicionReason.ASLEEP,
                SuspicionReason.GIL_KEPT,
                SuspicionReason.SILENT,
            )
        ),
        (SuspicionReason.NEVER_CAME, LOC301),
        *(
            (c, LOC302)
            for c in (SuspicionReason.GONE, SuspicionReason.RAISED, SuspicionReason.LEFT)
        ),
        *((c, DSY301) for c in (SuspicionReason.MISMATCH, SuspicionReason.CIRCLE)),
    ],
)
def test_each_charge_has_its_rule(charge: SuspicionReason, rule: Rule) -> None:
    (finding,) = judge(rule, suspicion(charge))
    assert finding.culprits == frozenset({2})
    others = [other for other in WATCHING if other is not rule]
    assert [other.code for other in others if judge(other, suspicion(charge))] == []


@pytest.mark.parametrize("rule", [LOC301, LOC302])
def test_who_is_proved_by_a_confirmed_hang_and_supported_by_a_suspicion(rule: Rule) -> None:
    charge = SuspicionReason.STOPPED if rule is LOC301 else SuspicionReason.GONE
    stages = (Stage.CONFIRMED, Stage.SUSPECTED)
    strengths = [judge(rule, suspicion(charge, stage=s))[0].strength for s in stages]
    assert strengths == [Strength.PROVES, Strength.SUPPORTS]


@pytest.mark.parametrize(
    ("rank", "strength"), [(2, Strength.HINTS), (1, Strength.SUPPORTS)], ids=["itself", "another"]
)
def test_who_ends_first_because_of_another_is_not_who_was_wrong(
    rank: int, strength: Strength
) -> None:
    log = (
        f"[rank{rank}]: RuntimeError: [enforce fail at gloo/transport/tcp/pair.cc:456]"
        " op.preamble.length <= op.nbytes. 8 vs 4. Received data size doesn't match expected\n"
    )
    gone = suspicion(SuspicionReason.GONE, stage=Stage.SUSPECTED)
    (finding,) = judge(LOC302, gone, log=log)
    assert finding.strength is strength


@pytest.mark.parametrize("rule", [LOC301, LOC302, DSY301])
@pytest.mark.parametrize(
    "charge",
    [
        SuspicionReason.AT_WORK,
        SuspicionReason.TOGETHER,
        SuspicionReason.NEVER_CAME,
        SuspicionReason.STOPPED,
    ],
)
def test_what_was_only_watched_accuses_nobody(rule: Rule, charge: SuspicionReason) -> None:
    assert judge(rule, suspicion(charge, stage=Stage.WATCHED, phase=Phase.SAVE)) == []


def test_a_confirmed_hang_silences_what_was_suspected_beside_it() -> None:
    found = judge(
        LOC301,
        suspicion(SuspicionReason.STOPPED),
        suspicion(SuspicionReason.ASLEEP, stage=Stage.SUSPECTED, culprits=(1,)),
    )
    assert [f.culprits for f in found] == [frozenset({2})]


@pytest.mark.parametrize(
    ("phase", "cause"),
    [
        (Phase.SAVE, Cause.CHECKPOINT_SLOW),
        (Phase.DATA, Cause.DATA_SLOW),
        (Phase.EVAL, Cause.EVAL_SLOW),
        (Phase.COMPILE, Cause.COMPILE_SLOW),
    ],
)
def test_a_phase_that_stood_is_a_cause(phase: Phase, cause: Cause) -> None:
    (finding,) = judge(SLO301, suspicion(SuspicionReason.ASLEEP, phase=phase))
    assert (finding.cause, finding.phase, finding.strength) == (cause, phase, Strength.SUPPORTS)


@pytest.mark.parametrize("phase", [None, Phase.TRAIN, Phase.INIT])
def test_a_standstill_in_no_work_of_its_own_is_no_cause(phase: Phase | None) -> None:
    assert judge(SLO301, suspicion(SuspicionReason.ASLEEP, phase=phase)) == []


def test_work_that_outlasted_the_others_is_a_cause_once_they_gave_up() -> None:
    view = JobSnapshot(
        at_s=1_763_712_000.5,
        up_s=60.0,
        world_size=3,
        suspicions=(suspicion(SuspicionReason.AT_WORK, stage=Stage.WATCHED, phase=Phase.SAVE),),
    )
    record = {"standing.json": document(SCHEMA, view)}
    (quiet,) = judge_text(SLO301, "", **record)
    (loud,) = judge_text(SLO301, timed_out(0), timed_out(1), **record)
    assert (quiet.strength, loud.strength) == (Strength.HINTS, Strength.SUPPORTS)
    assert (loud.cause, loud.culprits) == (Cause.CHECKPOINT_SLOW, frozenset({2}))


STOPPED_LOG = (
    "W1121 01:50:00.000000 100 torch/distributed/elastic/agent/server/api.py:723] Received 15 death"
    " signal, shutting down workers"
)


@pytest.mark.parametrize("stage", [Stage.SUSPECTED, Stage.CONFIRMED])
def test_a_stop_after_a_standstill_is_not_what_went_wrong(stage: Stage) -> None:
    view = JobSnapshot(
        at_s=1.0, up_s=1.0, suspicions=(suspicion(SuspicionReason.ASLEEP, stage=stage),)
    )
    record = {"standing.json": document(SCHEMA, view)}
    (alone,) = judge_text(CRA005, STOPPED_LOG)
    (after,) = judge_text(CRA005, STOPPED_LOG, **record)
    assert alone.strength is not Strength.HINTS
    assert after.strength is Strength.HINTS


def test_a_circle_and_a_difference_have_their_causes() -> None:
    causes = [
        judge(DSY301, suspicion(c))[0].cause
        for c in (SuspicionReason.CIRCLE, SuspicionReason.MISMATCH)
    ]
    assert causes == [Cause.PG_DEADLOCK, Cause.DESYNC]


@pytest.mark.parametrize(
    ("op", "cause"), [("new_group", Cause.DESYNC), ("recv", Cause.PG_DEADLOCK)]
)
def test_who_makes_another_group_than_the_others_left_one_out(op: str, cause: Cause) -> None:
    making = replace(
        suspicion(SuspicionReason.CIRCLE, culprits=(0, 1, 2)),
        call=CallRef(group="2", seq=None, op=op),
    )
    assert judge(DSY301, making)[0].cause is cause


@pytest.mark.parametrize(
    ("culprits", "cause", "named"),
    [((1, 2), Cause.DESYNC, ()), ((0, 1, 2), Cause.PG_DEADLOCK, (0, 1, 2))],
    ids=["two", "everybody"],
)
def test_of_two_that_wait_to_receive_one_is_wrong_and_of_a_ring_all(
    culprits: tuple[int, ...], cause: Cause, named: tuple[int, ...]
) -> None:
    between = replace(
        suspicion(SuspicionReason.CIRCLE, culprits=culprits),
        victims=frozenset[Rank](),
        call=CallRef(group=None, seq=None, op="recv"),
    )
    (finding,) = judge(DSY301, between)
    assert (finding.cause, finding.culprits) == (cause, frozenset(named))


def test_who_is_in_most_of_the_messages_that_miss_each_other_is_named() -> None:
    crossed = replace(
        suspicion(SuspicionReason.CIRCLE, culprits=(2,)),
        call=CallRef(group=None, seq=None, op="recv"),
    )
    (finding,) = judge(DSY301, crossed)
    assert (finding.cause, finding.culprits) == (Cause.DESYNC, frozenset({2}))
    assert finding.claim.key == "live.circle_crossed"


def test_who_left_its_habit_is_named_with_what_was_due() -> None:
    told = replace(
        suspicion(SuspicionReason.CIRCLE, culprits=(2,)),
        call=CallRef(group=None, seq=None, op="recv"),
        move="irecv(src=1) in step (t.py):4",
        due="irecv(src=0) in step (t.py):4",
    )
    (finding,) = judge(DSY301, told)
    assert (finding.culprits, finding.claim.key) == (frozenset({2}), "live.strayed")
    assert dict(finding.claim.values)["due"] == told.due
    (finding,) = judge(DSY301, replace(told, due=""))
    assert finding.claim.key == "live.strayed_alone"


def test_where_nobody_is_odd_nobody_is_named() -> None:
    (finding,) = judge(DSY301, suspicion(SuspicionReason.MISMATCH, culprits=()))
    assert (finding.culprits, finding.claim.key) == (frozenset(), "DSY301.mismatch")


def test_the_rules_are_listed() -> None:
    assert set(WATCHING) <= set(RULES)


def test_a_program_that_is_through_and_does_not_end_is_no_healthy_job() -> None:
    """As it says itself that it has finished: one of its processes stays in an exit handler."""
    overdue = replace(
        suspicion(SuspicionReason.LEFT, stage=Stage.SUSPECTED), call=CallRef(), still_s=9.0
    )
    api = "torch.distributed.elastic.multiprocessing.api"
    swept = f"[rank2]: {api}.SignalException: Process 7 got signal: 15\n"
    for log in ("", swept):  # who is ended at last has stayed all the same
        (finding,) = judge(LOC302, overdue, log=log)
        assert (finding.claim.key, finding.why.key) == ("live.overdue", "LOC302.why_stays")
        assert finding.culprits == frozenset({2})
        assert finding.strength is Strength.SUPPORTS
