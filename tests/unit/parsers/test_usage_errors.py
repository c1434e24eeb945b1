"""Errors of argparse."""

from support.feeding import feed, only
from unhang.model.events import PythonException
from unhang.parsers.usage_errors import UsageErrorsParser

USAGE = "usage: fit.py [-h] [--lr LR]"


def test_a_wrong_argument_ends_the_script_whose_usage_stands_above() -> None:
    events = feed(
        UsageErrorsParser,
        USAGE,
        "              [DIR]",
        "fit.py: error: argument --lr: invalid float",
    )
    error = only(PythonException, events)
    assert (error.exception, error.message) == ("SystemExit", "argument --lr: invalid float")


def test_another_tool_s_word_is_none() -> None:
    assert not feed(UsageErrorsParser, "lint.py: error: no such file")
    assert not feed(UsageErrorsParser, USAGE, "lint.py: error: no such file")
