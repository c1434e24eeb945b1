"""Rules on RAS and on reports of tools on hosts."""

from support.job_text import judge_text, timed_out
from support.ras_answers import answer, communicator, member, missing
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.device.gpu_reported_ill import check as DEV201
from unhang.rules.locate.launches_behind import check as LOC205
from unhang.rules.locate.launches_equal import check as LOC207
from unhang.rules.locate.process_does_not_answer import check as LOC206
from unhang.rules.locate.status_differs import check as LOC210
from unhang.rules.network.port_reported_down import check as NET201

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

    def test_json_names_those_behind_in_a_part(self) -> None:
        whole = communicator(*map(member, range(8)), name="aa")
        part = communicator(*(member(i, of=2 * i) for i in range(3)), member(3, 1, of=6), name="bb")
        (finding,) = judge_text(LOC205, timed_out(0), **{"ras.json": answer(whole, part)})
        assert set(finding.culprits) == {6}

    def test_json_does_not_name_who_waits_elsewhere(self) -> None:
        """Rank 2 is behind for the world because it waits for rank 3 in their pair."""
        world = communicator(*(member(r, 640 - (r in {2, 3})) for r in range(8)), name="aa")
        pair = communicator(member(0, 9, of=2), member(1, 8, of=3), name="bb")
        (finding,) = judge_text(LOC205, timed_out(0), **{"ras.json": answer(world, pair)})
        assert set(finding.culprits) == {3}


class TestLaunchesEqual:
    WELL = communicator(*map(member, range(8)))

    def test_all_is_well_while_a_call_waits(self) -> None:
        (finding,) = judge_text(LOC207, timed_out(0), **{"ras.json": answer(self.WELL)})
        assert (finding.strength, finding.cause, finding.culprits) == (
            Strength.HINTS,
            None,
            frozenset(),
        )
        assert finding.against is None

    def test_the_text_form_tells_no_time(self) -> None:
        text = TABLE.replace("MISMATCH", "OK")
        (finding,) = judge_text(LOC207, timed_out(0), **{"ras.txt": text})
        assert finding.against is not None

    def test_an_answer_from_before_the_call_says_nothing(self) -> None:
        text = answer(self.WELL, at="2025-11-21 01:12:00")
        assert judge_text(LOC207, timed_out(0, minute=30), **{"ras.json": text}) == []
        text = answer(self.WELL, at="2025-11-21 01:24:00")
        assert judge_text(LOC207, timed_out(0, minute=30), **{"ras.json": text}) != []

    def test_nothing_waits(self) -> None:
        assert judge_text(LOC207, "", **{"ras.json": answer(self.WELL)}) == []


class TestStatus:
    def test_a_rank_that_has_left(self) -> None:
        members = [*map(member, range(7)), member(7, finalize_called=True)]
        text = answer(communicator(*members))
        (finding,) = judge_text(LOC210, timed_out(0), **{"ras.json": text})
        assert set(finding.culprits) == {7}
        assert (finding.strength, finding.why.key) == (Strength.SUPPORTS, "LOC210.why_left")
        (finding,) = judge_text(LOC210, "", **{"ras.json": text})
        assert finding.strength is Strength.HINTS

    def test_the_text_form(self) -> None:
        text = (
            "#0-0 (fa93daea854b060b) MISMATCH\n"
            "  Communicator ranks have different status\n"
            "  15 ranks have status RUNNING\n"
            "  Rank 12 has status INIT -- GPU 4 managed by process 3230 on node n7\n\n"
        )
        (finding,) = judge_text(LOC210, timed_out(0), **{"ras.txt": TABLE + text})
        assert set(finding.culprits) == {12}

    def test_an_abort_is_what_a_watchdog_does_to_those_that_waited(self) -> None:
        text = answer(communicator(*map(member, range(7)), member(7, abort_flag=True)))
        assert judge_text(LOC210, timed_out(0), **{"ras.json": text}) == []

    def test_where_most_have_left_the_job_ends(self) -> None:
        text = answer(communicator(member(0), *(member(r, finalize_called=True) for r in (1, 2))))
        assert judge_text(LOC210, timed_out(0), **{"ras.json": text}) == []


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

    def test_a_node_with_whole_small_groups_is_named(self) -> None:
        world = communicator(*map(member, range(12)), lost=[missing(12), missing(13)], name="aa")
        pair = communicator(lost=[missing(0, of=12), missing(1, of=13)], name="bb")
        (finding,) = judge_text(LOC206, "", **{"ras.json": answer(world, pair)})
        assert (set(finding.culprits), set(finding.culprit_hosts)) == ({12, 13}, {"10.0.0.1"})


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
