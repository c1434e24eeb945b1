"""The few lines that matter come out of a big file, each to those who want it."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from typing import IO

import pytest

from unhang.errors import ArtifactError
from unhang.sources.artifact import Artifact
from unhang.sources.line import Line
from unhang.sources.sampling import Extent, _samples
from unhang.sources.select import Wanted, select

RARE = Wanted(needles=("WorkNCCL(", "exploded"))
TRACE = Wanted(needles=("Traceback",), after=3)
BARS = Wanted(needles=("it/s",), sampled=True)
HEALTHY = "".join(
    f"\r {n % 100}%|#| {n}/90000 [{n % 60:02d}:{n % 7}, 3it/s]\n" for n in range(90_000)
)


def artifact(text: str | bytes) -> Artifact:
    data = text.encode() if isinstance(text, str) else text
    return Artifact(name="log", open=lambda: io.BytesIO(data))


def lines(
    text: str | bytes, *wanted: Wanted, plain: bool = False
) -> list[tuple[Line, frozenset[int]]]:
    return list(select(artifact(text), wanted, plain=plain))


def texts(text: str | bytes, *wanted: Wanted) -> list[str]:
    return [line.text for line, _ in lines(text, *wanted)]


def _number(bar: str) -> int:
    return int(bar.rpartition("| ")[2].partition("/")[0])


def test_hits_with_their_numbers() -> None:
    (found,) = lines("a\nb\n" + "filler\n" * 500_000 + "it exploded\nc\n", RARE)
    line, readers = found
    assert (line.number, line.text, line.raw, line.gap) == (
        500_003,
        "it exploded",
        "it exploded",
        True,
    )
    assert readers == {0}


def test_following_lines_and_who_wants_them() -> None:
    text = "x\nTraceback\n  File 1\n  exploded\n  File 3\n  File 4\nexploded\n"
    assert [(line.text, set(readers), line.gap) for line, readers in lines(text, RARE, TRACE)] == [
        ("Traceback", {1}, True),
        ("  File 1", {1}, False),
        ("  exploded", {1}, False),
        ("  exploded", {0}, True),
        ("  File 3", {1}, False),
        ("exploded", {0}, True),
    ]


def test_the_first_line_has_no_gap() -> None:
    assert [line.gap for line, _ in lines("exploded\nexploded\nx\nexploded\n", RARE)] == [
        False,
        False,
        True,
    ]


def test_following_lines_across_a_chunk() -> None:
    for size in range((1 << 20) - 40, (1 << 20) + 8):
        text = "f" * 63 + "\n"
        text = text * (size // 64) + "x" * (size % 64) + "\nTraceback\n  1\n  2\n  3\n  4\n"
        assert texts(text, TRACE) == ["Traceback", "  1", "  2", "  3"]


def test_carriage_returns_end_lines_too() -> None:
    text = "a\rexploded 1\rb\r\nexploded 2\r\nc\rexploded 3"
    assert [(line.number, line.text) for line, _ in lines(text, RARE)] == [
        (1, "exploded 1"),
        (2, "exploded 2"),
        (3, "exploded 3"),
    ]


def test_a_file_of_carriage_returns_only() -> None:
    text = HEALTHY.replace("\n", "\r") * 3 + "exploded\r" + "x\r" * 100_000
    assert texts(text, RARE) == ["exploded"]


def test_a_very_long_line_is_cut_around_its_hits() -> None:
    text = "x" * 30_000_000 + "exploded" + "y" * 5_000_000 + "WorkNCCL(" + "z" * 9_000_000
    first, second = lines(text, RARE)
    assert "exploded" in first[0].text
    assert "WorkNCCL(" in second[0].text
    assert max(len(first[0].text), len(second[0].text)) <= 1 << 16


def test_memory_is_bounded() -> None:
    class Endless(io.RawIOBase):
        left = 64

        def readinto(self, space: memoryview) -> int:  # type: ignore[override]
            self.left -= 1
            space[:] = b"y" * len(space)
            return len(space) if self.left else 0

    tracemalloc.start()
    stream = Artifact(name="log", open=Endless)  # type: ignore[arg-type]
    assert list(select(stream, (RARE, BARS), plain=True)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


def test_frequent_needles_are_sampled_and_the_ends_kept() -> None:
    text = HEALTHY + "it exploded\n" + HEALTHY
    found = lines(text, RARE, BARS)
    bars = [line.text for line, readers in found if 1 in readers]
    everything = [part for part in text.replace("\r", "").split("\n") if "it/s" in part]
    assert bars[:100] == everything[:100]
    assert bars[-3:] == everything[-3:]
    place = next(i for i, (line, _) in enumerate(found) if line.text == "it exploded")
    assert found[place - 1][0].text == everything[89_999]
    assert 300 < len(bars) < 10_000


def test_what_comes_back_far_apart_loses_its_surroundings_and_no_line() -> None:
    broken = "[rank3]:[E314 14:33:45.17 a.cpp:607] [Rank 3] Watchdog caught collective operation\n"
    rest = "timeout: WorkNCCL(SeqNum=8) ran for 600020 milliseconds before timing out.\n"
    text = (HEALTHY[:300_000] + "\n" + broken + rest) * 40
    found = lines(text, Wanted(needles=("Watchdog",)), BARS)
    errors = [i for i, (line, readers) in enumerate(found) if 0 in readers]
    assert [found[i][0].text[-11:] for i in errors] == ["timing out."] * 40
    led = [i for i in errors if found[i][0].number - found[i - 1][0].number == 2]
    assert errors[:8] == led[:8]
    assert len(led) < 30


def test_errors_in_a_list_keep_what_stands_above_them() -> None:
    section = "--- rank {} ---\n" + "no news\n" * 60 + "it exploded\n"
    text = HEALTHY + "".join(section.format(rank) for rank in range(300)) + HEALTHY
    heads = Wanted(needles=("--- rank",), sampled=True)
    assert len([t for t in texts(text, RARE, heads) if t.startswith("---")]) >= 299


def test_bars_differ_only_in_how_far_they_are_drawn() -> None:
    drawn = "".join(
        f"{n % 100}%|{'█' * (n % 40)}{' ' * (40 - n % 40)}| {n}/90000 [{n % 60:02d}, 3it/s]\r"
        for n in range(90_000)
    )
    middle = [n for n in map(_number, texts(drawn, BARS)) if 10_000 < n < 80_000]
    assert 0 < len(middle) < 40


def test_samples_lie_farther_apart_far_from_the_beginning() -> None:
    mib = 1 << 20
    counts = [
        len(list(_samples(low * mib, 0, (high - low) * mib, Extent())))
        for low, high in ((4, 256), (256, 512), (512, 1024))
    ]
    assert counts == [16, 4, 8]


def test_a_needle_of_two_bytes_is_searched_near_others() -> None:
    text = f"$ first\n{HEALTHY}$ middle\n{HEALTHY}$ near\nexploded\n{HEALTHY}$ last\n"
    prompts = Wanted(needles=("$ ",))
    found = [t for t in texts(text, RARE, prompts) if t.startswith("$")]
    assert found == ["$ first", "$ near", "$ last"]


def test_small_files_are_fed_whole() -> None:
    text = "".join(f"{n} it/s\n" for n in range(2_000))
    assert len(lines(text, BARS)) == 2_000


def test_a_needle_that_is_everywhere_does_not_drown_the_rest() -> None:
    text = "exploded again, and again, and again\n" * 100_000 + "WorkNCCL(\n"
    found = texts(text, RARE)
    assert found[-1] == "WorkNCCL("
    assert 20_000 <= len(found) < 30_000


def test_a_needle_that_a_terminal_broke() -> None:
    text = (
        "[rank3]:[E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught "
        "collective operation timeout: WorkN\nCCL(SeqNum=8, OpType=ALLREDUCE, Timeout(ms)=600000) "
        "ran for 600020 milliseconds before timing out.\n"
    )
    ((_, readers),) = lines(text, RARE, Wanted(needles=("Watchdog",)))
    assert readers == {0, 1}


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_the_last_line_may_lack_its_end(end: str) -> None:
    assert texts("a\nexploded" + end, RARE) == ["exploded"]


@pytest.mark.parametrize(
    "noise", [b"\x00" * 9, b"\xff\xfe\xff", "\u2028é中".encode(), b"\xc3", b"\x1b[31m", b"\x9b"]
)
def test_odd_bytes_do_not_hide_a_hit(noise: bytes) -> None:
    (text,) = texts(b"a\n" + noise + b"exploded" + noise + b"\nb\n", RARE)
    assert "exploded" in text


def test_both_scanners_give_the_same_lines() -> None:
    some = HEALTHY[:400_000]
    text = some + "Traceback\n 1\n 2\nexploded 123 WorkNCCL(\r" + some + "x" * 200_000 + "exploded"
    wanted = (RARE, TRACE, BARS, Wanted(needles=("90/90000", "1it/s", "3it/s", "9%|")))
    assert lines(text, *wanted) == lines(text, *wanted, plain=True)


def test_no_needles_no_lines() -> None:
    assert lines(HEALTHY, Wanted(needles=())) == []
    assert lines(HEALTHY) == []


def test_what_came_before_the_damage_is_used() -> None:
    data = gzip.compress(b"exploded 1\n" + bytes(range(256)) * 10_000 + b"exploded 2\n")[:-2000]
    broken = Artifact(name="log.gz", open=lambda: _gunzip(data))
    found: list[str] = []
    with pytest.raises(ArtifactError, match="reading stopped"):
        found.extend(line.text for line, _ in select(broken, (RARE,)))
    assert found == ["exploded 1"]


def _gunzip(data: bytes) -> IO[bytes]:
    class Guarded(io.RawIOBase):
        inner = gzip.GzipFile(fileobj=io.BytesIO(data))

        def readinto(self, space: memoryview) -> int:  # type: ignore[override]
            try:
                piece = self.inner.read(len(space))
            except EOFError as error:
                raise OSError(str(error)) from error
            space[: len(piece)] = piece
            return len(piece)

    return Guarded()  # type: ignore[return-value]


def test_progress_adds_up() -> None:
    told: list[int] = []
    text = HEALTHY.encode()
    list(select(artifact(text), (RARE,), progress=told.append))
    assert sum(told) == len(text)
    assert len(told) > 1
