"""Who printed an event: prefixes, pids, local ranks, tasks and files that count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.builders import DEFAULT_PG, by, ended, incident, source, timeout
from support.crashes import gone, killed_by_kernel, raised
from unhang.assemble.numbering import ranks_by_file
from unhang.model.events import (
    ClosingSignal,
    DeviceFault,
    DeviceProblem,
    Event,
    ExceptionKind,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    PythonException,
    Reporter,
    WorldSeen,
)
from unhang.model.ids import LocalRank, Rank
from unhang.model.incident import ranks_of


def failed(*events: Event) -> frozenset[Rank]:
    """The ranks of which the incident knows that they failed by themselves."""
    return ranks_of(incident(*events).own_failures)


def printed(*, line: int = 1, artifact: str = "job.log", **who: int) -> PythonException:
    return PythonException(
        source=source(line, artifact),
        origin=by(**who),
        kind=ExceptionKind.USER,
        exception="ValueError",
        message="bad",
    )


def by_scheduler(
    task: int, host: str = "n1", reporter: Reporter = Reporter.SLURM, line: int = 1
) -> ProcessEnded:
    return ProcessEnded(
        source=source(line), origin=by(), reporter=reporter, task=task, host=host, signal=9
    )


def in_table(rank: int, *, pid: int, host: str) -> ProcessEnded:
    return ProcessEnded(
        source=source(9),
        origin=by(),
        reporter=Reporter.ELASTIC_TABLE,
        rank=Rank(rank),
        pid=pid,
        host=host,
        signal=9,
    )


def world(size: int) -> WorldSeen:
    return WorldSeen(source=source(90), origin=by(), world_size=size)


def test_local_ranks_where_no_second_host_has_room() -> None:
    waits = [timeout(r, global_rank=r, line=r + 2) for r in (0, 1, 3)]
    assert failed(printed(local_rank=2), *waits) == {2}
    assert failed(printed(local_rank=1), *waits) == frozenset()


def test_a_task_that_counts_as_its_rank() -> None:
    waits = [replace(timeout(r, line=r + 2), origin=by(task=r)) for r in (0, 1, 2)]
    assert failed(printed(task=3), *waits) == {3}


def test_a_task_alone_may_be_a_node() -> None:
    assert failed(printed(task=3)) == frozenset()


def test_as_many_tasks_as_ranks() -> None:
    assert failed(printed(task=3), world(4)) == {3}
    assert failed(printed(task=3), world(32)) == frozenset()


def test_several_tasks_of_one_host_are_no_nodes() -> None:
    closed = ClosingSignal(source=source(2), origin=by(), pid=None, task=5, host="n1", signal=15)
    assert failed(by_scheduler(4), closed) == {4}
    assert failed(by_scheduler(4)) == frozenset()


def test_a_file_that_is_named_after_a_host_is_none_of_it() -> None:
    both = [replace(printed(line=n), origin=by(host="node1", task=n)) for n in (1, 2)]
    assert failed(*both) == frozenset()


def test_a_launcher_below_the_tasks_makes_them_nodes() -> None:
    launcher = gone(2, reporter=Reporter.ELASTIC, exit_code=1, line=9)
    both = (by_scheduler(1, line=1), by_scheduler(2, line=2))
    assert failed(*both, launcher) == {2}


def test_a_task_that_prints_another_rank_is_no_rank() -> None:
    told = WorldSeen(source=source(7), origin=by(task=1), rank=Rank(8))
    assert failed(printed(task=1), printed(task=2, line=5), told, world(16)) == frozenset()


def test_the_process_rank_of_mpirun() -> None:
    assert failed(by_scheduler(5, reporter=Reporter.MPI)) == {5}


def test_a_pid_of_the_kernel_log_is_the_launcher_s() -> None:
    killed = killed_by_kernel(4711, line=1)
    reported = in_table(2, pid=4711, host="gpu-7.cluster.local")
    assert failed(killed, reported) == {2}


def test_a_pid_on_another_host_is_another_process() -> None:
    killed = killed_by_kernel(4711, line=1)
    elsewhere = replace(killed, origin=by(host="gpu-8"))
    reported = in_table(2, pid=4711, host="gpu-7.cluster.local")
    found = incident(elsewhere, reported).failures
    assert sorted(f.rank is None for f in found) == [False, True]


@pytest.mark.parametrize(("size", "ranks"), [(8, {4}), (5, {4}), (16, set())])
def test_local_ranks_of_one_host(size: int, ranks: set[int]) -> None:
    assert failed(printed(local_rank=4), world(size)) == ranks


def test_a_pod_and_its_host_are_one() -> None:
    reported = replace(in_table(4, pid=54, host="n1.cluster"), local_rank=LocalRank(4))
    from_pod = replace(reported, origin=by(host="train-0"))
    raised_there = replace(printed(), origin=by(host="train-0", local_rank=4))
    assert incident(raised_there, from_pod, world(16)).failures[0].rank == 4
    assert incident(raised_there, reported, world(16)).failures[0].rank is None


def test_files_that_count_ranks() -> None:
    files = {f"log-{n}.txt" for n in range(4)}
    spoken = {f"log-{n}.txt": frozenset({Rank(n)}) for n in range(3)}
    assert ranks_by_file(files, spoken, 4)["log-3.txt"] == 3
    assert ranks_by_file(files, spoken, None)["log-3.txt"] == 3


def test_files_whose_numbers_are_no_ranks() -> None:
    files = {f"log-{n}.txt" for n in range(4)}
    one = {"log-0.txt": frozenset({Rank(0)})}
    assert ranks_by_file(files, one, 4) == {}
    other = {**one, "log-1.txt": frozenset({Rank(3)}), "log-2.txt": frozenset({Rank(2)})}
    assert ranks_by_file(files, other, 4) == {}
    both = {**one, "log-1.txt": frozenset({Rank(1), Rank(2)})}
    assert ranks_by_file(files, both, 4) == {}
    assert ranks_by_file({*files, "log-9.txt"}, {**one, "log-1.txt": frozenset({Rank(1)})}, 4) == {}


def test_an_exception_in_a_file_of_a_series() -> None:
    waits = [
        replace(timeout(r, group=DEFAULT_PG), source=source(1, f"out-{r}.txt")) for r in (0, 1, 2)
    ]
    assert failed(printed(artifact="out-3.txt"), *waits) == {3}
    assert failed(printed(artifact="other.txt"), *waits) == frozenset()


def test_a_rank_that_names_itself_needs_no_sign() -> None:
    assert failed(raised(6), ended(0, signal=15)) == {6}


def test_the_mark_of_tensor_parallelism_alone() -> None:
    marked = replace(printed(), origin=replace(by(), actor="TP3"))
    of_two_axes = replace(printed(), origin=replace(by(), actor="DP1 TP3"))
    assert failed(marked) == {3}
    assert failed(of_two_axes) == frozenset()


def nccl(device: int, pid: int, reason: NcclReason = NcclReason.CUDA_OOM) -> NcclFailure:
    return NcclFailure(
        source=source(pid),
        origin=by(host="n1", pid=pid),
        reason=reason,
        detail="...",
        device=device,
    )


def ranks_of_devices(*events: Event) -> list[Rank | None]:
    return [e.origin.rank for e in incident(*events).all(NcclFailure)]


def test_devices_of_one_host() -> None:
    assert ranks_of_devices(nccl(0, 10), nccl(3, 13)) == [0, 3]
    assert ranks_of_devices(nccl(0, 10), nccl(3, 13), world(4)) == [0, 3]


def test_devices_that_tell_no_rank() -> None:
    assert ranks_of_devices(nccl(3, 13)) == [None]
    assert ranks_of_devices(nccl(0, 10), nccl(0, 13)) == [None, None]
    assert ranks_of_devices(nccl(0, 10), nccl(3, 13), world(16)) == [None, None]
    elsewhere = replace(nccl(1, 20), origin=by(host="n2", pid=20))
    assert ranks_of_devices(nccl(0, 10), nccl(3, 13), elsewhere) == [None, None, None]


def test_a_process_that_the_launcher_started_has_the_rank_of_its_place() -> None:
    started = [
        WorldSeen(
            source=source(n + 1),
            origin=by(),
            listed=True,
            local_rank=LocalRank(n),
            pid=5210 + n,
        )
        for n in range(4)
    ]
    assert failed(*started, killed_by_kernel(pid=5212, line=9)) == {2}
    assert failed(*started, killed_by_kernel(pid=5299, line=9)) == frozenset()


def test_a_gpu_of_a_host_whose_place_is_known() -> None:
    def out_of_memory(device: int, host: str = "b") -> DeviceFault:
        return DeviceFault(
            source=source(9),
            origin=replace(by(), host=host),
            problem=DeviceProblem.OUT_OF_MEMORY,
            device=device,
        )

    places = [
        WorldSeen(
            source=source(node + 1),
            origin=replace(by(), host=host),
            listed=True,
            node_rank=node,
            local_world_size=8,
            world_size=16,
        )
        for node, host in enumerate("ab")
    ]
    assert failed(*places, out_of_memory(5)) == {13}
    assert failed(*places, out_of_memory(0)) == frozenset()  # it may see that one only
    assert failed(*places, out_of_memory(9)) == frozenset()
    assert failed(*places, out_of_memory(5, "c")) == frozenset()


def test_processes_that_are_each_all_of_their_job_are_several_jobs() -> None:
    def told(pid: int, line: int) -> tuple[Event, Event]:
        own = by(pid=pid)
        alone = WorldSeen(source=source(line), origin=own, world_size=1, rank=Rank(0))
        return alone, replace(raised(line=line + 50), origin=own)

    one, other = told(111, 1), told(222, 2)
    at_once = incident(one[0], other[0], one[1], other[1])
    assert at_once.world.size is None
    assert {event.origin.rank for event in at_once.events} == {None}
    one_after_the_other = incident(*one, *other)
    assert one_after_the_other.world.size == 1
