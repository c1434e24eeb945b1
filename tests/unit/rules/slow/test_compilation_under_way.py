"""A compilation while the others wait."""

from support.builders import ended, timeout
from support.phase_builders import begun, findings, stack, strength
from unhang.model.finding import Strength
from unhang.model.phases import Phase, PhaseEdge
from unhang.rules.slow.compilation_under_way import check

COMPILER = stack("triton/compiler/compiler.py:compile", Phase.COMPILE)
ENGINE = stack("shm_broadcast.py:acquire_read", None, waiting=True, line=9)


def test_a_live_stack_in_a_compiler() -> None:
    assert strength(check, COMPILER) is Strength.SUPPORTS


def test_a_live_stack_in_a_compiler_while_an_engine_waits() -> None:
    assert strength(check, COMPILER, ENGINE) is Strength.PROVES


def test_a_compilation_began_and_the_engine_waits() -> None:
    assert strength(check, begun(Phase.COMPILE), ENGINE) is Strength.SUPPORTS


def test_a_compilation_that_ended_is_over() -> None:
    events = (begun(Phase.COMPILE), begun(Phase.COMPILE, edge=PhaseEdge.END, line=2), ENGINE)
    assert strength(check, *events) is None


def test_a_crash_explains_it_better() -> None:
    (finding,) = findings(check, COMPILER, ended(2, signal=11, line=5))
    assert finding.strength is Strength.HINTS


def test_a_build_before_the_first_barrier() -> None:
    events = (begun(Phase.COMPILE), timeout(3, seq=2, numel=1, line=2))
    assert strength(check, *events) is Strength.SUPPORTS


def test_a_build_long_before_says_nothing() -> None:
    events = (begun(Phase.COMPILE), timeout(3, seq=20_000, numel=1, line=2))
    assert strength(check, *events) is Strength.HINTS


def test_nothing_compiles() -> None:
    assert strength(check, ENGINE, timeout(3, numel=1)) is None
