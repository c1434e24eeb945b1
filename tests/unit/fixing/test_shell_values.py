"""What the variables of a script hold: found by way of others, and never by way of themselves."""

import pytest

from unhang.fixing.shell_values import ShellValues
from unhang.fixing.shell_words import read_commands


@pytest.mark.parametrize("set_by", ["A=$((A / 2))", "A=$((B*2))\nB=$((A*2))", "A=$B\nB=$A"])
def test_a_variable_that_is_set_from_itself_is_told_as_it_stands(set_by: str) -> None:
    values = ShellValues(read_commands(f"{set_by}\npython train.py --batch $A\n"))
    assert values.value("$A") == "$A"
    assert values.origin("$A") is None


def test_many_variables_that_are_each_set_many_times_are_looked_at_once() -> None:
    lines = [f"V{n}=$V{n + 1}\n" * 40 for n in range(40)]
    assert ShellValues(read_commands("".join(lines))).origin("$V0") is None


def test_a_value_by_way_of_other_variables_is_found() -> None:
    script = (
        'BASE=${BASE:-8}\nHALF="$BASE"\nALL=$((HALF * 4 / 2))\npython train.py --batch $ALL $HALF\n'
    )
    values = ShellValues(read_commands(script))
    assert values.value("${ALL}") == "16"
    origin = values.origin("$HALF")
    assert origin is not None
    assert (script[origin.start : origin.end], origin.names) == ("8", ("HALF", "BASE"))
