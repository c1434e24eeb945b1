"""`unhang bench`: statistics by simulation, tables that others can read, and real ranks."""

import json
import math
import random
from importlib.util import find_spec

import pytest
from scipy import stats  # type: ignore[import-untyped]

import unhang
from unhang.benching import parse_sizes
from unhang.benching.statistics import decide, needed, ratio, t_quantile
from unhang.commands import invoke
from unhang.errors import UsageError
from unhang.model.bench import BenchComparison, BenchPair, BenchReport, BenchRow, Speed
from unhang.model.comparison import Interval
from unhang.model.events import BandwidthMeasured, Event
from unhang.parsers.nccl_tests import NcclTestsParser
from unhang.reporters.bench import FORMS, render_bench
from unhang.reporters.style import Style
from unhang.sources.line import Line


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 30])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_quantiles_of_t(freedom: int, level: float) -> None:
    assert t_quantile(freedom, level) == pytest.approx(
        stats.t.ppf((1 + level) / 2, freedom), rel=1e-6
    )


def turns(
    chance: random.Random, runs: int, gain: float, noise: float
) -> tuple[list[float], list[float]]:
    """Two variants in turns: what disturbs a turn disturbs both; each has noise of its own."""
    before, after = [], []
    for _ in range(runs):
        shared = math.exp(chance.gauss(0, 5 * noise))
        before.append(shared * math.exp(chance.gauss(0, noise)))
        after.append(shared * math.exp(chance.gauss(0, noise)) / gain)
    return before, after


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("gain", [1.0, 1.3])
def test_the_interval_holds_the_truth_as_often_as_it_says(runs: int, gain: float) -> None:
    chance = random.Random(runs)
    trials = 2_000
    held = 0
    for _ in range(trials):
        found = ratio(*turns(chance, runs, gain, 0.1))
        held += found.low <= gain <= found.high
    assert 0.935 < held / trials < 0.965


def test_equal_variants_are_rarely_called_different() -> None:
    chance = random.Random(7)
    answers = [decide(*turns(chance, 5, 1.0, 0.05))[0] for _ in range(1_000)]
    called = sum(answer in (Speed.FASTER, Speed.SLOWER) for answer in answers)
    assert called / len(answers) < 0.07


def test_a_gain_is_found_and_has_its_direction() -> None:
    chance = random.Random(8)
    assert decide(*turns(chance, 8, 1.5, 0.05))[0] is Speed.FASTER
    assert decide(*turns(chance, 8, 1 / 1.5, 0.05))[0] is Speed.SLOWER
    assert decide(*turns(chance, 20, 1.0, 0.005))[0] is Speed.NO_DIFFERENCE


def test_runs_that_are_said_to_be_needed_decide() -> None:
    chance = random.Random(9)
    before, after = turns(chance, 6, 1.0, 0.08)
    answer, _, more = decide(before, after)
    assert answer is Speed.MORE_RUNS
    assert more is not None
    found = [ratio(*turns(chance, more, 1.0, 0.08)) for _ in range(50)]
    widths = sorted(one.high / one.estimate for one in found)
    assert widths[25] < 1.10


def test_one_turn_tells_nothing_of_its_noise() -> None:
    assert decide([1.0], [0.5])[::2] == (Speed.MORE_RUNS, 5)
    assert needed([1.0], [0.5]) == 5


def report() -> BenchReport:
    variant, other = (
        {"NCCL_ALGO": "Ring", "backend": "gloo"},
        {"NCCL_ALGO": "Tree", "backend": "gloo"},
    )
    rows = tuple(
        BenchRow(operation="all_reduce", size_bytes=size, variant=one, runs_s=(0.001, 0.002),
                 seconds=0.0015, algbw=size / 0.0015, busbw=1.5 * size / 0.0015)
        for one in (variant, other) for size in (4096, 1 << 20)
    )  # fmt: skip
    comparison = BenchComparison(variant=other, baseline=variant, answer=Speed.MORE_RUNS, runs=2,
                                 ratio=Interval(1.0, 0.0, math.inf), runs_needed=5)  # fmt: skip
    return BenchReport(hosts=("a",), world=4, torch="2.9.1", rows=rows, comparisons=(comparison,),
                       problems=("\x1b[2Jx",))  # fmt: skip


def test_our_own_reader_of_nccl_tests_reads_the_table() -> None:
    parser = NcclTestsParser()
    events: list[Event] = []
    for number, text in enumerate(render_bench(report(), "nccl-tests").splitlines(), start=1):
        events += parser.feed(Line(artifact="x", number=number, text=text, raw=text))
    events += parser.finish()
    found = [e for e in events if isinstance(e, BandwidthMeasured)]
    assert [(e.size_bytes, e.wrong) for e in found] == [(4096, 0), (1 << 20, 0)] * 2
    assert found[1].busbw_gbps == pytest.approx(1.5 * (1 << 20) / 0.0015 / 1e9, abs=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_form(form: str, language: str) -> None:
    text = render_bench(report(), form, Style(language=language))
    assert "\x1b" not in text
    assert "all_reduce" in text


def test_sizes() -> None:
    assert parse_sizes("4KiB,1MB") == [4096, 1_000_000]
    with pytest.raises(UsageError, match="goes down"):
        parse_sizes("4MiB..4KiB")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--op", "alltoall"), "is not an operation"),
        (("--sweep", "LD_PRELOAD=a,b"), "expected NAME=a,b"),
        (("--sweep", "NCCL_NET_PLUGIN=a,b"), "expected NAME=a,b"),
        (("--sweep", "NCCL_ALGO"), "expected NAME=a,b"),
        (("--backend", "mpi"), "expected gloo or nccl"),
        (("--group", "node"), "is not a group"),
        (("--ranks", "1"), "expected 2 to"),
        (("--runs", "0"), "at least 1"),
        (("--sizes", "many"), "expected a size"),
    ],
)
def test_refusals(words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(("bench", *words)) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.process
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_real_ranks_in_turns() -> None:
    found = unhang.bench(
        operations=("all_reduce", "all_to_all", "send_recv"), sizes="4KiB", repeats=2, runs=1,
        sweep=("OMP_NUM_THREADS=1,2",), backend="gloo", ranks=2,
    )  # fmt: skip
    assert found is not None
    assert found.problems == ()
    assert [row.wrong for row in found.rows] == [0] * 6
    assert all(row.seconds > 0 for row in found.rows)
    assert [c.answer for c in found.comparisons] == [Speed.MORE_RUNS]
    data = json.loads(render_bench(found, "json"))
    assert data["schema"] == "unhang.bench/1"


@pytest.mark.process
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_real_pairs_and_the_ranks_of_a_host() -> None:
    found = unhang.bench(sizes="64KiB", repeats=2, backend="gloo", ranks=3, groups=("host", "pair"))
    assert found is not None
    assert found.problems == ()
    assert {(p.one, p.other) for p in found.pairs} == {("0", "1"), ("0", "2"), ("1", "2")}
    assert all(p.rate is not None and p.rate > 0 for p in found.pairs)
    (row,) = found.rows
    assert row.variant == {"backend": "gloo", "group": "host"}
    assert row.busbw == pytest.approx(row.algbw * 4 / 3)


def mapped(count: int) -> list[str]:
    """The map of hosts: the last two reach each other slowly, 0 and 1 not at all."""
    special: dict[tuple[int, int], float | None] = {(0, 1): None, (count - 2, count - 1): 1e8}
    pairs = tuple(
        BenchPair(one=f"h{a}", other=f"h{b}", rate=special.get((a, b), 1e9))
        for b in range(count)
        for a in range(b)
    )
    hosts = tuple(f"h{i}" for i in range(count))
    text = render_bench(BenchReport(hosts=hosts, world=count, torch="2", rows=(), pairs=pairs), "")
    return [line.split(maxsplit=1)[1].strip() for line in text.splitlines()[-count:]]


def test_a_map_of_few_shows_numbers() -> None:
    rows = [line.split() for line in mapped(4)]
    assert rows[0] == ["·", "0.00", "1.00", "1.00"]
    assert rows[2] == ["1.00", "1.00", "·", "0.10"]


def test_a_map_of_many_shows_shades() -> None:
    rows = mapped(40)
    assert rows[0] == "·x" + "█" * 38
    assert rows[39] == "█" * 38 + "x·"
