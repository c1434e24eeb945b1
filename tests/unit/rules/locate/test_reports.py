"""Rules on RAS and on reports of tools on hosts."""

from job_text import judge_text, timed_out
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.device.gpu_reported_ill import RULE as DEV201
from unhang.rules.locate.launches_behind import RULE as LOC205
from unhang.rules.locate.process_does_not_answer import RULE as LOC206
from unhang.rules.network.port_reported_down import RULE as NET201

TABLE = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         2         8        16        16   RUNNING  MISMATCH\n"
)
COUNTS = (
    "#0-0 (fa93daea854b060b) MISMATCH\n"
    "  Communicator ranks have different {op} operation counts\n"
    "  15 ranks have launched up to operation 640\n"
    "  Rank 12 has launched up to operation {count} -- GPU 4 managed by process 3230 on node n7\n\n"
)
PORT = "CA '{name}'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 10\n"
GPU = "GPU 00000000:9B:00.0\n    Volatile\n        DRAM Uncorrectable : 3\n"


def ras(op: str = "AllReduce", count: int = 639) -> str:
    return TABLE + COUNTS.format(op=op, count=count)


class TestLaunches:
    def test_one_rank_behind(self) -> None:
        (finding,) = judge_text(LOC205, timed_out(0), **{"ras.txt": ras()})
        assert (set(finding.culprits), finding.strength) == ({12}, Strength.SUPPORTS)

    def test_one_rank_ahead_is_not_the_one(self) -> None:
        (finding,) = judge_text(LOC205, timed_out(0), **{"ras.txt": ras(count=641)})
        assert finding.culprits == frozenset()

    def test_one_answer_of_a_job_that_runs_is_a_hint(self) -> None:
        (finding,) = judge_text(LOC205, "", **{"ras.txt": ras()})
        assert finding.strength is Strength.HINTS

    def test_two_answers_that_agree_are_more(self) -> None:
        (finding,) = judge_text(LOC205, "", **{"ras.txt": ras() + ras()})
        assert finding.strength is Strength.SUPPORTS

    def test_sends_and_roots_may_differ(self) -> None:
        assert judge_text(LOC205, "", **{"ras.txt": ras("SendRecv")}) == []
        assert judge_text(LOC205, "", **{"ras.txt": ras("Broadcast")}) == []


class TestNoAnswer:
    MISSING = (
        "#0-0 (fa93daea854b060b) INCOMPLETE\n"
        "  Missing communicator data from {count} rank\n"
        "  Rank 1 -- GPU 0 managed by process 6000 on node 10.0.0.7\n"
    )

    def test_the_rank_is_named(self) -> None:
        (finding,) = judge_text(LOC206, "", **{"ras.txt": TABLE + self.MISSING.format(count=1)})
        assert (set(finding.culprits), set(finding.culprit_hosts)) == ({1}, {"10.0.0.7"})

    def test_where_most_are_missing_it_is_ras_itself(self) -> None:
        text = TABLE + self.MISSING.format(count=12)
        assert judge_text(LOC206, "", **{"ras.txt": text}) == []


class TestGpus:
    def test_errors_without_a_word_of_the_job_are_a_hint(self) -> None:
        (finding,) = judge_text(DEV201, "", **{"smi.txt": GPU})
        assert (finding.cause, finding.strength) == (Cause.GPU_HARDWARE, Strength.HINTS)

    def test_an_xid_of_the_host_makes_it_more(self) -> None:
        log = "NVRM: Xid (PCI:0000:9b:00): 94, pid=4711, name=python3, Contained: SM"
        (finding,) = judge_text(DEV201, log, **{"smi.txt": GPU})
        assert finding.strength is Strength.SUPPORTS

    def test_a_gpu_that_is_well(self) -> None:
        assert judge_text(DEV201, "", **{"smi.txt": GPU.replace(": 3", ": 0")}) == []


class TestPorts:
    NAMED = (
        "node1:4711:4720 [0] transport/net_ib.cc:1 NCCL WARN NET/IB: Got completion from peer "
        "10.0.0.7<43210> with status=12 opcode=1 len=0 vendor err 129 (Send) hca mlx5_3"
    )

    def test_a_port_that_nccl_names(self) -> None:
        (finding,) = judge_text(NET201, self.NAMED, **{"ib.txt": PORT.format(name="mlx5_3")})
        assert (finding.cause, finding.strength) == (Cause.RDMA_FAULT, Strength.SUPPORTS)

    def test_any_other_port_is_a_hint(self) -> None:
        (finding,) = judge_text(NET201, self.NAMED, **{"ib.txt": PORT.format(name="mlx5_0")})
        assert finding.strength is Strength.HINTS

    def test_ports_that_are_up(self) -> None:
        text = PORT.format(name="mlx5_0").replace("Down", "Active")
        assert judge_text(NET201, "", **{"ib.txt": text}) == []
