"""Tables and announcements of any form tell which process has which rank."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.feeding import feed
from support.feeding import line as as_line
from unhang.model.events import WorldSeen
from unhang.model.provenance import Origin
from unhang.parsers.process_lists import ProcessListsParser

no_deadline = settings(deadline=None)


def told(text: str) -> list[tuple[int | None, int | None, int | None, str | None]]:
    """Rank, local rank, pid and host of each announcement in `text`."""
    events = feed(ProcessListsParser, text)
    return [(e.rank, e.local_rank, e.pid, e.host) for e in events if isinstance(e, WorldSeen)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "- (ip=10.0.0.2, pid=4711) world_rank=2, local_rank=0, node_rank=1",
            (2, 0, 4711, "10.0.0.2"),
        ),
        ("mpi rank 4 local 0 on gpu-1 pid 210", (4, 0, 210, "gpu-1")),
        ("launching c-07 on host hd125:45454 for task worker:5 (RANK=5)", (5, None, None, "hd125")),
        ('{"rank": 3, "local_rank": 1, "host": "gpu-2"}', (3, 1, None, "gpu-2")),
    ],
)
def test_one_process(line: str, expected: tuple[int | None, ...]) -> None:
    assert told(line) == [expected]


def test_several_processes_in_a_line() -> None:
    pairs = [(rank, pid) for rank, _, pid, _ in told("python pid 4711 rank 0; pid 4712 rank 1")]
    assert pairs == [(0, 4711), (1, 4712)]


@no_deadline
@given(
    st.integers(min_value=0, max_value=9_999),
    st.integers(min_value=600, max_value=99_999),
    st.sampled_from(["rank", "global_rank", "world_rank", "RANK", "SLURM_PROCID"]),
    st.sampled_from(["=", ": ", " = ", " "]),
    st.sampled_from([", ", " ", " | "]),
)
def test_any_wording_of_a_pair(rank: int, pid: int, key: str, sign: str, joint: str) -> None:
    assert told(f"ready: {key}{sign}{rank}{joint}pid{sign}{pid}")[0][0] == rank


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("node_rank=2 nproc_per_node=4 -> global ranks 8..11", range(8, 12)),
        ("NODE_RANK=2 NPROC=2 (ranks 4,5)", (4, 5)),
        ("machine rank 1, world ranks 4-7", range(4, 8)),
    ],
)
def test_the_ranks_of_a_host(line: str, expected: range) -> None:
    printed = replace(as_line(line), origin=Origin(host="job-2"))
    events = [e for e in feed(ProcessListsParser, printed) if isinstance(e, WorldSeen)]
    assert [e.rank for e in events if e.host == "job-2" and e.listed] == list(expected)


def test_a_table_of_hosts() -> None:
    rows = told("process table: PROCID 0-1 -> ra11, 2-3 -> ra12")
    assert [(rank, host) for rank, _, _, host in rows] == [
        (0, "ra11"),
        (1, "ra11"),
        (2, "ra12"),
        (3, "ra12"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "rank 3 on gpu-1 pid 4711 exited with code 1",
        "sending from rank 0 on gpu-1 to rank 3 on gpu-2",
        "node_rank=1 host=gpu-1",
        "lora rank 16 on gpu-1",
        "tp_rank=3 pid=4711 host=gpu-1",
        "rank 3 step 100 on gpu-1",
        "rank 3 lost its peer gpu-1 (pid 4711)",
        "rank 3/8 ready on cuda:3",
    ],
)
def test_failures_and_other_axes_say_nothing_of_who_is_who(line: str) -> None:
    assert told(line) == []


def test_the_launcher_s_list_of_what_it_started() -> None:
    text = (
        "[INFO] [launch.py:256:main] process 5210 spawned with command: ['/opt/bin/python', '-u',"
        " 'tune.py', '--local_rank=2', '--config', 'tune.yaml']"
    )
    assert told(text) == [(None, 2, 5210, None)]


def test_intel_s_table_and_a_host_s_ranks() -> None:
    row = "MPI startup(): 7       77213    gn07       {36-47}"
    (event,) = feed(ProcessListsParser, row)
    assert isinstance(event, WorldSeen)
    assert (event.rank, event.pid, event.host) == (7, 77213, "gn07")
    told = feed(ProcessListsParser, "pg2-18: ranks 8-15")
    assert [e.rank for e in told if isinstance(e, WorldSeen)] == list(range(8, 16))
    assert {e.host for e in told if isinstance(e, WorldSeen)} == {"pg2-18"}
    assert feed(ProcessListsParser, "pg2-18: ranks 8-15 timed out") == []


@pytest.mark.parametrize(("gpus", "ranks"), [(1, [0, 1]), (8, [])])
def test_containers_of_sagemaker(gpus: int, ranks: list[int]) -> None:
    told = feed(ProcessListsParser, f'SM_HOSTS=["algo-1","algo-2"] SM_NUM_GPUS={gpus}')
    assert [e.rank for e in told if isinstance(e, WorldSeen)] == ranks
