"""Work of the one rank that gave up no wait, where all the others did and no call has a number."""

from support.builders import by, ended, incident, source
from support.phase_builders import begun, findings, strength
from unhang.model.events import (
    ClosingSignal,
    Event,
    GlooFault,
    GlooProblem,
    StackSeen,
    WorldSeen,
)
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.rules.slow.checkpoint_under_way import check as SAVE
from unhang.rules.slow.data_under_way import check as DATA
from unhang.rules.slow.evaluation_under_way import check as EVAL


def gave_up(rank: int, line: int, problem: GlooProblem = GlooProblem.SEND_TIMED_OUT) -> GlooFault:
    """A rank that Gloo told of a time-out, or of a closed connection."""
    return GlooFault(
        source=source(line), origin=by(rank), at=None, problem=problem, timeout_ms=12_000
    )


def world(size: int) -> WorldSeen:
    return WorldSeen(source=source(90), origin=by(), at=None, world_size=size)


def test_a_save_that_nobody_signed_is_of_the_rank_that_did_not_give_up() -> None:
    events = (begun(Phase.SAVE), gave_up(1, 2), world(2))
    (finding,) = findings(SAVE, *events)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {0}


def test_each_rank_reads_its_data_and_one_does_not_come_back() -> None:
    events: tuple[Event, ...] = (
        *(begun(Phase.DATA, rank, line=1 + rank) for rank in range(4)),
        gave_up(0, 10),
        gave_up(1, 11),
        gave_up(2, 12),
        world(4),
    )
    (finding,) = findings(DATA, *events)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {3}


def test_a_rank_whose_peer_closed_the_connection_did_not_stay_away() -> None:
    events = (
        begun(Phase.DATA, 3, line=1),
        gave_up(0, 10),
        gave_up(1, 11, GlooProblem.PEER_CLOSED),
        gave_up(2, 12),
        world(4),
    )
    (finding,) = findings(DATA, *events)
    assert finding.culprits == {3}


def test_the_work_of_a_rank_that_was_cut_off_is_passed_over() -> None:
    events: tuple[Event, ...] = (
        *(begun(Phase.DATA, rank, line=1 + rank) for rank in (0, 2, 3)),
        begun(Phase.DATA, 1, line=9),
        gave_up(2, 10),
        gave_up(1, 11, GlooProblem.PEER_CLOSED),
        gave_up(0, 12),
        world(4),
    )
    (finding,) = findings(DATA, *events)
    assert finding.culprits == {3}


def test_two_ranks_gave_up_no_wait() -> None:
    events = (begun(Phase.DATA, 3, line=1), gave_up(0, 10), gave_up(1, 11), world(4))
    assert strength(DATA, *events) is Strength.HINTS


def test_the_size_of_the_job_is_open_and_one_rank_gave_up() -> None:
    events = (begun(Phase.SAVE), gave_up(1, 2))
    assert strength(SAVE, *events) is Strength.HINTS


def test_the_rank_at_work_gave_up_itself() -> None:
    events: tuple[Event, ...] = (begun(Phase.SAVE, 0), gave_up(0, 2), world(2))
    assert strength(SAVE, *events) is Strength.HINTS


def test_waits_of_gloo_tell_whose_work_is_its_own() -> None:
    found = incident(begun(Phase.DATA, 0), begun(Phase.DATA, 1, line=2), gave_up(1, 3)).open_phases
    assert {phase.rank for phase in found if phase.exclusive} == {Rank(0)}


def test_the_launcher_had_to_end_the_last_one() -> None:
    closing = ClosingSignal(source=source(3), origin=by(), at=None, pid=7, signal=15)
    events = (begun(Phase.SAVE), gave_up(1, 2), closing, ended(0, signal=15, pid=7, line=4))
    (finding,) = findings(SAVE, *events)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {0}


def test_a_connection_that_a_peer_closed_is_told_before_the_time_out() -> None:
    events = (
        begun(Phase.DATA, 3, line=1),
        gave_up(1, 10, GlooProblem.PEER_CLOSED),
        gave_up(0, 11),
        gave_up(2, 12),
        world(4),
    )
    (finding,) = findings(DATA, *events)
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {3}


def test_the_peer_that_closed_the_connection_may_have_died() -> None:
    events = (
        begun(Phase.DATA, 3, line=1),
        gave_up(1, 10, GlooProblem.PEER_CLOSED),
        gave_up(0, 11),
        gave_up(2, 12),
        ended(3, signal=11, line=13),
        world(4),
    )
    assert strength(DATA, *events) is Strength.HINTS


def test_the_rank_in_the_stack_is_the_one_that_gave_up() -> None:
    def seen(rank: int) -> StackSeen:
        frame = "open_clip_train/train.py:evaluate"
        return StackSeen(
            source=source(5), origin=by(rank), at=None, frame=frame, waiting=False, phase=Phase.EVAL
        )

    assert strength(EVAL, seen(0), gave_up(0, 2), world(2)) is None
    assert strength(EVAL, seen(1), gave_up(0, 2), world(2)) is Strength.PROVES
