"""What sorting ties together is what comparing every pair would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unhang.assemble.file_ties import all_tied, is_far
from unhang.assemble.given_files import GivenFile
from unhang.model.time import Clock, Instant

NEAR_S, DAY_S = 18 * 3600.0, 86_400.0
CLOCKS = st.sampled_from([Clock.LOCAL, Clock.UTC, Clock.LOCAL_NO_YEAR])
NAMES = [f"{chr(97 + n) * (n + 2)}/{chr(107 + n) * (2 * n + 3)}" for n in range(12)]
"""No two are alike in any way."""


@st.composite
def a_file(draw: st.DrawFn, name: str) -> GivenFile:
    clock, begin = draw(CLOCKS), draw(st.integers(0, 740)) * DAY_S / 2
    if clock is Clock.LOCAL_NO_YEAR:
        begin %= 366 * DAY_S
    long = draw(st.integers(0, 8)) * DAY_S / 2
    dated = draw(st.booleans())
    days = [Instant(seconds=at, clock=clock) for at in (begin, begin + long)] if dated else []
    few = {"min_size": 0, "max_size": 1}
    return GivenFile(
        name,
        hosts=draw(st.sets(st.sampled_from(["gpu-1", "gpu-2"]), **few)),
        pids=draw(st.sets(st.sampled_from([41, 42]), **few)),
        ids=draw(st.sets(st.sampled_from(["0x1", "0x2"]), **few)),
        days=days,
    )


@st.composite
def files(draw: st.DrawFn) -> list[GivenFile]:
    return [draw(a_file(name)) for name in NAMES[: draw(st.integers(2, len(NAMES)))]]


def tied(one: GivenFile, other: GivenFile) -> bool:
    if is_far(one, other):
        return False
    if one.hosts & other.hosts or one.ids & other.ids:
        return True
    if one.hosts and other.hosts:
        return False
    return bool(one.pids & other.pids) or is_near(one, other)


def is_near(one: GivenFile, other: GivenFile) -> bool:
    if not one.days or not other.days:
        return False
    gaps = [apart(a, b) for a in one.days for b in other.days]
    return min(gaps) <= 0 <= max(gaps) or min(map(abs, gaps)) <= NEAR_S


def apart(one: Instant, other: Instant) -> float:
    both = [Instant(seconds=i.seconds, clock=Clock.LOCAL) if i.clock is Clock.UTC else i
            for i in (one, other)]  # fmt: skip
    gap = both[0].since(both[1])
    assert gap is not None
    return gap


@given(files())
def test_sorting_finds_what_pairs_would(given_files: list[GivenFile]) -> None:
    job = {given_files[0].name}
    grown = True
    while grown:
        members = [file for file in given_files if file.name in job]
        found = {f.name for f in given_files for member in members if tied(f, member)}
        grown, job = not found <= job, job | found
    assert all_tied([given_files[0].name], given_files) == job
