"""From the address of a GPU to the rank whose process computes on it."""

from __future__ import annotations

from support.builders import by, source
from unhang.assemble.gpu_owners import GpuOwners
from unhang.model.events import CommunicatorStage, GpuState, GpuUuid, InitStage, WorldSeen
from unhang.model.ids import LocalRank, Rank

UUID = "GPU-00000000-0000-0000-0000-000000000001"


def connected(rank: int, bus: str, host: str = "n1", size: int = 4) -> CommunicatorStage:
    return CommunicatorStage(
        source=source(),
        origin=by(host=host),
        stage=InitStage.COMPLETE,
        comm_rank=rank,
        size=size,
        bus_id=bus,
    )


def listed(index: int, bus: str, host: str | None = None) -> GpuState:
    origin = by() if host is None else by(host=host)
    return GpuState(source=source(), origin=origin, index=index, bus_id=bus)


def test_the_communicator_of_the_world_tells_who_has_an_address() -> None:
    owners = GpuOwners([connected(2, "7000"), connected(3, "f000")], 4, {})
    assert owners.rank_of("n1", "0000:0F:00.0") == 3
    assert owners.rank_of(None, "0000:07:00") == 2, "the job ran on one host"
    assert owners.rank_of("n1", "0000:11:00.0") is None


def test_an_address_on_two_hosts_is_that_of_the_host_that_speaks() -> None:
    owners = GpuOwners([connected(0, "7000"), connected(1, "7000", host="n2")], 4, {})
    assert owners.rank_of("n2", "0000:07:00.0") == 1
    assert owners.rank_of(None, "0000:07:00.0") is None


def test_the_rank_in_a_part_of_the_world_tells_nothing() -> None:
    assert GpuOwners([connected(2, "7000", size=3)], 4, {}).rank_of("n1", "0000:07:00.0") is None


def test_a_table_of_as_many_gpus_as_ranks_numbers_them() -> None:
    table = [listed(0, "00000000:07:00.0"), listed(1, "00000000:0F:00.0")]
    assert GpuOwners(table, 2, {}).rank_of(None, "0000:0f:00") == 1
    assert GpuOwners(table, 4, {}).rank_of(None, "0000:0f:00") is None, "two GPUs, four ranks"


def test_a_host_whose_first_rank_is_known_goes_on_from_there() -> None:
    table = [listed(0, "00000000:07:00.0", "n2"), listed(1, "00000000:0F:00.0", "n2")]
    assert GpuOwners(table, 16, {"n2": Rank(8)}).rank_of("n2", "0000:0f:00") == 9


def test_a_uuid_leads_from_the_driver_to_the_list() -> None:
    driver = GpuUuid(source=source(), origin=by(), uuid=UUID, bus_id="0000:0F:00")
    other = GpuUuid(source=source(), origin=by(), uuid=UUID[:-1] + "0", index=0)
    mine = GpuUuid(source=source(), origin=by(), uuid=UUID, index=1)
    assert GpuOwners([driver, other, mine], 2, {}).rank_of(None, "0000:0f:00") == 1
    assert GpuOwners([driver, other], 1, {}).rank_of(None, "0000:0f:00") is None


def counted(count: int, artifact: str = "job.log") -> list[WorldSeen]:
    """A launcher's list: process n on the GPU at bus n."""
    return [
        WorldSeen(
            source=source(artifact=artifact),
            origin=by(),
            listed=True,
            local_rank=LocalRank(n),
            bus_id=f"0000:{n:02x}:00.0",
        )
        for n in range(count)
    ]


def test_a_launcher_s_list_counts_ranks_where_it_lists_them_all() -> None:
    assert GpuOwners(counted(4), 4, {}).rank_of(None, "0000:02:00.0") == 2
    assert GpuOwners(counted(4), None, {}).rank_of(None, "0000:02:00.0") == 2
    assert GpuOwners(counted(4), 8, {}).rank_of(None, "0000:02:00.0") is None
    two = [*counted(4), *counted(4, artifact="other.log")]
    assert GpuOwners(two, None, {}).rank_of(None, "0000:02:00.0") is None
