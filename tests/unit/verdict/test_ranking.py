"""Ranking: strength first, echoes dropped, earlier before later, abstention below the threshold."""

from dataclasses import replace

import pytest

from support.builders import at, ended, incident, source, timeout
from support.crashes import killed_by_kernel, raised, work
from unhang.model.causes import Cause
from unhang.model.diagnosis import Outcome
from unhang.model.events import (
    Event,
    ExceptionKind,
    Finished,
    HoldUp,
    PythonException,
    Stage,
    SuspicionReason,
    Teardown,
    WatchdogAborted,
    WorldSeen,
)
from unhang.model.events.lifecycle import LONG_AT_WORK
from unhang.model.finding import Finding, Strength
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.provenance import Message, Origin
from unhang.verdict import ranking
from unhang.verdict.ranking import THRESHOLD, rank


def finding(
    cause: Cause | None,
    strength: Strength,
    *,
    when: float | None = None,
    explains: frozenset[Cause] = frozenset(),
    culprits: Ranks = NO_RANKS,
) -> Finding:
    return Finding(
        rule="TST001",
        cause=cause,
        strength=strength,
        claim=Message(key="claim"),
        why=Message(key="why"),
        at=None if when is None else at(when),
        explains=explains,
        culprits=culprits,
        evidence=(source(),),
    )


def test_proof_beats_support() -> None:
    found = rank(
        incident(),
        [finding(Cause.DATA_SLOW, Strength.SUPPORTS), finding(Cause.DESYNC, Strength.PROVES)],
    )
    assert found.outcome is Outcome.CAUSE
    assert found.cause is Cause.DESYNC


def test_a_call_that_nobody_signs_is_told_without_ranks() -> None:
    unsigned = rank(incident(replace(timeout(3), group_rank=None)), [])
    assert unsigned.summary == Message(
        key="summary.undetermined_unnamed", values={"op": "ALLREDUCE"}
    )
    assert rank(incident(timeout(3, global_rank=3)), []).summary.key == "summary.undetermined_call"


def test_hints_alone_never_make_a_verdict() -> None:
    found = rank(incident(timeout(0)), [finding(Cause.DATA_SLOW, Strength.HINTS)])
    assert found.outcome is Outcome.UNDETERMINED
    assert found.cause is None
    assert [c.cause for c in found.candidates] == [Cause.DATA_SLOW]


def test_a_consequence_is_dropped() -> None:
    cause = finding(Cause.GPU_OOM, Strength.PROVES, explains=frozenset({Cause.NET_INTERFACE}))
    found = rank(incident(), [finding(Cause.NET_INTERFACE, Strength.PROVES), cause])
    assert [c.cause for c in found.candidates] == [Cause.GPU_OOM]


def test_a_weak_claim_does_not_explain_away_a_strong_one() -> None:
    weak = finding(Cause.GPU_OOM, Strength.SUPPORTS, explains=frozenset({Cause.RDMA_FAULT}))
    found = rank(incident(), [weak, finding(Cause.RDMA_FAULT, Strength.PROVES)])
    assert found.cause is Cause.RDMA_FAULT


def test_of_two_proved_causes_the_earlier_leads_with_less_confidence() -> None:
    late = finding(Cause.RANK_CRASH, Strength.PROVES, when=900)
    early = finding(Cause.HOST_OOM, Strength.PROVES, when=10)
    alone = rank(incident(), [early])
    both = rank(incident(), [late, early])
    assert both.cause is Cause.HOST_OOM
    assert both.confidence < alone.confidence


def test_who_and_where_without_why_is_located() -> None:
    who = finding(None, Strength.SUPPORTS, culprits=frozenset({Rank(3)}))
    found = rank(incident(timeout(0)), [who])
    assert found.outcome is Outcome.LOCATED
    assert found.culprits == {3}


def test_success_outranks_what_is_printed_after_it() -> None:
    done = Finished(source=source(), origin=Origin(), whole_job=True)
    found = rank(incident(done), [finding(Cause.RANK_CRASH, Strength.PROVES)])
    assert found.outcome is Outcome.HEALTHY
    assert found.cause is None


def test_a_run_whose_watchdog_went_off_did_not_end_well() -> None:
    done = Finished(source=source(1), origin=Origin(), whole_job=False)
    alarm = WatchdogAborted(source=source(2), origin=Origin(), reason=Teardown.OTHER)
    assert rank(incident(done), []).outcome is Outcome.HEALTHY
    assert rank(incident(done, alarm), []).outcome is Outcome.UNDETERMINED


def test_confidence_of_a_verdict_is_never_below_the_threshold() -> None:
    rivals = [finding(c, Strength.SUPPORTS) for c in (Cause.DATA_SLOW, Cause.EVAL_SLOW)]
    found = rank(incident(), rivals)
    assert (found.outcome is Outcome.CAUSE) == (found.confidence >= THRESHOLD)


def test_who_fails_because_another_is_gone_waited() -> None:
    echo = PythonException(
        source=source(),
        origin=Origin(rank=Rank(1)),
        kind=ExceptionKind.COLLECTIVE,
        exception="RuntimeError",
        message="Timed out waiting 20000ms for recv operation to complete",
    )
    assert rank(incident(echo), []).victims == {1}


def test_the_best_finding_takes_its_culprits_from_one_just_as_strong() -> None:
    named = frozenset({Rank(3)})
    strong = finding(Cause.DESYNC, Strength.PROVES)
    found = rank(incident(), [strong, finding(Cause.DESYNC, Strength.PROVES, culprits=named)])
    assert found.culprits == named
    found = rank(incident(), [strong, finding(Cause.DESYNC, Strength.SUPPORTS, culprits=named)])
    assert found.culprits == NO_RANKS


def test_one_rank_is_done_and_the_launcher_sees_another_one_fail() -> None:
    done = Finished(source=source(1), origin=Origin(), at=None, whole_job=False)
    assert rank(incident(done, ended(1, exit_code=0, line=2)), []).outcome is Outcome.HEALTHY
    failed = rank(incident(done, ended(0, exit_code=1, line=2)), [])
    assert failed.outcome is not Outcome.HEALTHY


def test_the_job_is_done_before_the_launcher_sees_a_process_fail() -> None:
    done = Finished(source=source(1), origin=Origin(), at=None, whole_job=True)
    assert incident(done).finished
    assert not incident(done, ended(0, exit_code=1, line=2)).finished


def test_a_cause_on_one_host_takes_no_located_rank_of_another() -> None:
    """Rank 3 of `gpu-2` is late; the GPU that failed is one of `gpu-1`."""
    host = Origin(rank=Rank(3), host="gpu-2")
    job = incident(replace(timeout(3, global_rank=3), origin=host))
    who = finding(None, Strength.SUPPORTS, culprits=frozenset({Rank(3)}))
    why = finding(Cause.GPU_HARDWARE, Strength.PROVES)
    elsewhere = replace(why, culprit_hosts=frozenset({"gpu-1"}))
    there = replace(why, culprit_hosts=frozenset({"gpu-2"}))
    assert rank(job, [who, elsewhere]).culprits == NO_RANKS
    assert rank(job, [who, there]).culprits == {3}
    assert rank(job, [who, why]).culprits == {3}


def watched(stage: Stage, *culprits: int) -> HoldUp:
    """What the live judge held against ranks."""
    ranks = frozenset(Rank(rank) for rank in culprits)
    return HoldUp(
        origin=Origin(), source=source(), charge=SuspicionReason.ASLEEP, stage=stage, culprits=ranks
    )


def test_what_was_seen_while_the_job_ran_outweighs_what_is_read_afterwards() -> None:
    by_lines = finding(Cause.UNEVEN_WORK, Strength.SUPPORTS, culprits=frozenset({Rank(0)}))
    by_watch = finding(None, Strength.SUPPORTS, culprits=frozenset({Rank(1)}))
    found = rank(incident(watched(Stage.SUSPECTED, 1)), [by_lines, by_watch])
    assert (found.outcome, found.cause, set(found.culprits)) == (Outcome.LOCATED, None, {1})


def test_who_it_was_stays_of_trouble_that_a_watched_job_outlived() -> None:
    """It worked long after; only what the watch saw still names a rank, and no cause."""
    steps = [work(step, rank=0, line=10 + step) for step in range(LONG_AT_WORK + 2)]
    lived: list[Event] = [raised(0, line=1), *steps]
    findings = [
        finding(None, Strength.PROVES, culprits=frozenset({Rank(1)})),
        finding(Cause.RANK_EXCEPTION, Strength.PROVES, culprits=frozenset({Rank(0)})),
    ]
    found = rank(incident(*lived, watched(Stage.WATCHED)), findings)
    assert (found.outcome, found.cause, set(found.culprits)) == (Outcome.LOCATED, None, {1})
    found = rank(incident(*lived), findings)
    assert (found.outcome, found.cause) == (Outcome.UNDETERMINED, None)


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [(Cause.HOST_OOM, Outcome.UNDETERMINED), (Cause.GPU_HARDWARE, Outcome.CAUSE)],
)
def test_another_program_of_the_host_ends_no_job_that_is_at_work(
    cause: Cause, outcome: Outcome
) -> None:
    """The kernel killed some process; a GPU may be ill without a word in the job's own log."""
    job = incident(killed_by_kernel(9, "other", when=9), *(work(n, line=n) for n in range(1, 6)))
    assert rank(job, [finding(cause, Strength.PROVES)]).outcome is outcome


@pytest.mark.parametrize(("accused", "outcome"), [(1, Outcome.CAUSE), (2, Outcome.UNDETERMINED)])
def test_what_the_watch_confirmed_outweighs_what_it_suspected(
    accused: int, outcome: Outcome
) -> None:
    job = incident(watched(Stage.SUSPECTED, 2), watched(Stage.CONFIRMED, 1))
    told = finding(Cause.UNEVEN_WORK, Strength.SUPPORTS, culprits=frozenset({Rank(accused)}))
    assert rank(job, [told]).outcome is outcome


@pytest.mark.parametrize(("strength", "said"), [(Strength.SUPPORTS, True), (Strength.HINTS, False)])
def test_what_is_known_of_a_wait_is_said_where_nobody_can_be_named(
    strength: Strength, said: bool
) -> None:
    found = rank(incident(timeout(0)), [finding(None, strength)])
    assert found.outcome is Outcome.UNDETERMINED
    assert (found.summary == Message(key="claim")) is said


def test_what_proves_a_cause_by_itself_stays() -> None:
    by_log = finding(Cause.GPU_OOM, Strength.PROVES, culprits=frozenset({Rank(0)}))
    found = rank(incident(watched(Stage.CONFIRMED, 1)), [by_log])
    assert (found.cause, set(found.culprits)) == (Cause.GPU_OOM, {0})


def test_a_cause_that_names_nobody_is_no_contradiction() -> None:
    network = finding(Cause.NET_INTERFACE, Strength.SUPPORTS)
    found = rank(incident(watched(Stage.SUSPECTED, 1)), [network])
    assert found.cause is Cause.NET_INTERFACE


def test_in_a_job_of_one_process_rank_0_is_everybody() -> None:
    alone = WorldSeen(source=source(), origin=Origin(), world_size=1)
    found = rank(incident(alone), [finding(Cause.GPU_HARDWARE, Strength.PROVES)])
    assert found.culprits == {0}
    pair = replace(alone, world_size=2)
    assert rank(incident(pair), [finding(Cause.GPU_HARDWARE, Strength.PROVES)]).culprits == NO_RANKS
    assert rank(incident(alone), [finding(Cause.RENDEZVOUS, Strength.PROVES)]).culprits == NO_RANKS


def test_confidence_is_a_share_that_a_rival_lowers() -> None:
    for strength in Strength:
        assert 0 < ranking._CONTESTED[strength] < ranking._ALONE[strength] < 1
