"""Answers of RAS and reports of tools on hosts."""

from support.feeding import feed, only
from unhang.model.events import HostProblem, HostReport, RasProblem, RasReport
from unhang.parsers.gpu_report import GpuReportParser
from unhang.parsers.port_report import PortReportParser
from unhang.parsers.ras import RasParser

TABLE = (
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors",
    "    #  in group  per comm  per node  per comm  in group",
    "    0         1         2         8        16        16   RUNNING  {errors}",
)


def table(errors: str) -> list[str]:
    return [row.format(errors=errors) for row in TABLE]


class TestRas:
    def test_counts_of_the_minority(self) -> None:
        report = only(
            RasReport,
            feed(
                RasParser,
                *table("MISMATCH"),
                "#0-0 (fa93daea854b060b) MISMATCH",
                "  Communicator ranks have different AllReduce operation counts",
                "  14 ranks have launched up to operation 640",
                "  2 ranks have not launched any operations",
                "  Rank 3 -- GPU 3 managed by process 3229 on node 10.0.0.7",
                "  Rank 4 -- GPU 4 (NVML 5) managed by process 3230 on node 10.0.0.7",
            ),
        )
        assert (report.problem, report.op, report.size) == (
            RasProblem.COUNTS_DIFFER,
            "AllReduce",
            16,
        )
        many, few = report.groups
        assert (many.says, many.count, many.ranks) == ("640", 14, frozenset())
        assert (few.says, set(few.ranks), set(few.pids)) == ("0", {3, 4}, {3229, 3230})

    def test_a_single_rank_has_its_count_in_its_line(self) -> None:
        report = only(
            RasReport,
            feed(
                RasParser,
                "#0-0 (fa93daea854b060b) MISMATCH",
                "  Communicator ranks have different AllGather operation counts",
                "  15 ranks have launched up to operation 640",
                "  Rank 12 has launched up to operation 641 -- [process information not found]",
            ),
        )
        assert [(g.says, g.count, set(g.ranks)) for g in report.groups] == [
            ("640", 15, set()),
            ("641", 1, {12}),
        ]

    def test_processes_that_do_not_answer(self) -> None:
        missing, dead = feed(
            RasParser,
            *table("INCOMPLETE"),
            "1 job process is considered dead (unreachable via the RAS network)",
            "  Process 6000 on node 10.0.0.7 managing GPU 0",
            "#0-0 (93d7aa12bc450011) INCOMPLETE",
            "  Missing communicator data from 1 rank",
            "  Rank 1 -- GPU 0 managed by process 6000 on node 10.0.0.7",
        )[::-1]
        assert isinstance(missing, RasReport)
        assert isinstance(dead, RasReport)
        assert missing.problem is dead.problem is RasProblem.NO_ANSWER
        assert (set(missing.groups[0].ranks), set(dead.groups[0].pids)) == ({1}, {6000})

    def test_all_is_well(self) -> None:
        report = only(RasReport, feed(RasParser, *table("OK")))
        assert (report.problem, report.size) == (RasProblem.NONE, 16)

    def test_a_half_printed_answer_is_not_well(self) -> None:
        assert not feed(RasParser, *table("MISMATCH"))


class TestGpuReport:
    def test_errors_since_the_driver_was_loaded(self) -> None:
        events = feed(
            GpuReportParser,
            "GPU 00000000:9B:00.0",
            "        Volatile",
            "            SRAM Uncorrectable Parity         : 0",
            "            DRAM Uncorrectable                : 3",
            "        Aggregate",
            "            DRAM Uncorrectable                : 7",
            "        HW Slowdown                           : Not Active",
            "            HW Thermal Slowdown               : Active",
        )
        found = [(e.problem, e.device) for e in events if isinstance(e, HostReport)]
        assert found == [
            (HostProblem.ECC_UNCORRECTED, "00000000:9b:00.0"),
            (HostProblem.GPU_SLOWED, "00000000:9b:00.0"),
        ]

    def test_a_lost_gpu(self) -> None:
        text = "Unable to determine the device handle for GPU0000:9B:00.0: GPU is lost. Reboot"
        report = only(HostReport, feed(GpuReportParser, text))
        assert (report.problem, report.device) == (HostProblem.GPU_LOST, "0000:9B:00.0")


class TestPortReport:
    def test_ibstat(self) -> None:
        def port(name: str, state: str, rate: int) -> tuple[str, ...]:
            return (
                f"CA '{name}'",
                "        Port 1:",
                f"                State: {state}",
                "                Physical state: LinkUp",
                f"                Rate: {rate}",
                "                Link layer: InfiniBand",
            )

        events = feed(
            PortReportParser,
            *port("mlx5_0", "Active", 400),
            *port("mlx5_1", "Active", 200),
            *port("mlx5_2", "Down", 10),
        )
        found = [(e.problem, e.device) for e in events if isinstance(e, HostReport)]
        assert found == [
            (HostProblem.PORT_SLOW, "mlx5_1"),
            (HostProblem.PORT_DOWN, "mlx5_2"),
        ]

    def test_ibv_devinfo(self) -> None:
        report = only(
            HostReport,
            feed(
                PortReportParser,
                "hca_id:\tmlx5_3",
                "\t\t\tstate:\t\t\tPORT_DOWN (1)",
                "\t\t\tphys_state:\t\tPOLLING (2)",
            ),
        )
        assert (report.device, report.detail) == ("mlx5_3", "PORT_DOWN (1) / POLLING (2)")
