"""A compilation while the others wait."""

from itertools import chain

import pytest

from support.builders import ended, timeout
from support.job_text import judge_text
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


def dump(rank: int, *frames: str) -> list[str]:
    head = [f"== pid {400 + rank} RANK={rank}", f"Process {400 + rank}: python train.py", ""]
    return [*head, f'Thread {400 + rank} (idle): "MainThread"', *(f"    {f}" for f in frames)]


BUILDS = (
    "communicate (subprocess.py:1126)",
    "_run_ninja_build (torch/utils/cpp_extension.py:1893)",
    "load (torch/utils/cpp_extension.py:1284)",
)
LOCK = ("wait (torch/utils/file_baton.py:42)", "load (torch/utils/cpp_extension.py:1284)")
TRAINS = ("forward (model.py:7)", "main (train.py:9)")


@pytest.mark.parametrize("builder", [0, 2])
def test_one_builds_and_the_others_wait_for_its_lock(builder: int) -> None:
    stacks = [dump(rank, *(BUILDS if rank == builder else LOCK)) for rank in range(3)]
    (finding,) = judge_text(check, *chain.from_iterable(stacks))
    assert finding.strength is Strength.SUPPORTS
    assert finding.culprits == {builder}


@pytest.mark.parametrize("other", [BUILDS, TRAINS])
def test_who_does_not_wait_for_the_lock_speaks_against_it(other: tuple[str, ...]) -> None:
    stacks = [dump(0, *BUILDS), dump(1, *LOCK), dump(2, *other)]
    assert not judge_text(check, *chain.from_iterable(stacks))
