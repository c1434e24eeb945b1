"""Time-outs without a time take that of their process's abort."""

from support.builders import at, ended, incident, timeout
from support.crashes import raised
from unhang.model.events import Event
from unhang.model.finding import Strength
from unhang.rules.crash.rank_raised import check


def test_the_abort_of_a_rank_dates_its_time_out() -> None:
    found = incident(timeout(0, line=1), ended(0, signal=6, when=600, line=9))
    (dated,) = found.timeouts
    assert dated.at is not None
    assert dated.at.seconds == at(600).seconds


def test_what_has_a_time_keeps_it() -> None:
    found = incident(timeout(0, when=10, line=1), ended(0, signal=6, when=600, line=9))
    assert found.timeouts[0].at == at(10)


def test_another_rank_or_another_end_dates_nothing() -> None:
    ends = (ended(1, signal=6, when=600, line=9), ended(0, signal=15, when=600, line=10))
    assert incident(timeout(0, line=1), *ends).timeouts[0].at is None


def test_the_table_orders_an_exception_that_is_printed_later() -> None:
    events: list[Event] = [
        timeout(0, line=1),
        raised(3, line=50),
        ended(3, exit_code=1, when=0, line=60),
        ended(0, signal=6, when=600, line=61),
    ]
    (finding,) = check(incident(*events))
    assert finding.strength is Strength.PROVES
    assert finding.culprits == {3}
    together = [*events[:3], ended(0, signal=6, when=1, line=61)]
    (finding,) = check(incident(*together))
    assert finding.strength is Strength.HINTS
