"""One operation with different sizes: of the graph, of the data, and rightly so."""

from __future__ import annotations

import pytest

from support.builders import DEFAULT_PG, by, incident, source, timeout
from support.steps import TENSOR_GROUP
from unhang.model.causes import Cause
from unhang.model.events import CollectiveTimeout
from unhang.model.finding import Strength
from unhang.model.ids import GroupRank, SeqId
from unhang.rules.desync import data_sizes_differ, parameter_sizes_differ


def sized(rank: int, op: str, numel_in: int, numel_out: int) -> CollectiveTimeout:
    return CollectiveTimeout(
        source=source(rank + 1),
        origin=by(rank),
        group_rank=GroupRank(rank),
        group=DEFAULT_PG,
        seq=SeqId(9),
        op=op,
        numel_in=numel_in,
        numel_out=numel_out,
        timeout_ms=600_000,
    )


@pytest.mark.parametrize(
    ("op", "one", "other"),
    [
        ("ALLREDUCE", 419_044_352, 406_069_248),
        ("_ALLGATHER_BASE", 3_145_728, 1_024),
        ("_REDUCE_SCATTER_BASE", 2_560, 544_997_376),
    ],
)
def test_buckets_and_parameters_show_the_graph(op: str, one: int, other: int) -> None:
    found = incident(sized(0, op, one, one), sized(1, op, other, other), sized(2, op, one, one))
    (finding,) = parameter_sizes_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.MODEL_DIVERGENCE, Strength.SUPPORTS)
    assert finding.culprits == {1}
    assert list(data_sizes_differ.check(found)) == []


@pytest.mark.parametrize(
    ("op", "one", "other"),
    [
        ("BROADCAST", 24_084_544, 64),
        ("ALLREDUCE", 11, 5),
        ("ALLGATHER", 41_000, 40_000),
        ("_ALLGATHER_BASE", 1_436_000, 1_435_000),
    ],
)
def test_data_of_the_program_shows_a_branch(op: str, one: int, other: int) -> None:
    found = incident(sized(0, op, one, one), sized(1, op, other, other))
    (finding,) = data_sizes_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)
    assert finding.culprits == {0, 1}
    assert list(parameter_sizes_differ.check(found)) == []


def test_a_flag_against_a_bucket_only_supports() -> None:
    found = incident(sized(0, "ALLREDUCE", 1, 1), sized(1, "ALLREDUCE", 2_560_000, 2_560_000))
    (finding,) = data_sizes_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.SUPPORTS)


def test_activations_of_a_tensor_group_are_data() -> None:
    found = incident(
        timeout(0, 9, "_ALLGATHER_BASE", numel=4_096, group=TENSOR_GROUP, global_rank=0),
        timeout(1, 9, "_ALLGATHER_BASE", numel=8_192, group=TENSOR_GROUP, global_rank=1),
    )
    assert list(parameter_sizes_differ.check(found)) == []
    assert len(list(data_sizes_differ.check(found))) == 1


@pytest.mark.parametrize("op", ["ALLTOALL_BASE", "ALLTOALL", "SCATTER", "SEND", "COALESCED"])
def test_sizes_that_may_differ(op: str) -> None:
    found = incident(sized(0, op, 4_096, 512), sized(1, op, 1_024, 2_048))
    assert list(parameter_sizes_differ.check(found)) == []
    assert list(data_sizes_differ.check(found)) == []


def test_an_all_gather_may_have_uneven_parts_of_one_total() -> None:
    found = incident(sized(0, "ALLGATHER", 100, 800), sized(1, "ALLGATHER", 90, 800))
    assert list(data_sizes_differ.check(found)) == []


def test_equal_sizes() -> None:
    found = incident(sized(0, "ALLREDUCE", 100, 100), sized(1, "ALLREDUCE", 100, 100))
    assert list(parameter_sizes_differ.check(found)) == []
    assert list(data_sizes_differ.check(found)) == []


def exchanged(*sizes: tuple[int, int]) -> list[CollectiveTimeout]:
    return [sized(rank, "ALLTOALL_BASE", *both) for rank, both in enumerate(sizes)]


def test_an_all_to_all_of_even_parts_has_one_size() -> None:
    found = incident(*exchanged((7000, 7000), (7000, 7000), (9100, 9100), (9100, 9100)))
    (finding,) = data_sizes_differ.check(found)
    assert (finding.cause, finding.strength) == (Cause.DESYNC, Strength.PROVES)


@pytest.mark.parametrize(
    "sizes",
    [
        ((7000, 7000), (7000, 7000), (9100, 9100), (9100, 8800)),
        ((7000, 7000), (7100, 7100), (9100, 9100)),
        ((7000, 7000), (7000, 7000), (7000, 7000)),
    ],
)
def test_uneven_parts_differ_rightly(sizes: tuple[tuple[int, int], ...]) -> None:
    assert list(data_sizes_differ.check(incident(*exchanged(*sizes)))) == []
