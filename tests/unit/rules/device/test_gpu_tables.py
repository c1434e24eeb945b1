"""DEV202, DEV203, DEV204, NET203: tables of nvidia-smi stand for and against, never alone."""

from support.gpu_tables import matrix, table
from support.job_text import judge_text, raised, timed_out
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.device.gpu_missing import check as DEV204
from unhang.rules.device.gpu_reported_ill import check as DEV201
from unhang.rules.device.gpu_shared import check as DEV202
from unhang.rules.device.memory_held import check as DEV203
from unhang.rules.network.peers_far_apart import check as NET203

EACH_ITS_OWN = [(0, 4710, 70_000), (1, 4711, 70_000), (2, 4712, 70_000), (3, 4713, 70_000)]
FAR = matrix((("X", "SYS"), ("SYS", "X")))
NCCL = (
    "node1:471{0}:471{0} [{0}] NCCL INFO comm 0x7f rank {0} nranks 2 cudaDev {0} busId {0}7000"
    " commId 0xaa - Init START"
)
CHANNEL = "node1:4710:4799 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
REFUSED = (
    "node1:4710:4799 [0] transport/p2p.cc:249 NCCL WARN Cuda failure 'peer access is not supported"
    " between these two devices'"
)


def oom(rank: int) -> list[str]:
    error = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 79.15 GiB of which 1.00 GiB is free."
    )
    return raised(rank, error)


def pids(*ranks: int) -> list[str]:
    line = "[rank{0}]: node1:471{0}:471{0} [{0}] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>"
    return [line.format(rank) for rank in ranks]


class TestSharedGpu:
    def test_each_its_own(self) -> None:
        assert judge_text(DEV202, *pids(0, 1, 2, 3), **{"smi.txt": table(4, EACH_ITS_OWN)}) == []

    def test_two_ranks_on_one(self) -> None:
        text = table(4, [(0, 4710, 30_000), (0, 4711, 30_000), (2, 4712, 70_000)])
        (finding,) = judge_text(DEV202, *pids(0, 1, 2), **{"smi.txt": text})
        assert (finding.cause, finding.strength) == (Cause.DEVICE_MAP, Strength.SUPPORTS)
        assert set(finding.culprits) == {0, 1}

    def test_two_strangers_are_a_hint(self) -> None:
        text = table(4, [(0, 11, 30_000), (0, 12, 30_000)])
        (finding,) = judge_text(DEV202, "", **{"smi.txt": text})
        assert finding.strength is Strength.HINTS

    def test_two_on_each_is_meant_so(self) -> None:
        text = table(2, [(0, 11, 30_000), (0, 12, 30_000), (1, 13, 30_000), (1, 14, 30_000)])
        assert judge_text(DEV202, "", **{"smi.txt": text}) == []

    def test_a_bare_context_does_not_count(self) -> None:
        text = table(4, [(0, 4710, 70_000), (0, 4711, 512)])
        assert judge_text(DEV202, *pids(0, 1), **{"smi.txt": text}) == []


class TestHeldMemory:
    TABLE = table(4, [*EACH_ITS_OWN[:2], (0, 999, 40_000)])

    def test_a_process_that_was_left(self) -> None:
        (finding,) = judge_text(DEV203, *pids(0, 1), *oom(0), **{"smi.txt": self.TABLE})
        assert (finding.cause, finding.claim.values["pid"]) == (Cause.GPU_OOM, 999)

    def test_on_another_host_than_the_failure(self) -> None:
        log = [*pids(0, 1), "[rank7]: node9:7:7 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.9<0>"]
        report = {"node1/smi.txt": self.TABLE}
        assert judge_text(DEV203, *log, *oom(7), **report) == []
        assert judge_text(DEV203, *log, *oom(0), **report) != []

    def test_without_a_failed_allocation(self) -> None:
        assert judge_text(DEV203, *pids(0, 1), **{"smi.txt": self.TABLE}) == []

    def test_in_a_container_all_pids_are_strange(self) -> None:
        assert judge_text(DEV203, *oom(0), **{"smi.txt": self.TABLE}) == []


class TestMissingGpu:
    def test_a_host_with_fewer(self) -> None:
        hosts = {f"node-{n}/smi.txt": table(3 if n == 2 else 4) for n in range(4)}
        (finding,) = judge_text(DEV204, "", **hosts)
        assert (finding.cause, finding.strength) == (Cause.GPU_HARDWARE, Strength.HINTS)
        assert set(finding.culprit_hosts) == {"node-2"}

    def test_two_hosts_may_differ(self) -> None:
        hosts = {f"node-{n}/smi.txt": table(3 + n) for n in range(2)}
        assert judge_text(DEV204, "", **hosts) == []

    def test_a_gpu_without_its_links(self) -> None:
        kinds = [
            ["X" if i == j else "SYS" if 2 in {i, j} else "NV12" for j in range(4)]
            for i in range(4)
        ]
        (finding,) = judge_text(DEV204, "", **{"topo.txt": matrix(kinds)})
        assert finding.claim.values["gpu"] == 2

    def test_pairs_of_links_are_a_layout(self) -> None:
        kinds = [
            ["X" if i == j else "NV12" if i // 2 == j // 2 else "SYS" for j in range(4)]
            for i in range(4)
        ]
        assert judge_text(DEV204, "", **{"topo.txt": matrix(kinds)}) == []

    def test_a_gpu_that_cannot_be_read_is_a_hint(self) -> None:
        (finding,) = judge_text(DEV201, "", **{"smi.txt": table(4, broken=2)})
        assert finding.strength is Strength.HINTS


class TestFarPeers:
    def test_beside_refused_access_it_is_a_hint(self) -> None:
        log = [NCCL.format(0), NCCL.format(1), CHANNEL, REFUSED]
        (finding,) = judge_text(NET203, *log, **{"topo.txt": FAR})
        assert (finding.cause, finding.strength) == (Cause.P2P_FAULT, Strength.HINTS)

    def test_alone_it_is_nothing(self) -> None:
        log = [NCCL.format(0), NCCL.format(1), CHANNEL]
        assert judge_text(NET203, *log, **{"topo.txt": FAR}) == []
        assert judge_text(NET203, *log, timed_out(0), **{"topo.txt": FAR}) == []

    def test_nvlink_and_host_memory_are_near(self) -> None:
        log = [NCCL.format(0), NCCL.format(1), REFUSED]
        near = FAR.replace("SYS\t", "NV12\t").replace("X\tSYS", "X\tNV12")
        assert judge_text(NET203, *log, CHANNEL, **{"topo.txt": near}) == []
        shared = CHANNEL.replace("P2P/CUMEM", "SHM/direct/direct")
        assert judge_text(NET203, *log, shared, **{"topo.txt": FAR}) == []
