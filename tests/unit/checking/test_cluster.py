"""The parts of a check of a cluster: seats, messages, agreement, links, pairs, arithmetic."""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from unhang.checking.agreement import differences, offsets
from unhang.checking.cluster import ClusterRequest, Ramp
from unhang.checking.collectives import OPERATIONS, bandwidths, weight
from unhang.checking.hardware import furthest_below, promised_rates
from unhang.checking.hub import Hub, Line, call
from unhang.checking.isolation import Group
from unhang.checking.launched import find_seat
from unhang.checking.links import connect, listen, serve
from unhang.checking.pair_tests import PairTests, why_failed
from unhang.checking.stuck import judge_stuck
from unhang.checking.worker_process import WorkerProcess
from unhang.errors import UsageError
from unhang.model.preflight import Stage, Status
from unhang.model.provenance import Message

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "gpu0", "MASTER_PORT": "29500"}  # fmt: skip
SRUN = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_STEP_NODELIST": "gpu[0-3]",
    "SLURM_JOB_ID": "77",
}
MPIRUN = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "MASTER_ADDR": "gpu0",
          "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}  # fmt: skip
MPICH = {"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2",
         "MASTER_ADDR": "gpu0"}  # fmt: skip


@pytest.mark.parametrize("environ", [TORCHRUN, SRUN, MPIRUN, MPICH])
def test_the_seat_that_a_launcher_gives(environ: dict[str, str]) -> None:
    seat = find_seat(environ)
    assert seat is not None
    assert (seat.rank, seat.world, seat.local_rank, seat.local_world) == (3, 8, 1, 2)
    assert seat.address == "gpu0"
    assert 1024 < seat.port < 65_000
    other = find_seat({**environ, "SLURM_PROCID": "5"} if environ is SRUN else environ)
    assert other is not None
    assert (other.port, other.key) == (seat.port, seat.key)


def test_without_a_launcher_there_is_no_seat() -> None:
    assert find_seat({}) is None
    assert find_seat({"RANK": "0", "WORLD_SIZE": "1"}) is None


def test_rank_0_must_be_known() -> None:
    environ = {name: value for name, value in MPIRUN.items() if name != "MASTER_ADDR"}
    with pytest.raises(UsageError, match="MASTER_ADDR"):
        find_seat(environ)


def test_who_differs_from_most() -> None:
    values: dict[str, dict[str, object]] = {
        f"h{i}": {"torch": "2.9.1", "mtu": 9000} for i in range(4)
    }
    values["h2"] = {"torch": "2.7.1", "mtu": 9000}
    (one,) = differences(values)
    assert (one.name, one.status, one.usual, one.others) == (
        "torch", Status.FAIL, "2.9.1", {"h2": "2.7.1"}
    )  # fmt: skip


def test_of_two_nobody_is_accused() -> None:
    (one,) = differences({"a": {"kernel": "6.1"}, "b": {"kernel": "6.8"}})
    assert (one.usual, set(one.others), one.status) == (None, {"a", "b"}, Status.WARN)


def test_a_value_that_one_does_not_have() -> None:
    (one,) = differences({"a": {"NCCL_ALGO": "Tree"}, "b": {}, "c": {}})
    assert (one.usual, one.others) == ("unset", {"a": "Tree"})


def test_offsets_come_from_the_quickest_question() -> None:
    rounds = [(10.0, 16.0, 14.0), (20.0, 25.05, 20.1)]
    assert offsets({"a": rounds})["a"] == pytest.approx(5.0)


@pytest.mark.parametrize("ranks", [2, 3, 8, 64])
@pytest.mark.parametrize("name", OPERATIONS)
def test_bandwidth_against_what_the_wires_carry(name: str, ranks: int) -> None:
    """The busiest rank's bytes in one direction in a ring, counted step by step."""
    size, seconds = ranks * 1_000_000, 0.5
    part = size // ranks
    carried = {
        "all_reduce": sum(part for _ in range(2 * (ranks - 1))),
        "all_gather": sum(part for _ in range(ranks - 1)),
        "reduce_scatter": sum(part for _ in range(ranks - 1)),
        "all_to_all": sum(part for other in range(ranks) if other != 0),
        "broadcast": size,
        "reduce": size,
        "send_recv": size,
    }[name]
    algbw, busbw = bandwidths(name, size, seconds, ranks)
    assert algbw == pytest.approx(size / seconds)
    assert busbw == pytest.approx(carried / seconds)


def test_sums_of_many_ranks_are_exact() -> None:
    assert sum(map(weight, range(16_384))) * 97 < 2**24
    assert len({weight(rank) for rank in range(8)}) == 8


def _hub() -> tuple[Hub, int]:
    with socket.create_server(("", 0)) as server:
        port: int = server.getsockname()[1]
    return Hub(port, "key"), port


def _join(port: int, rank: int, key: str = "key") -> Line:
    return call("127.0.0.1", port, {"rank": rank, "key": key, "host": f"h{rank}"}, 10.0)


@pytest.mark.process
def test_orders_and_answers() -> None:
    hub, port = _hub()

    def member(rank: int) -> None:
        line = _join(port, rank)
        while (order := line.receive(time.monotonic() + 20)) is not None:
            if order["do"] == "add" and rank != 2:
                line.send({"tag": order["tag"], "sum": order["number"] + rank})
            if order["do"] == "leave" and rank == 1:
                break
        line.close()

    threads = [threading.Thread(target=member, args=(rank,), daemon=True) for rank in range(3)]
    for thread in threads:
        thread.start()
    hub.gather(3, time.monotonic() + 20)
    assert set(hub.hellos) == {0, 1, 2}
    answers = hub.ask("1", {rank: {"do": "add", "number": 10} for rank in range(3)}, 1.0)
    assert {rank: answer["sum"] for rank, answer in answers.items()} == {0: 10, 1: 11}
    hub.order(1, {"do": "leave"})
    begun = time.monotonic()
    assert hub.ask("2", {1: {"do": "add", "number": 1}}, 20.0) == {}
    assert time.monotonic() - begun < 15, "who has gone is not waited for"
    assert hub.lost == {1}
    hub.close()
    for thread in threads:
        thread.join(10)


@pytest.mark.process
@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b'{"rank": 0, "key": "other"}\n',
        b'{"rank": true}\n',
        b"\n",
    ],
)
def test_strangers_are_sent_away(text: bytes) -> None:
    hub, port = _hub()
    stranger = socket.create_connection(("127.0.0.1", port))
    stranger.sendall(text)
    hub.gather(1, time.monotonic() + 0.5)
    assert hub.hellos == {}
    hub.close()
    stranger.close()


@pytest.mark.process
def test_where_nobody_answers_it_is_said_in_one_sentence() -> None:
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UsageError, match=r"rank 0 cannot be reached at 127\.0\.0\.1"):
        call("127.0.0.1", port, {}, 1.0)


@pytest.mark.process
def test_a_link_is_measured_at_both_ends() -> None:
    server = listen("127.0.0.1")
    port = server.getsockname()[1]
    ends: list[Any] = []
    thread = threading.Thread(target=lambda: ends.append(serve(server, 10.0)))
    thread.start()
    calls = connect("127.0.0.1", port, "127.0.0.1", 10.0)
    thread.join(30)
    (serves,) = ends
    for end in (calls, serves):
        assert (end.error, end.bytes_per_s > 1_000_000) == ("", True)
        assert end.segments > 10
    assert calls.rtt_s is not None


@pytest.mark.process
def test_a_link_that_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "cannot connect" in connect("127.0.0.1", port, "127.0.0.1", 1.0).error


@pytest.mark.parametrize(
    ("mbit", "rate", "starved", "below"),
    [
        ((10_000, 10_000), 1.1e9, 0.0, False),
        ((10_000, 10_000), 4e8, 0.0, True),
        ((10_000, 10_000), 4e8, 0.5, False),  # its ends had no core
        ((10_000, 1_000), 1.1e8, 0.0, False),  # the slower end counts
        ((10_000, None), 1e8, 0.0, False),  # a virtual one promises nothing
        ((400_000, 400_000), 3e9, 0.0, False),  # one stream cannot fill it
    ],
)
def test_a_link_is_held_against_its_hardware(
    mbit: tuple[int | None, int | None], rate: float, starved: float, *, below: bool
) -> None:
    stages = [
        Stage(name="nics", status=Status.PASS, message=Message(key="ok.nics"), host=host,
              measured={"interface_mbit": value})
        for host, value in zip("ab", mbit, strict=True)
    ]  # fmt: skip
    pair = ("a", "b")
    promised = promised_rates(stages, [pair])
    assert promised.get(pair, 0) <= min(value or 0 for value in mbit) * 1e6 / 8
    found = furthest_below({pair: rate}, promised, {pair: starved})
    assert found == (pair if below else None)


class Wires:
    """Answers orders as hosts would, whose links have such rates and losses."""

    def __init__(self, rates: Mapping[Group, Sequence[float]], lost: Mapping[Group, int]) -> None:
        self.hosts = ("a", "b", "c", "d")
        self._rates = {pair: list(values) for pair, values in rates.items()}
        self._lost = lost

    def ask(self, orders: Mapping[int, Mapping[str, Any]], _limit_s: float) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        for rank, order in orders.items():
            if order["do"] == "listen":
                answers[rank] = {"port": rank}
            if order["do"] == "connect":
                pair = (self.hosts[order["port"]], self.hosts[rank])
                left = self._rates.get(pair, [1e9])
                rate = left.pop(0) if len(left) > 1 else left[0]
                (starved,) = self._rates.get(("starved", ""), [0.0])
                seen = {"bytes_per_s": rate, "segments": 10_000, "starved": starved / 2}
                seen["retransmitted"] = self._lost.get(pair, 0)
                answers[rank] = answers[order["port"]] = seen
        return answers

    def outcomes(self) -> list[bool]:
        leaders = {host: rank for rank, host in enumerate(self.hosts)}
        tests = PairTests(self.ask, None, leaders, dict.fromkeys(self.hosts, "10.0.0.1"))
        return tests.test((("a", "b"), ("c", "d")))


@pytest.mark.parametrize(
    ("rates", "lost", "outcomes"),
    [
        ({}, {}, [True, True]),
        ({("c", "d"): [1e8]}, {}, [True, False]),
        ({("c", "d"): [1e8, 1e8, 9e8]}, {}, [True, True]),
        ({("c", "d"): [6e8]}, {}, [True, True]),
        ({("c", "d"): [1e8], ("a", "b"): [1e9, 1e9, 2e8]}, {}, [True, True]),  # all, by then
        ({("c", "d"): [1e8], ("starved", ""): [0.9]}, {}, [True, True]),
        ({("c", "d"): [1e6], ("starved", ""): [0.9]}, {}, [True, False]),
        ({}, {("a", "b"): 300}, [False, True]),
        ({}, {("a", "b"): 30}, [True, True]),
    ],
)
def test_links_are_judged_by_the_others_and_measured_again(
    rates: dict[Group, list[float]], lost: dict[Group, int], outcomes: list[bool]
) -> None:
    assert Wires(rates, lost).outcomes() == outcomes


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "did not answer"),
        ({"hung_s": 40.0, "entered": {"operation": "all_reduce"}}, "all_reduce did not end"),
        ({"error": "RuntimeError: x"}, "RuntimeError: x"),
        ({"results": [{"operation": "all_gather", "wrong": 3}]}, "3 values are wrong"),
        ({"results": [{"operation": "all_gather", "wrong": 0}]}, ""),
    ],
)
def test_why_a_rank_failed(answer: dict[str, Any] | None, words: str) -> None:
    why = why_failed(answer)
    assert words in why
    assert bool(why) == bool(words)


@pytest.mark.process
def test_a_worker_that_hangs_says_where_and_is_ended() -> None:
    worker = WorkerProcess(0, "gloo")
    order = {"do": "group", "index": 1, "size": 2, "address": "127.0.0.1", "port": 1,
             "backend": "gloo", "limit_s": 60.0, "operations": []}  # fmt: skip
    try:
        started = worker.start()
        if "error" in started:
            pytest.skip(f"torch is not installed: {started['error']}")
        answer = worker.run(order, 3.0)
    finally:
        worker.close()
    assert answer["hung_s"] == 3.0
    assert "_group" in answer["log"], "its stack"
    stage = judge_stuck("whole", {1: answer})
    assert stage is None or stage.status is Status.FAIL


@pytest.mark.process
def test_ranks_that_never_come_are_told_and_named() -> None:
    hub, _ = _hub()
    request = ClusterRequest(join_s=0.3, expected=("gpu0", "gpu1"))
    ramp = Ramp(hub, 4, request)
    ramp.climb()
    hub.close()
    (absent,) = [s for s in ramp.results.stages if s.name == "rendezvous"]
    assert (absent.status, absent.ranks) == (Status.FAIL, frozenset(range(4)))
    assert {s.host for s in ramp.results.suspects} == {"gpu0", "gpu1"}
    skipped = {s.name for s in ramp.results.stages if s.status is Status.SKIP}
    assert skipped >= {"alone", "within", "pairs", "whole"}
