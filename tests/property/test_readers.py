"""Whatever the bytes: readers never raise anything but what they promise, and never lose a hit."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tempfile
from contextlib import suppress
from pathlib import Path

import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unhang.engine.reading import read_artifact
from unhang.errors import ArtifactError, UsageError
from unhang.model.provenance import Origin
from unhang.sources.artifact import Artifact
from unhang.sources.clean import clean
from unhang.sources.discover import discover
from unhang.sources.hints import origin_of
from unhang.sources.kinds import FileKind, kind_of
from unhang.sources.peel import peel
from unhang.sources.scan import AhoCorasickScanner, HyperscanScanner, PlainScanner
from unhang.sources.select import Wanted, select
from unhang.sources.unwrap import LineUnit, rejoin

C10 = "[E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607] "
PIECES = st.sampled_from(
    [
        *("[rank3]:", "[rank0]: ", "[default1]:", "rank7]:", "7]:", "[RANK 1] ", "12: ", " 3: "),
        *(
            "(Worker pid=47, ip=10.0.0.2) ",
            "[1,5]<stderr>:",
            "[pod/a-0/b] ",
            "node-1: ",
            "> ",
            " | ",
        ),
        *("2026-06-02T11:17:52.557Z ", "[523602.980286] ", "11:17:52 ", "99:99:99 ", "[1803] "),
        *(C10, "[E ProcessGroupNCCL.cpp:828] ", "W1121 01:38:58.894000 11722 a/b.py:10] ", "\t"),
        *(
            "[Rank 3] Watchdog caught collective operation timeout: ",
            "WorkNCCL(SeqNum=8, ",
            "OpType=",
        ),
        *("NumelIn=1, ", "Timeout(ms)=600000)", " ran for 600020 milliseconds before timing out."),
        *("Traceback (most recent call last):", '  File "a.py", line 3, in f', "ValueError: x"),
        *(
            "gpu-7:22:23 [0] NCCL INFO ",
            " 30%|###   | 6/20 [00:01<00:02, 3it/s]",
            "\r",
            "\n",
            "\r\n",
        ),
        *(
            "\x1b[36m",
            "\x00",
            "\ufeff",
            "ü",
            "中",
            "   ",
            "[",
            "]",
            ":",
            "(",
            "^[[A",
            "last completed work: 9",
        ),
        *(
            " [repeated 7x across cluster]",
            "PG status: last enqueued work: 8, ",
            "nranks 8 ",
            "Killed",
        ),
    ]
)
TEXT = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))
LINES = st.lists(st.one_of(TEXT, PIECES), max_size=30)
WANTED = (
    Wanted(needles=("WorkNCCL(", "Watchdog")),
    Wanted(needles=("Traceback",), after=3),
    Wanted(needles=("it/s", "3", "a"), sampled=True),
    Wanted(needles=("é", "中")),
)
QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def artifact(data: bytes) -> Artifact:
    return Artifact(name="log", open=lambda: io.BytesIO(data))


@given(TEXT)
@QUICK
def test_peeling_keeps_the_text(text: str) -> None:
    line = clean(text.replace("\n", " "))
    raws = [message.raw for message in peel(line)]
    assert "".join(raws) in line or not raws
    for message in peel(line, Origin(host="h")):
        assert message.raw.rstrip().endswith(message.text) or message.origin.repeated
        assert not set(message.text) & set("\n\r\x00\x1b")


@given(LINES)
@QUICK
def test_rejoining_neither_adds_nor_repeats(lines: list[str]) -> None:
    units = [LineUnit(number=n, text=clean(text)) for n, text in enumerate(lines, 1)]
    joined = list(rejoin(iter(units)))
    assert sum(unit.taken for unit in joined) == len(units)
    assert [unit.number for unit in joined] == sorted({unit.number for unit in joined})
    letters = [ch for unit in units for ch in unit.text if not ch.isspace()]
    left = [ch for unit in joined for ch in unit.text if not ch.isspace()]
    assert len(left) <= len(letters)


@given(st.binary(max_size=4000))
@QUICK
def test_selecting_from_any_bytes(data: bytes) -> None:
    fast = list(select(artifact(data), WANTED))
    assert fast == list(select(artifact(data), WANTED, plain=True))
    numbers = [line.number for line, _ in fast]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= data.count(b"\n") + 1 for number in numbers)


@given(LINES, st.sampled_from(["\n", "\r", "\r\n", ""]), st.integers(0, 3))
@QUICK
def test_no_hit_is_lost(lines: list[str], end: str, repeat: int) -> None:
    text = end.join(lines)
    text = (text + "\nfiller " * 3000) * repeat + "\nWorkNCCL(\n" + text
    found = list(select(artifact(text.encode(errors="replace")), WANTED))
    shown = "".join(line.raw for line, readers in found if 0 in readers)
    assert shown.count("WorkNCCL(") >= clean(text.replace("\n", " ")).count("WorkNCCL(") > 0


@given(
    st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=20, unique=True), st.binary()
)
@QUICK
def test_both_scanners_find_the_same(needles: list[bytes], data: bytes) -> None:
    needles = [n for n in needles if not set(n) & set(b"\r\n\x00")] or [b"x"]
    data = data + b"\n" + b"\n1".join(needles) + b"0" + data
    end = len(data) // 3 * 3
    kinds = (PlainScanner, HyperscanScanner, AhoCorasickScanner)
    plain, *others = (kind(needles).hits(data, 1, end) for kind in kinds)
    assert others == [plain, plain]


@given(TEXT)
@QUICK
def test_every_parser_on_whatever_is_selected(text: str) -> None:
    events, problems = read_artifact(artifact(text.encode(errors="surrogatepass")))
    assert problems == []
    assert all(event.source.artifact == "log" for event in events)


@given(
    st.binary(max_size=600),
    st.sampled_from([gzip.compress, bz2.compress, lzma.compress, zstandard.compress, bytes]),
    st.integers(0, 600),
    st.binary(max_size=3),
    st.sampled_from(
        [b"", b"PK\x03\x04", b"\x1f\x8b", b"\x80\x04", b"\xff\xfe", bytes(257) + b"ustar"]
    ),
)
@QUICK
def test_files_of_any_bytes(
    data: bytes, pack: type[bytes], cut: int, dirt: bytes, magic: bytes
) -> None:
    packed = pack(magic + data)
    packed = packed[:cut] + dirt + packed[cut + len(dirt) :]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.log").write_bytes(packed)
        (Path(folder) / "good.log").write_bytes(b"Watchdog\n")
        lines: dict[str, int] = {}
        with suppress(ArtifactError, UsageError):
            for item in discover([folder]):
                if isinstance(item, Artifact):
                    lines[Path(item.name).name] = 0
                    for _ in select(item, WANTED):
                        lines[Path(item.name).name] += 1
        assert lines.get("good.log", 1) == 1


@given(st.text(max_size=200))
@QUICK
def test_a_path_without_digits_tells_no_rank(path: str) -> None:
    plain = "".join(character for character in path if not character.isdecimal())
    assert (origin_of(plain).rank, origin_of(plain).local_rank) == (None, None)
    assert origin_of(path + "/rank3.log").rank == 3


@given(st.binary(max_size=600), st.text(max_size=20))
@QUICK
def test_any_beginning(head: bytes, name: str) -> None:
    assert kind_of(head, name) in FileKind
