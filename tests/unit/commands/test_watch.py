"""`unhang watch` where there is no terminal."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from unhang.commands.watch import command
from unhang.errors import UsageError


def test_without_a_terminal_it_says_what_shows_the_same() -> None:
    with pytest.raises(UsageError, match=r"needs a terminal.*unhang serve.*unhang diagnose"):
        CliRunner().invoke(command, ["runs/1"], catch_exceptions=False)
