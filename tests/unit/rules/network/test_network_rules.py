"""The rules on networks and transports: what they find, and what leaves them quiet."""

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.network.bootstrap_interface import check as BOOTSTRAP_INTERFACE
from unhang.rules.network.bootstrap_members import check as BOOTSTRAP_MEMBERS
from unhang.rules.network.completion_error import check as COMPLETION_ERROR
from unhang.rules.network.fabric_provider import check as FABRIC_PROVIDER
from unhang.rules.network.gloo_mesh import check as GLOO_MESH
from unhang.rules.network.init_incomplete import check as INIT_INCOMPLETE
from unhang.rules.network.measured_bandwidth import check as MEASURED_BANDWIDTH
from unhang.rules.network.no_usable_interface import check as NO_USABLE_INTERFACE
from unhang.rules.network.peer_access import check as PEER_ACCESS
from unhang.rules.network.peer_unreachable import check as PEER_UNREACHABLE
from unhang.rules.network.port_event import check as PORT_EVENT
from unhang.rules.network.rdma_setup import check as RDMA_SETUP
from unhang.rules.network.shared_memory import check as SHARED_MEMORY
from unhang.rules.network.socket_fallback import check as SOCKET_FALLBACK


def warn(text: str, host: str = "node1", pid: int = 4711, device: int = 0) -> str:
    return f"{host}:{pid}:{pid + 9} [{device}] some/file.cc:12 NCCL WARN {text}"


def info(text: str, host: str = "node1", pid: int = 4711, device: int = 0) -> str:
    return f"{host}:{pid}:{pid + 9} [{device}] NCCL INFO {text}"


def completion(peer: str, status: int, vendor: int) -> str:
    return (
        f"NET/IB : Got completion from peer {peer}<43210> with status={status} opcode=0 len=0 "
        f"vendor err {vendor} (Send)"
    )


class TestNoUsableInterface:
    def test_nccl_without_an_interface(self) -> None:
        (finding,) = judge_text(
            NO_USABLE_INTERFACE, warn("Bootstrap : no socket interface found"), info("Using x")
        )
        assert finding.cause is Cause.NET_INTERFACE
        assert finding.strength is Strength.PROVES

    def test_gloo_that_cannot_resolve_its_own_name(self) -> None:
        text = "RuntimeError: Unable to resolve hostname to a (local) address"
        (finding,) = judge_text(NO_USABLE_INTERFACE, text)
        assert finding.strength is Strength.PROVES

    def test_one_rank_whose_interface_does_not_exist_is_named(self) -> None:
        text = (
            "RuntimeError: [enforce fail at /p/third_party/gloo/gloo/transport/tcp/device.cc:84] "
            "ifa != nullptr. Unable to find address for: eth9"
        )
        others = [f"[rank{rank}]: epoch 0 step 12 loss 2.3" for rank in (0, 1, 3)]
        (finding,) = judge_text(NO_USABLE_INTERFACE, *others, f"[rank2]: {text}")
        assert finding.culprits == {2}
        everybody = [f"[rank{rank}]: {text}" for rank in range(4)]
        (finding,) = judge_text(NO_USABLE_INTERFACE, *everybody)
        assert finding.culprits == set()

    def test_a_plugin_that_is_not_there_is_no_failure(self) -> None:
        lines = [
            warn("Failed to open libibverbs.so[.1]"),
            info("NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"),
            warn("NET/OFI No eligible providers were found"),
        ]
        assert judge_text(NO_USABLE_INTERFACE, *lines) == []


class TestPeerUnreachable:
    def test_packets_that_are_dropped(self) -> None:
        text = (
            "socketPollConnect: connect to 10.0.0.7<43211> returned Connection timed out, exceeded "
            "error retry count after 35 attempts"
        )
        (finding,) = judge_text(PEER_UNREACHABLE, warn(text))
        assert finding.strength is Strength.SUPPORTS
        assert finding.claim.values["peer"] == "10.0.0.7"

    def test_no_route_proves_it(self) -> None:
        text = "socketStartConnect: Connect to 10.0.0.7<43211> failed : No route to host"
        (finding,) = judge_text(PEER_UNREACHABLE, warn(text))
        assert finding.strength is Strength.PROVES

    @pytest.mark.parametrize("peer", ["fe80::9%ip6tnl0", "169.254.3.1", "127.0.0.1"])
    def test_an_address_that_leads_nowhere_proves_it(self, peer: str) -> None:
        text = f"socketStartConnect: Connect to {peer}<4> failed : Software caused connection abort"
        (finding,) = judge_text(PEER_UNREACHABLE, warn(text))
        assert finding.strength is Strength.PROVES

    def test_refused_may_be_a_peer_that_died(self) -> None:
        text = "socketStartConnect: Connect to 10.0.0.7<43211> failed : Connection refused"
        (finding,) = judge_text(PEER_UNREACHABLE, warn(text))
        assert finding.strength is Strength.HINTS

    def test_an_exception_of_another_rank_explains_it(self) -> None:
        text = "socketStartConnect: Connect to 10.0.0.7<43211> failed : Connection timed out"
        lines = [*raised(1, "ValueError: bad batch"), warn(text)]
        (finding,) = judge_text(PEER_UNREACHABLE, *lines)
        assert finding.strength is Strength.HINTS
        assert finding.against is not None

    def test_a_closed_connection_accuses_no_network(self) -> None:
        text = "socketProgress: Connection closed by remote peer node2<43210>"
        assert judge_text(PEER_UNREACHABLE, warn(text)) == []


class TestBootstrapInterface:
    LINES = (
        info("Bootstrap : Using eth0:10.0.0.5<0>", host="node1"),
        info("Bootstrap : Using docker0:172.17.0.1<0>", host="node2"),
    )

    def test_a_bridge_on_one_of_two_hosts(self) -> None:
        (finding,) = judge_text(BOOTSTRAP_INTERFACE, *self.LINES, timed_out(0, seq=1))
        assert finding.strength is Strength.SUPPORTS
        assert finding.culprit_hosts == {"node2"}

    def test_loopback_on_the_only_host_is_right(self) -> None:
        line = info("Bootstrap : Using lo:127.0.0.1<0>")
        assert judge_text(BOOTSTRAP_INTERFACE, line, timed_out(0, seq=1)) == []

    def test_finished_collectives_acquit_it(self) -> None:
        assert judge_text(BOOTSTRAP_INTERFACE, *self.LINES, timed_out(0, seq=900)) == []


class TestGlooMesh:
    TEXT = (
        "RuntimeError: Gloo connectFullMesh failed with [/pytorch/third_party/gloo/gloo/transport/"
        "tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection refused, "
        "remote=[{remote}]:43001  (rank=8, size=16, local=[{local}])"
    )

    def test_ranks_that_meet_at_loopback(self) -> None:
        text = self.TEXT.format(remote="127.0.0.1", local="127.0.0.1")
        (finding,) = judge_text(GLOO_MESH, text)
        assert finding.strength is Strength.PROVES

    def test_on_one_host_loopback_is_right(self) -> None:
        text = self.TEXT.format(remote="127.0.0.1", local="127.0.0.1").replace("size=16", "size=2")
        ranks = [
            info(f"comm 0x7f{r} rank {r} nranks 2 cudaDev {r} nvmlDev {r} busId {r}000 commId 0x9"
                 " - Init COMPLETE", pid=40 + r, device=r) for r in (0, 1)
        ]  # fmt: skip
        (finding,) = judge_text(GLOO_MESH, text, *ranks)
        assert finding.strength is Strength.HINTS
        assert finding.against is not None
        assert finding.against.key == "NET003.against_one_host"

    def test_another_address_supports_it(self) -> None:
        (finding,) = judge_text(GLOO_MESH, self.TEXT.format(remote="10.0.0.7", local="10.0.0.5"))
        assert finding.strength is Strength.SUPPORTS

    def test_a_closed_pair_is_second_hand(self) -> None:
        text = (
            "RuntimeError: [/pytorch/gloo/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:1"
        )
        assert judge_text(GLOO_MESH, text) == []


class TestFabricProvider:
    def test_an_address_that_cannot_be_inserted_is_a_firewall(self) -> None:
        text = "NET/OFI Unable to insert remote address into address vector for device 1. RC: 0"
        (finding,) = judge_text(FABRIC_PROVIDER, warn(text))
        assert (finding.cause, finding.strength) == (Cause.NET_INTERFACE, Strength.SUPPORTS)

    def test_an_address_that_was_reached_for_steps_is_no_firewall(self) -> None:
        text = warn("NET/OFI Request completed with error. RC: 5. Error: 7 (Invalid address)")
        (first,) = judge_text(FABRIC_PROVIDER, text)
        (later,) = judge_text(FABRIC_PROVIDER, "iteration 7/ 100 | lm loss: 1.2\n" + text)
        assert (first.cause, later.cause) == (Cause.NET_INTERFACE, Cause.RDMA_FAULT)

    def test_a_request_that_fails_is_the_fabric(self) -> None:
        text = "NET/OFI Request completed with error. RC: 21. Error: unknown error"
        (finding,) = judge_text(FABRIC_PROVIDER, warn(text))
        assert finding.cause is Cause.RDMA_FAULT

    def test_a_provider_that_is_not_used_is_none(self) -> None:
        assert judge_text(FABRIC_PROVIDER, warn("NET/OFI Only EFA provider is supported")) == []


class TestCompletionError:
    def test_retries_that_ran_out(self) -> None:
        lines = [warn(completion("10.0.0.7", 12, 129)), warn(completion("10.0.0.7", 5, 249))]
        (finding,) = judge_text(COMPLETION_ERROR, *lines)
        assert (finding.cause, finding.strength) == (Cause.RDMA_FAULT, Strength.PROVES)
        assert finding.claim.values["status"] == 12
        assert finding.culprit_hosts == frozenset()

    def test_a_flush_alone_is_never_primary(self) -> None:
        assert judge_text(COMPLETION_ERROR, warn(completion("10.0.0.7", 5, 249))) == []

    def test_the_peer_that_two_hosts_name_is_accused(self) -> None:
        lines = [
            warn(completion("10.0.0.7", 12, 129), host="node1"),
            warn(completion("10.0.0.7", 12, 129), host="node2"),
        ]
        (finding,) = judge_text(COMPLETION_ERROR, *lines)
        assert finding.culprit_hosts == {"10.0.0.7"}

    def test_the_only_rank_whose_transfers_failed(self) -> None:
        start = info("comm 0x1 rank 5 nranks 8 cudaDev 5 busId 1 - Init START", pid=15, device=5)
        world = [start, info("comm 0x1 rank 1 nranks 8 cudaDev 1 busId 2 - Init START", pid=11)]
        failed = warn(completion("10.0.0.7", 12, 129), pid=15, device=5)
        (finding,) = judge_text(COMPLETION_ERROR, *world, failed, failed)
        assert finding.culprits == {5}
        remote = warn(completion("10.0.0.7", 10, 136), pid=15, device=5)
        (finding,) = judge_text(COMPLETION_ERROR, *world, remote)
        assert finding.culprits == frozenset()  # the memory is the other side's
        another = warn(completion("10.0.0.8", 12, 129), pid=11, device=1)
        (finding,) = judge_text(COMPLETION_ERROR, *world, failed, another)
        assert finding.culprits == frozenset()

    def test_the_host_whose_port_went_down_is_accused(self) -> None:
        lines = [
            warn("NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)", host="node9"),
            warn(completion("10.0.0.9", 12, 129), host="node1"),
        ]
        (finding,) = judge_text(COMPLETION_ERROR, *lines)
        assert finding.culprit_hosts == {"node9"}

    @pytest.mark.parametrize(
        "before",
        [
            raised(3, "RuntimeError: dataset is empty"),
            ["slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-11-21T01:30:00 ***"],
            [timed_out(0)],
        ],
    )
    def test_what_came_before_may_explain_it(self, before: list[str]) -> None:
        lines = [*before, warn(completion("10.0.0.7", 12, 129))]
        (finding,) = judge_text(COMPLETION_ERROR, *lines)
        assert finding.strength is Strength.HINTS

    def test_a_wrong_size_is_weaker(self) -> None:
        (finding,) = judge_text(COMPLETION_ERROR, warn(completion("10.0.0.7", 1, 105)))
        assert finding.strength is Strength.HINTS


class TestPortEvent:
    def test_the_host_that_reports_its_own_port(self) -> None:
        lines = [
            warn("NET/IB : Got async event : port error", host="node9"),
            warn(completion("10.0.0.9", 12, 129), host="node1"),
        ]
        (finding,) = judge_text(PORT_EVENT, *lines)
        assert finding.strength is Strength.PROVES
        assert finding.culprit_hosts == {"node9"}

    def test_an_adapter_that_failed_needs_no_other_trouble(self) -> None:
        fatal = warn("NET/IB : Got async event : local catastrophic error", host="node9")
        (finding,) = judge_text(PORT_EVENT, fatal)
        assert finding.strength is Strength.SUPPORTS
        (finding,) = judge_text(PORT_EVENT, warn("NET/IB : Got async event : port error"))
        assert finding.strength is Strength.HINTS

    def test_a_link_of_the_kernel_log_beside_a_stuck_job(self) -> None:
        kernel = "Nov 21 01:25:01 node9 kernel: mlx5_core 0000:5e:00.0 ib3: Link down\n"
        (finding,) = judge_text(PORT_EVENT, timed_out(0), **{"dmesg.txt": kernel})
        assert finding.strength is Strength.SUPPORTS
        assert finding.culprit_hosts == {"node9"}

    def test_a_link_without_trouble_is_a_hint(self) -> None:
        kernel = "Nov 21 01:25:01 node9 kernel: mlx5_core 0000:5e:00.0 ib3: Link down"
        (finding,) = judge_text(PORT_EVENT, kernel)
        assert finding.strength is Strength.HINTS

    def test_a_port_that_came_up_is_nothing(self) -> None:
        kernel = "Nov 21 01:25:01 node9 kernel: mlx5_core 0000:5e:00.0 ib3: Link up"
        assert judge_text(PORT_EVENT, timed_out(0), kernel) == []


class TestRdmaSetup:
    def test_the_limit_on_locked_memory(self) -> None:
        text = "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory"
        (finding,) = judge_text(RDMA_SETUP, warn(text))
        assert (finding.cause, finding.strength) == (Cause.RDMA_FAULT, Strength.PROVES)
        assert Cause.HOST_OOM in finding.explains
        assert finding.why.key == "NET007.why_lock"

    def test_what_a_process_is_refused_is_of_its_own_host(self) -> None:
        world = [
            f"n{r // 2}:{r}:{r} [{r % 2}] NCCL INFO ncclCommInitRank comm 0x5 rank {r} nranks 4"
            f" cudaDev {r % 2} busId 1{r}000 commId 0x7 - Init START"
            for r in range(4)
        ]
        refused = [
            f"n1:{r}:{r} [{r % 2}] NCCL WARN Call to ibv_create_cq failed with error"
            " Cannot allocate memory"
            for r in (2, 3)
        ]
        (finding,) = judge_text(RDMA_SETUP, *world, *refused)
        assert finding.culprits == {2, 3}
        assert finding.culprit_hosts == {"n1"}
        everybody = [line.replace("n1:2", "n0:0").replace("n1:3", "n0:1") for line in refused]
        (finding,) = judge_text(RDMA_SETUP, *world, *refused, *everybody)
        assert not finding.culprits
        two = [line.split("Call")[0] + "Call to ibv_modify_qp failed with 22" for line in refused]
        (finding,) = judge_text(RDMA_SETUP, *world, *two)
        assert not finding.culprits

    def test_a_queue_pair_that_cannot_be_connected(self) -> None:
        text = "Call to ibv_modify_qp failed with error Connection timed out errno 110"
        (finding,) = judge_text(RDMA_SETUP, warn(text))
        assert finding.strength is Strength.PROVES

    def test_a_queue_pair_that_cannot_be_made_has_many_reasons(self) -> None:
        (finding,) = judge_text(RDMA_SETUP, warn("Call to ibv_create_qp failed"))
        assert finding.strength is Strength.SUPPORTS

    def test_a_device_that_is_skipped_is_no_failure(self) -> None:
        lines = [warn("Call to ibv_open_device failed"), warn("NET/IB : Unable to open device m")]
        assert judge_text(RDMA_SETUP, *lines) == []


class TestSocketFallback:
    CHANNEL = info("Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/1")

    def test_a_collective_that_tcp_cannot_move_in_time(self) -> None:
        line = timed_out(0, numel=90_000_000_000)
        (finding,) = judge_text(SOCKET_FALLBACK, self.CHANNEL, line)
        assert (finding.cause, finding.strength) == (Cause.BANDWIDTH_LOW, Strength.SUPPORTS)

    def test_a_small_collective_is_not_explained(self) -> None:
        (finding,) = judge_text(SOCKET_FALLBACK, self.CHANNEL, timed_out(0))
        assert finding.strength is Strength.HINTS
        assert finding.against is not None
        assert finding.against.key == "NET008.against_small"

    def test_a_collective_of_unknown_size_is_not_called_small(self) -> None:
        line = timed_out(0).replace("NumelIn=1024, NumelOut=1024, ", "")
        (finding,) = judge_text(SOCKET_FALLBACK, self.CHANNEL, line)
        assert finding.against is not None
        assert finding.against.key == "NET008.against_unknown"

    @pytest.mark.parametrize(
        ("link", "shown"),
        [
            ("[  5]   0.00-10.00  sec  1.09 GBytes   938 Mbits/sec    receiver", True),
            ("Speed: 1000Mb/s", True),
            ("Speed: 100000Mb/s", False),
            ("In 2.1 Mbit/s  Out 1.9 Mbit/s", False),
        ],
    )
    def test_a_link_that_was_measured(self, link: str, shown: bool) -> None:
        for waits in ([], [timed_out(0), timed_out(1)]):
            found = judge_text(SOCKET_FALLBACK, self.CHANNEL, *waits, link)
            sure = [f for f in found if f.strength is Strength.SUPPORTS]
            assert len(sure) == (1 if shown else 0)

    def test_a_slow_link_explains_no_rank_that_is_missing(self) -> None:
        lines = [self.CHANNEL, "world_size: 3", timed_out(0), timed_out(1), "Speed: 1000Mb/s"]
        (finding,) = judge_text(SOCKET_FALLBACK, *lines)
        assert finding.strength is Strength.HINTS

    @pytest.mark.parametrize(
        ("used", "share", "full"),
        [("eth1", 91.5, True), ("eth1", 40.0, False), ("eth7", 91.5, False)],
    )
    def test_a_link_that_the_job_fills(self, used: str, share: float, full: bool) -> None:
        lines = [
            info(f"NET/Socket : Using [0]{used}:10.8.0.3<0>"),
            info(f"Bootstrap : Using {used}:10.8.0.3<0>"),
            info("Using network Socket"),
        ]
        sar = (
            "11:20:31 AM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   %ifutil\n"
            "11:20:36 AM        lo      8.00      8.00      0.71      0.71     99.00\n"
            f"11:20:36 AM      eth1  80921.20  80512.40 1117012.3 1116820.1  {share:.2f}\n"
        )
        for waits in ([], [timed_out(0)]):
            found = judge_text(SOCKET_FALLBACK, *lines, *waits, **{"sar.txt": sar})
            assert ["NET008.claim_full"] * full == [f.claim.key for f in found]

    def test_the_choice_of_sockets_on_one_host_is_nothing(self) -> None:
        lines = [info("NET/IB : No device found."), info("Using network Socket"), timed_out(0)]
        assert judge_text(SOCKET_FALLBACK, *lines) == []

    def test_nothing_is_said_of_a_job_that_is_not_stuck(self) -> None:
        assert judge_text(SOCKET_FALLBACK, self.CHANNEL) == []


class TestMeasuredBandwidth:
    BANNER = (
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5",
        "#  Rank  0 Group  0 Pid   4711 on    node1 device  0 [0000:17:00] NVIDIA {gpu}",
        "#  Rank  1 Group  0 Pid   4712 on    node1 device  1 [0000:65:00] NVIDIA {gpu}",
    )
    ROW = " 134217728  33554432  float  sum  -1  4709.8  {bw}  {bw}  0  4700.1  {bw}  {bw}  0"

    def lines(self, bandwidth: float, *, gpu: str = "A40", link: float | None = None) -> list[str]:
        known = [] if link is None else [info(f"=== System : maxBw {link} totalBw {link} ===")]
        banner = [line.format(gpu=gpu) for line in self.BANNER]
        return [*banner, *known, self.ROW.format(bw=bandwidth)]

    def test_far_below_the_link_that_nccl_knows(self) -> None:
        (finding,) = judge_text(MEASURED_BANDWIDTH, *self.lines(28.5, link=240.0))
        assert (finding.cause, finding.strength) == (Cause.BANDWIDTH_LOW, Strength.PROVES)

    def test_the_setting_that_steers_it_is_named(self) -> None:
        setting = info("NCCL_TOPO_FILE set by environment to /job/topology.xml")
        (finding,) = judge_text(MEASURED_BANDWIDTH, setting, *self.lines(28.5, link=240.0))
        assert finding.claim.values["settings"] == "NCCL_TOPO_FILE=/job/topology.xml"

    def test_gpus_with_nvlink_reach_more(self) -> None:
        assert judge_text(MEASURED_BANDWIDTH, *self.lines(11.0, gpu="H100 80GB HBM3")) != []

    @pytest.mark.parametrize(
        ("bandwidth", "gpu", "link"),
        [(217.0, "A40", 240.0), (11.0, "A40", None), (11.0, "A40", 24.0), (180.0, "H200", None)],
    )
    def test_what_is_as_fast_as_it_can_be(
        self, bandwidth: float, gpu: str, link: float | None
    ) -> None:
        lines = self.lines(bandwidth, gpu=gpu, link=link)
        assert judge_text(MEASURED_BANDWIDTH, *lines) == []

    @pytest.mark.parametrize(
        ("bandwidth", "gpu", "slow"),
        [
            (0.11, "A100-SXM4-40GB", True),
            (0.11, "H20", True),
            (0.11, "GeForce RTX 3090", False),
            (0.11, "RTX A6000", False),
            (1.1, "A100-SXM4-40GB", False),
        ],
    )
    def test_hosts_of_data_centre_gpus(self, bandwidth: float, gpu: str, slow: bool) -> None:
        lines = [
            line.replace("4712 on    node1", "4712 on node2")
            for line in self.lines(bandwidth, gpu=gpu)
        ]
        found = judge_text(MEASURED_BANDWIDTH, *lines)
        assert [f.strength for f in found] == ([Strength.SUPPORTS] if slow else [])

    def test_small_messages_do_not_count(self) -> None:
        row = " 1048576  262144  float  sum  -1  47.8  2.0  2.0  0  47.1  2.0  2.0  0"
        lines = [*self.lines(1.0, link=240.0)[:-1], row]
        assert judge_text(MEASURED_BANDWIDTH, *lines) == []


class TestPeerAccess:
    @pytest.mark.parametrize(
        ("text", "refused"),
        [
            ("hipIpcGetMemHandle failed : invalid argument", True),
            ("cudaIpcOpenMemHandle call failed", True),
            ("hipMemcpyAsync failed : invalid argument", False),
        ],
    )
    def test_a_handle_for_another_process_is_peer_access(self, text: str, refused: bool) -> None:
        assert bool(judge_text(PEER_ACCESS, warn(text))) is refused

    def test_refused_peer_access(self) -> None:
        text = (
            "failed to peer with device 3(=4f000): 217 peer access is not supported between these "
            "two devices"
        )
        (finding,) = judge_text(PEER_ACCESS, warn(text))
        assert (finding.cause, finding.strength) == (Cause.P2P_FAULT, Strength.PROVES)

    def test_iommu_faults_beside_a_stuck_job(self) -> None:
        line = "AMD-Vi: Event logged [IO_PAGE_FAULT device=21:00.0 domain=0x1 address=0xd0]"
        (finding,) = judge_text(PEER_ACCESS, timed_out(0), **{"dmesg.txt": line})
        assert finding.strength is Strength.SUPPORTS

    @pytest.mark.parametrize(("device", "sure"), [("47:00.0", True), ("9b:00.0", False)])
    def test_iommu_faults_of_a_gpu_on_which_somebody_waits(self, device: str, sure: bool) -> None:
        start = info("comm 0x2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 47000 - Init COMPLETE")
        stack = (
            "Process 4711: python run.py\nPython v3.10.12 (/usr/bin/python)\n\n"
            'Thread 4711 (active): "MainThread"\n'
            "    barrier (torch/distributed/distributed_c10d.py:3685)\n    main (run.py:9)\n"
        )
        fault = (
            f"[ 8121.44] DMAR: [DMA Write NO_PASID] Request device [{device}] fault addr 0xb8f0"
            " [fault reason 0x05] PTE Write access is not set"
        )
        found = judge_text(PEER_ACCESS, start, **{"pyspy.txt": stack, "dmesg.txt": fault})
        assert [f.strength is Strength.SUPPORTS for f in found] == [sure]

    def test_iommu_faults_of_a_gpu_whose_engine_waits_for_its_workers(self) -> None:
        start = info("comm 0x2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 41000 - Init COMPLETE")
        waits = (
            "(EngineCore_DP0 pid=44) INFO 09-10 21:20:55 [shm_broadcast.py:501] No available"
            " shared memory broadcast block found in 60 seconds."
        )
        fault = "AMD-Vi: Event logged [IO_PAGE_FAULT device=41:00.0 domain=0x1 address=0xd0]"
        found = judge_text(PEER_ACCESS, start, waits, **{"dmesg.txt": fault})
        assert [f.strength for f in found] == [Strength.SUPPORTS]

    @pytest.mark.parametrize(
        ("direct", "may", "slow"),
        [(0.9, "CAN", True), (24.6, "CAN", False), (0.9, "CANNOT", False)],
    )
    def test_a_direct_way_that_is_slower_than_none(
        self, direct: float, may: str, slow: bool
    ) -> None:
        lines = [
            *(f"Device={one} {may} Access Peer Device={1 - one}" for one in (0, 1)),
            "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)",
            *("   D\\D     0      1", "     0 831.56  11.22", "     1  11.25 832.01"),
            "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)",
            *("   D\\D     0      1", f"     0 833.10  {direct}", f"     1   {direct} 832.64"),
            "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)",
            *("   D\\D     0      1", "     0 800.00   0.01", "     1   0.01 800.00"),
        ]
        found = judge_text(PEER_ACCESS, *lines)
        assert [f.strength for f in found] == [Strength.SUPPORTS] * slow
        found = judge_text(PEER_ACCESS, *raised(0, "ValueError: no"), *lines)
        assert [f.strength for f in found] == [Strength.HINTS] * slow

    def test_a_silent_hang_proves_nothing(self) -> None:
        lines = [
            "#   Rank  0 Pid  15833 on node1 device  0 [0x02] GeForce GTX 1080 Ti",
            info("Channel 00 : 0[0] -> 1[1] via P2P/IPC"),
            timed_out(0),
        ]
        assert judge_text(PEER_ACCESS, *lines) == []


class TestSharedMemory:
    SEGMENT = "Error while creating shared memory segment /dev/shm/nccl-Ab (size 9637888)"

    def test_no_space(self) -> None:
        text = (
            "Error: failed to extend /dev/shm/nccl-Ab to 9637892 bytes, error: No space left on "
            "device (28)"
        )
        (finding,) = judge_text(SHARED_MEMORY, warn(text))
        assert (finding.cause, finding.strength) == (Cause.SHM_SMALL, Strength.PROVES)
        assert Cause.NET_INTERFACE in finding.explains

    def test_a_segment_that_cannot_be_made(self) -> None:
        (finding,) = judge_text(SHARED_MEMORY, warn(self.SEGMENT))
        assert finding.strength is Strength.PROVES

    def test_a_segment_that_cuda_does_not_register_is_weaker(self) -> None:
        refused = (
            "node1:4711:4720 [1] misc/shmutils.cc:103 NCCL WARN Cuda failure 'invalid argument'"
        )
        (finding,) = judge_text(SHARED_MEMORY, refused, warn(self.SEGMENT))
        assert finding.strength is Strength.SUPPORTS

    def test_a_full_disk_is_another_thing(self) -> None:
        lines = raised(0, "OSError: [Errno 28] No space left on device: '/scratch/ckpt.pt'")
        assert judge_text(SHARED_MEMORY, *lines) == []


class TestBootstrapMembers:
    def test_a_rank_that_came_twice(self) -> None:
        text = "Bootstrap Root : rank 1 of 8 ranks has already checked in"
        (finding,) = judge_text(BOOTSTRAP_MEMBERS, warn(text))
        assert (finding.cause, finding.strength) == (Cause.RENDEZVOUS, Strength.PROVES)

    def test_a_stranger_on_the_port_is_a_hint(self) -> None:
        (finding,) = judge_text(BOOTSTRAP_MEMBERS, warn("socketFinalizeAccept: wrong magic 1 != 2"))
        assert finding.strength is Strength.HINTS

    def test_a_peer_that_closed_is_none(self) -> None:
        text = "socketProgress: Connection closed by remote peer node2<43210>"
        assert judge_text(BOOTSTRAP_MEMBERS, warn(text)) == []


class TestInitIncomplete:
    ELSEWHERE = "[rank2]: Tokenizing:  10%|#         | 10/100 [00:10<01:30,  1.00it/s]"

    @staticmethod
    def stage(rank: int, what: str) -> str:
        return info(
            f"ncclCommInitRank comm 0x5 rank {rank} nranks 4 cudaDev {rank} nvmlDev {rank} busId "
            f"{rank}b000 commId 0x5ae - Init {what}",
            pid=4700 + rank,
        )

    def test_a_rank_that_is_seen_elsewhere_and_never_starts(self) -> None:
        lines = [self.stage(r, "START") for r in (0, 1, 3)]
        (finding,) = judge_text(INIT_INCOMPLETE, *lines, self.ELSEWHERE)
        assert finding.cause is None
        assert finding.culprits == {2}

    def test_a_silent_rank_is_not_absent(self) -> None:
        assert judge_text(INIT_INCOMPLETE, *(self.stage(r, "START") for r in (0, 1, 3))) == []

    def test_when_all_started_nobody_is_late(self) -> None:
        assert judge_text(INIT_INCOMPLETE, *(self.stage(r, "START") for r in range(4))) == []

    def test_a_communicator_that_completed_waits_for_nobody(self) -> None:
        lines = [self.stage(r, what) for r in (0, 1, 3) for what in ("START", "COMPLETE")]
        assert judge_text(INIT_INCOMPLETE, *lines, timed_out(2)) == []
