"""The tables of nccl-tests."""

from support.feeding import feed, only
from unhang.model.events import BandwidthMeasured, VersionSeen, WorldSeen
from unhang.parsers.nccl_tests import NcclTestsParser

BANNER = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5"
COLUMNS = "#       size         count      type   redop    root     time   algbw   busbw #wrong"


def rows(*lines: str) -> list[tuple[int, float, int | None]]:
    events = feed(NcclTestsParser, BANNER, COLUMNS, *lines)
    return [
        (e.size_bytes, e.busbw_gbps, e.wrong) for e in events if isinstance(e, BandwidthMeasured)
    ]


def test_a_row_gives_the_better_of_its_two_figures() -> None:
    row = "   134217728      33554432     float     sum      -1   4709.8   28.50   49.87      0   "
    assert rows(row + "4700.1   28.56   49.98      0") == [(134_217_728, 49.98, 0)]


def test_old_tables_have_an_error_column_and_no_root() -> None:
    row = "    33554432       8388608   float     sum    812.1   41.32   72.31  4e-07"
    assert rows(row + "    809.9   41.43   72.50  N/A") == [(33_554_432, 72.5, 0)]


def test_a_row_that_nccl_split() -> None:
    head = "    67108864      16777216     float     sum      -1node1:4711:4711 [1] NCCL INFO "
    noise = "node1:4711:4711 [0] NCCL INFO AllReduce: opCount 0 count 16777216 [nranks=2]"
    assert rows(
        head + "AllReduce: opCount 0 sendbuff 0x7",
        noise,
        "   2364.7   28.38   28.38      0" + noise,
        noise,
        "   2360.0   28.44   28.44      0",
        "# Out of bounds values : 0 OK",
    ) == [(67_108_864, 28.44, 0)]


def test_a_cut_table_says_what_it_has() -> None:
    row = "    33554432       8388608     float     sum      -1    812.1   41.32   72.31      0"
    assert rows(row) == [(33_554_432, 72.31, 0)]


def test_who_ran_where() -> None:
    events = feed(
        NcclTestsParser,
        BANNER,
        "# Using devices",
        "#  Rank  1 Group  0 Pid   4711 on    node1 device  1 [0000:65:00] NVIDIA A100-SXM4-80GB",
    )
    seen = only(WorldSeen, events)
    assert (seen.rank, seen.host, seen.pid) == (1, "node1", 4711)
    assert only(VersionSeen, events).version == "NVIDIA A100-SXM4-80GB"


def test_numbers_that_are_none_are_no_row() -> None:
    assert rows("12 34 float 1.2.3 ²", "1.2.3.4 ...", "٣ ٣ float sum 1 2 3 4") == []
