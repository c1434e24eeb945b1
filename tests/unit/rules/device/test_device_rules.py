"""The rules on GPUs: what they find, and what leaves them quiet."""

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.rules.device.arithmetic_trap import check as ARITHMETIC_TRAP
from unhang.rules.device.build_does_not_fit import check as BUILD_DOES_NOT_FIT
from unhang.rules.device.device_guessed import check as DEVICE_GUESSED
from unhang.rules.device.device_unusable import check as DEVICE_UNUSABLE
from unhang.rules.device.gpu_used_twice import check as GPU_USED_TWICE
from unhang.rules.device.hardware_error import check as HARDWARE_ERROR
from unhang.rules.device.kernel_fault import check as KERNEL_FAULT
from unhang.rules.device.kernel_xid import check as KERNEL_XID
from unhang.rules.device.known_bug import check as KNOWN_BUG
from unhang.rules.device.out_of_memory import check as OUT_OF_MEMORY
from unhang.rules.device.versions_differ import check as VERSIONS_DIFFER

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB. GPU 3 has a total "
    "capacity of 79.15 GiB of which 1.70 GiB is free. Process 41 has {other} memory in use. "
    "Including non-PyTorch memory, this process has {own} memory in use."
)
ILLEGAL = (
    "[rank{rank}]:[E1121 01:{minute:02d}:45.172185860 ProcessGroupNCCL.cpp:1515] [PG ID 0 PG GUID "
    "0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: CUDA "
    "error: an illegal memory access was encountered"
)


def warn(text: str, host: str = "node1", pid: int = 4711, device: int = 0) -> str:
    return f"{host}:{pid}:{pid + 9} [{device}] some/file.cc:12 NCCL WARN {text}"


def xid(number: int, rest: str = "pid=4711, name=python3", *, time: str = "01:25:01") -> str:
    return f"Nov 21 {time} gpu-07 kernel: NVRM: Xid (PCI:0000:9b:00): {number}, {rest}"


class TestKernelXid:
    @pytest.mark.parametrize("number", [48, 79, 95, 119, 149])
    def test_faults_of_the_hardware(self, number: int) -> None:
        (finding,) = judge_text(KERNEL_XID, xid(number))
        assert (finding.cause, finding.strength) == (Cause.GPU_HARDWARE, Strength.PROVES)
        assert finding.culprit_hosts == {"gpu-07"}

    def test_other_faults_of_the_host_are_a_hint(self) -> None:
        line = (
            "Nov 21 01:25:01 gpu-07 kernel: pcieport 0000:9b:00.0: AER: Uncorrectable (Fatal) error"
        )
        (finding,) = judge_text(KERNEL_XID, line)
        assert (finding.cause, finding.strength) == (Cause.GPU_HARDWARE, Strength.HINTS)

    def test_a_clean_up_counts_as_the_xid_before_it(self) -> None:
        line = xid(45, "pid=1, name=python3, Ch 00000001 caused by previous Xid 145")
        (finding,) = judge_text(KERNEL_XID, line)
        assert finding.cause is Cause.GPU_HARDWARE

    def test_a_bare_clean_up_says_nothing(self) -> None:
        assert judge_text(KERNEL_XID, xid(45, "pid=1, name=python3, Ch 00000010")) == []

    @pytest.mark.parametrize("number", [13, 31, 43])
    def test_faults_of_the_program(self, number: int) -> None:
        (finding,) = judge_text(KERNEL_XID, xid(number))
        assert (finding.cause, finding.strength) == (Cause.GPU_KERNEL_FAULT, Strength.SUPPORTS)

    def test_a_link_beside_a_killed_peer_is_a_hint(self) -> None:
        kernel = xid(74) + "\n"
        lines = raised(3, "ValueError: bad batch")
        (finding,) = judge_text(KERNEL_XID, *lines, **{"dmesg.txt": kernel})
        assert finding.strength is Strength.HINTS

    def test_an_old_xid_belongs_to_another_job(self) -> None:
        kernel = "Nov 19 08:00:00 gpu-07 kernel: NVRM: Xid (PCI:0000:9b:00): 48, pid=1"
        (finding,) = judge_text(KERNEL_XID, timed_out(0), **{"dmesg.txt": kernel})
        assert finding.strength is Strength.HINTS

    @pytest.mark.parametrize(
        ("when", "strength"), [("06:05", Strength.HINTS), ("10:05", Strength.PROVES)]
    )
    def test_an_xid_of_before_the_work(self, when: str, strength: Strength) -> None:
        kernel = f"Nov 21 {when}:00 gpu-07 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=1"
        work = [f"2026-11-21 10:0{n}:00 INFO step {n}/90 loss 2.{n}" for n in range(9)]
        (finding,) = judge_text(KERNEL_XID, *work, **{"dmesg.txt": kernel})
        assert finding.strength is strength

    def test_beside_a_programs_own_failure_an_undated_xid_weighs_less(self) -> None:
        kernel = "[523602.98] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus."
        lines = raised(3, "ValueError: bad batch")
        (finding,) = judge_text(KERNEL_XID, *lines, **{"dmesg.txt": kernel})
        assert finding.strength is Strength.SUPPORTS

    def test_a_switch_that_reports_no_fatal_error_is_quiet(self) -> None:
        line = "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): {code}, {what}, Link 28"
        assert judge_text(KERNEL_XID, line.format(code=20034, what="Fatal")) != []
        assert judge_text(KERNEL_XID, line.format(code=12028, what="Non-fatal")) == []


class TestHardwareError:
    @pytest.mark.parametrize(
        "text",
        [
            "RuntimeError: CUDA error: uncorrectable ECC error encountered",
            "RuntimeError: CUDA error: system not yet initialized",
        ],
    )
    def test_what_cuda_says(self, text: str) -> None:
        (finding,) = judge_text(HARDWARE_ERROR, f"[rank3]: {text}", "[rank1]: x", timed_out(0))
        assert (finding.cause, finding.strength) == (Cause.GPU_HARDWARE, Strength.PROVES)
        assert finding.culprits == ({3} if "ECC" in text else frozenset())

    def test_the_fabric_is_no_single_ranks_when_all_report_it(self) -> None:
        text = "RuntimeError: CUDA error: system not yet initialized"
        (finding,) = judge_text(HARDWARE_ERROR, *(f"[rank{r}]: {text}" for r in range(4)))
        assert finding.culprits == frozenset()

    def test_multicast_supports_it(self) -> None:
        text = "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2 : CUDA error 401 'x'"
        (finding,) = judge_text(HARDWARE_ERROR, warn(text))
        assert finding.strength is Strength.SUPPORTS

    def test_an_nvlink_error_alone_may_be_a_killed_peer(self) -> None:
        text = "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution"
        (finding,) = judge_text(HARDWARE_ERROR, text)
        assert finding.strength is Strength.HINTS

    def test_an_illegal_access_is_not_hardware(self) -> None:
        assert judge_text(HARDWARE_ERROR, ILLEGAL.format(rank=0, minute=30)) == []


class TestKernelFault:
    def test_inside_the_watchdog(self) -> None:
        line = ILLEGAL.format(rank=2, minute=20)
        (finding,) = judge_text(KERNEL_FAULT, line, timed_out(0), timed_out(1), timed_out(3))
        assert (finding.cause, finding.strength) == (Cause.GPU_KERNEL_FAULT, Strength.PROVES)
        assert finding.culprits == {2}

    def test_an_unspecified_launch_failure_supports(self) -> None:
        line = ILLEGAL.format(rank=2, minute=20)
        line = line.replace(
            "an illegal memory access was encountered", "unspecified launch failure"
        )
        (finding,) = judge_text(KERNEL_FAULT, line, timed_out(0))
        assert finding.strength is Strength.SUPPORTS

    @pytest.mark.parametrize(
        "text",
        [
            "EZ9999: The error from device(chipId:3, dieId:0), serial number is 1, there is an"
            " aicore error exception, core id is 12",
            ":0:rocdevice.cpp  :2881: 113 us: [pid:7106 tid:0x7f1] Callback: Queue 0x7f aborting"
            " with error : HSA_STATUS_ERROR_EXCEPTION: a hardware exception. code: 0x1016",
        ],
    )
    def test_kernels_of_other_makers(self, text: str) -> None:
        (finding,) = judge_text(KERNEL_FAULT, text)
        assert (finding.cause, finding.strength) == (Cause.GPU_KERNEL_FAULT, Strength.SUPPORTS)

    def test_the_end_of_a_process_beside_its_reason_is_no_other_process(self) -> None:
        end = "terminate called after throwing an instance of 'std::runtime_error'"
        why = "  what():  [TM] CUDA runtime error: an illegal memory access was encountered"
        (finding,) = judge_text(KERNEL_FAULT, end, why, "Aborted (core dumped)")
        assert finding.strength is Strength.PROVES
        far = ("step 1",) * 20
        (finding,) = judge_text(KERNEL_FAULT, end, *far, why, "Aborted (core dumped)")
        assert finding.strength is Strength.HINTS

    def test_what_nccl_tells_of_a_kernel_supports(self) -> None:
        line = warn("Cuda failure 'an illegal memory access was encountered'")
        (finding,) = judge_text(KERNEL_FAULT, line, timed_out(0))
        assert finding.strength is Strength.SUPPORTS

    def test_an_error_without_a_name_inside_the_watchdog_supports(self) -> None:
        line = ILLEGAL.format(rank=2, minute=20)
        line = line.replace("an illegal memory access was encountered", "a new kind of error")
        (finding,) = judge_text(KERNEL_FAULT, line, timed_out(0))
        assert finding.strength is Strength.SUPPORTS

    def test_all_ranks_alike_are_not_guilty(self) -> None:
        (finding,) = judge_text(
            KERNEL_FAULT, *(ILLEGAL.format(rank=r, minute=20) for r in range(4))
        )
        assert finding.culprits == frozenset()

    def test_the_earliest_of_some(self) -> None:
        lines = [
            ILLEGAL.format(rank=1, minute=25),
            ILLEGAL.format(rank=2, minute=20),
            *(timed_out(r, minute=31) for r in (0, 3, 4, 5)),
        ]
        (finding,) = judge_text(KERNEL_FAULT, *lines)
        assert finding.culprits == {2}

    def test_after_the_loss_of_another_rank_it_is_a_hint(self) -> None:
        lines = [*raised(3, "ValueError: bad batch"), ILLEGAL.format(rank=0, minute=40)]
        (finding,) = judge_text(KERNEL_FAULT, *lines)
        assert finding.strength is Strength.HINTS

    def test_a_library_supports_it(self) -> None:
        text = (
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"
        )
        (finding,) = judge_text(KERNEL_FAULT, f"[rank1]: {text}")
        assert finding.strength is Strength.SUPPORTS

    def test_boilerplate_is_none(self) -> None:
        lines = [
            "CUDA kernel errors might be asynchronously reported at some other API call",
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
            timed_out(0),
        ]
        assert judge_text(KERNEL_FAULT, *lines) == []


class TestOutOfMemory:
    def test_one_rank(self) -> None:
        line = f"[rank3]: {OOM.format(other='474.00 MiB', own='75.20 GiB')}"
        (finding,) = judge_text(OUT_OF_MEMORY, line, timed_out(0), timed_out(1), timed_out(2))
        assert (finding.cause, finding.strength) == (Cause.GPU_OOM, Strength.PROVES)
        assert finding.culprits == {3}
        assert finding.claim.key == "DEV004.claim"

    def test_another_process_on_the_gpu(self) -> None:
        line = f"[rank3]: {OOM.format(other='58.00 GiB', own='19.20 GiB')}"
        (finding,) = judge_text(OUT_OF_MEMORY, line, "[rank0]: x", timed_out(1))
        assert finding.claim.key == "DEV004.claim_shared"
        assert finding.claim.values["other"] == 58 << 30

    @pytest.mark.parametrize(
        "text",
        [
            "WARNING: CUDA out of memory. Tried to allocate 4.35 GiB, skipping the batch",
            "CUDA out of memory. Reducing the batch size to 8",
        ],
    )
    def test_a_program_that_tries_again(self, text: str) -> None:
        assert judge_text(OUT_OF_MEMORY, f"[rank1]: {text}", timed_out(0)) == []

    def test_an_absurd_size_is_a_by_product(self) -> None:
        text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1024.00 PiB. GPU 0"
        assert judge_text(OUT_OF_MEMORY, timed_out(0), f"[rank0]: {text}") == []

    def test_through_nccl_although_the_echo_is_printed_first(self) -> None:
        lines = [
            warn("socketProgress: Connection closed by remote peer node1<51159>", device=0),
            warn("Cuda failure 'out of memory'", pid=4714, device=3),
            warn("[Proxy Service 3] Failed to execute operation Setup", pid=4714, device=3),
        ]
        (finding,) = judge_text(OUT_OF_MEMORY, *lines)
        assert finding.strength is Strength.PROVES

    def test_a_job_that_went_on(self) -> None:
        line = f"[rank3]: {OOM.format(other='474.00 MiB', own='75.20 GiB')}"
        bars = [
            f"[rank3]: Epoch 1: {n}%|##  | {n}/100 [0{n}:00<09:00,  1.00it/s]" for n in range(4, 8)
        ]
        assert judge_text(OUT_OF_MEMORY, line, *bars) == []

    def test_pinned_host_memory_fails_with_the_same_words(self) -> None:
        lines = [
            warn("Cuda failure 2 'out of memory'"),
            warn("Failed to CUDA host alloc 8 bytes"),
        ]
        assert judge_text(OUT_OF_MEMORY, *lines) == []

    def test_host_memory_is_another_thing(self) -> None:
        lines = [*raised(0, "MemoryError"), "Out of memory: Killed process 4711 (python3)"]
        assert judge_text(OUT_OF_MEMORY, *lines) == []


class TestGpuUsedTwice:
    TEXT = "Duplicate GPU detected : rank {a} and rank 0 both on CUDA device f000"

    def test_one_pair_is_named(self) -> None:
        (finding,) = judge_text(GPU_USED_TWICE, warn(self.TEXT.format(a=1)))
        assert (finding.cause, finding.strength) == (Cause.DEVICE_MAP, Strength.PROVES)
        assert finding.culprits == {0, 1}

    def test_all_that_share_are_named(self) -> None:
        """Of one pair nothing tells which is in its place, and so of many."""
        lines = [warn(self.TEXT.format(a=a)) for a in (3, 7)]
        (finding,) = judge_text(GPU_USED_TWICE, *lines)
        assert finding.culprits == {0, 3, 7}
        apart = "Duplicate GPU detected : rank 5 and rank 4 both on CUDA device 1b000"
        (finding,) = judge_text(GPU_USED_TWICE, *lines, warn(apart))
        assert finding.culprits == {0, 3, 4, 5, 7}
        assert finding.claim.key == "DEV005.claim_several"

    def test_numbers_of_a_sub_group_name_nobody(self) -> None:
        line = warn(self.TEXT.format(a=1))
        (finding,) = judge_text(GPU_USED_TWICE, f"[rank5]: {line}")
        assert finding.culprits == frozenset()

    def test_two_starts_on_one_bus_id(self) -> None:
        line = (
            "node1:{pid}:9 [0] NCCL INFO comm 0x5 rank {rank} nranks 2 cudaDev 0 nvmlDev 0 busId "
            "{bus} commId {comm} - Init START"
        )
        same = [line.format(pid=r, rank=r, bus="9b000", comm="0x5a") for r in (0, 1)]
        apart = [line.format(pid=r, rank=r, bus=f"{r}b000", comm="0x5a") for r in (0, 1)]
        others = [line.format(pid=r, rank=r, bus="9b000", comm=f"0x5{r}") for r in (0, 1)]
        assert judge_text(GPU_USED_TWICE, *same) != []
        assert judge_text(GPU_USED_TWICE, *apart) == []
        assert judge_text(GPU_USED_TWICE, *others) == []


class TestDeviceGuessed:
    GUESS = (
        "[rank{rank}]:[W1121 01:10:45.172185860 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank "
        "{rank}]  using GPU {gpu} to perform barrier as devices used by this process are currently "
        "unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect."
    )
    WORLD = "[rank0]:[I1121 01:10:40.0 ProcessGroupNCCL.cpp:934] initialization options: size: 2"

    def lines(self, *gpus: int) -> list[str]:
        guesses = [self.GUESS.format(rank=r, gpu=gpu) for r, gpu in enumerate(gpus)]
        start = "node1:{r}:9 [0] NCCL INFO comm 0x5 rank {r} nranks 2 cudaDev 0 - Init START"
        return [*(start.format(r=r) for r in range(len(gpus))), *guesses, timed_out(0, seq=1)]

    def test_two_ranks_guess_one_gpu(self) -> None:
        (finding,) = judge_text(DEVICE_GUESSED, *self.lines(0, 0))
        assert (finding.cause, finding.strength) == (Cause.DEVICE_MAP, Strength.SUPPORTS)

    def test_each_its_own_is_harmless(self) -> None:
        assert judge_text(DEVICE_GUESSED, *self.lines(0, 1)) == []

    def test_one_host_by_the_launch_command(self) -> None:
        guesses = [line for line in self.lines(0, 0, 0) if "NCCL INFO" not in line]
        launch = "$ torchrun --standalone --nproc-per-node=3 train.py"
        elsewhere = "$ torchrun --nnodes=$NODES --nproc-per-node=1 train.py"
        assert judge_text(DEVICE_GUESSED, launch, *guesses) != []
        assert judge_text(DEVICE_GUESSED, elsewhere, *guesses) == []


class TestDeviceUnusable:
    def test_an_index_that_is_not_there(self) -> None:
        lines = ["[rank7]: RuntimeError: CUDA error: invalid device ordinal", timed_out(0)]
        (finding,) = judge_text(DEVICE_UNUSABLE, *lines)
        assert (finding.cause, finding.strength) == (Cause.DEVICE_MAP, Strength.PROVES)

    def test_a_busy_gpu(self) -> None:
        text = "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"
        (finding,) = judge_text(DEVICE_UNUSABLE, f"[rank7]: {text}")
        assert finding.strength is Strength.SUPPORTS

    def test_a_failed_kernel_is_another_thing(self) -> None:
        assert judge_text(DEVICE_UNUSABLE, ILLEGAL.format(rank=0, minute=30)) == []


class TestVersionsDiffer:
    def test_what_nccl_names(self) -> None:
        text = "Mismatched NCCL version detected : rank 3 version 22705 rank 0 version 22105"
        (finding,) = judge_text(VERSIONS_DIFFER, warn(text))
        assert (finding.cause, finding.strength) == (Cause.VERSION_MISMATCH, Strength.PROVES)

    def test_banners_of_two_hosts_are_a_hint(self) -> None:
        line = "{host}:1:1 [0] NCCL INFO NCCL version {version}+cuda12.4"
        lines = [
            line.format(host="node1", version="2.21.5"),
            line.format(host="node2", version="2.27.7"),
        ]
        (finding,) = judge_text(VERSIONS_DIFFER, *lines)
        assert finding.strength is Strength.HINTS

    def test_banners_of_two_files_and_a_message_of_another_length(self) -> None:
        banner = "NCCL version {}+cuda12.4"
        cut = warn("Message truncated : received 1192 bytes instead of 1096")
        other = banner.format("2.21.5")
        (finding,) = judge_text(VERSIONS_DIFFER, banner.format("2.20.5"), cut, **{"b.log": other})
        assert finding.strength is Strength.SUPPORTS
        assert Cause.LIBRARY_BUG in finding.explains
        same = {"b.log": banner.format("2.20.5")}
        assert judge_text(VERSIONS_DIFFER, banner.format("2.20.5"), cut, **same) == []

    def test_one_version_everywhere(self) -> None:
        line = "{host}:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4"
        assert judge_text(VERSIONS_DIFFER, *(line.format(host=h) for h in ("n1", "n2"))) == []


class TestBuildDoesNotFit:
    @pytest.mark.parametrize(
        "text",
        [
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported "
            "toolchain.",
            "Failed to initialize NVML: Driver/library version mismatch",
        ],
    )
    def test_errors(self, text: str) -> None:
        (finding,) = judge_text(BUILD_DOES_NOT_FIT, f"[rank0]: {text}")
        assert (finding.cause, finding.strength) == (Cause.VERSION_MISMATCH, Strength.PROVES)

    def test_a_warning_alone_is_a_hint(self) -> None:
        text = (
            "UserWarning: NVIDIA X with CUDA capability sm_120 is not compatible with the current "
            "PyTorch installation."
        )
        (finding,) = judge_text(BUILD_DOES_NOT_FIT, text, timed_out(0))
        assert finding.strength is Strength.HINTS

    def test_an_undefined_symbol(self) -> None:
        error = "ImportError: /opt/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister"
        (finding,) = judge_text(BUILD_DOES_NOT_FIT, *raised(0, error))
        assert finding.strength is Strength.SUPPORTS

    def test_an_extension_that_the_program_does_without(self) -> None:
        error = "ImportError: /opt/lib/amp_C.so: undefined symbol: _ZN3c10"
        steps = [f"[rank0]: Epoch [1][{n}/500] loss 1.2" for n in range(0, 500, 50)]
        assert judge_text(BUILD_DOES_NOT_FIT, *raised(0, error), *steps) == []

    def test_a_missing_module_is_none(self) -> None:
        lines = raised(0, "ModuleNotFoundError: No module named 'flash_attn'")
        assert judge_text(BUILD_DOES_NOT_FIT, *lines) == []


class TestArithmeticTrap:
    EXIT = "  exitcode  : -8 (pid: 4711)"
    TABLE = (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "train.py FAILED",
        "------------------------------------------------------------",
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-11-21_01:38:58",
        "  host      : node1",
        "  rank      : 6 (local_rank: 6)",
        "  exitcode  : {code} (pid: 4711)",
        "  error_file: <N/A>",
        "  traceback : Signal {signal} received by PID 4711",
        "============================================================",
    )

    def table(self, code: int, signal: str) -> list[str]:
        return [line.format(code=code, signal=signal) for line in self.TABLE]

    def test_cublas_in_the_kernel_log(self) -> None:
        kernel = "traps: python3[4711] trap divide error ip:7f sp:7f in libcublasLt.so.12[7f+1]"
        (finding,) = judge_text(
            ARITHMETIC_TRAP, *self.table(-8, "8 (SIGFPE)"), **{"dmesg.txt": kernel}
        )
        assert (finding.cause, finding.strength) == (Cause.VERSION_MISMATCH, Strength.SUPPORTS)
        assert finding.culprits == {6}

    def test_cublas_in_the_stack(self) -> None:
        lines = [
            "[node1:4711:0:4711] Caught signal 8 (Floating point exception)",
            " 1 0x00000000005ce34a cublasLt_for_cublas_ZZZ()  ???:0",
        ]
        (finding,) = judge_text(ARITHMETIC_TRAP, *lines)
        assert finding.strength is Strength.SUPPORTS

    def test_on_an_h20(self) -> None:
        (finding,) = judge_text(
            ARITHMETIC_TRAP, "GPU 0: NVIDIA H20 (UUID: x)", *self.table(-8, "8 (SIGFPE)")
        )
        assert finding.strength is Strength.SUPPORTS

    def test_a_bare_signal_is_a_hint(self) -> None:
        (finding,) = judge_text(ARITHMETIC_TRAP, *self.table(-8, "8 (SIGFPE)"))
        assert finding.strength is Strength.HINTS

    def test_another_signal_is_none(self) -> None:
        assert judge_text(ARITHMETIC_TRAP, *self.table(-11, "11 (SIGSEGV)")) == []


class TestKnownBug:
    def test_a_truncated_bootstrap(self) -> None:
        text = "Message truncated : received 256 bytes instead of 4"
        (finding,) = judge_text(KNOWN_BUG, warn(text))
        assert (finding.cause, finding.strength) == (Cause.LIBRARY_BUG, Strength.SUPPORTS)

    def test_the_release_must_fit(self) -> None:
        failure = warn("Cuda failure 700 'an illegal memory access was encountered'")
        affected = judge_text(KNOWN_BUG, failure, "NCCL version 2.26.2+cuda12.2")
        assert [f.cause for f in affected] == [Cause.LIBRARY_BUG]
        assert judge_text(KNOWN_BUG, failure, "NCCL version 2.27.7+cuda12.9") == []
        assert judge_text(KNOWN_BUG, failure) == []

    def test_internal_error_is_boilerplate(self) -> None:
        text = (
            "torch.distributed.DistBackendError: NCCL error in: x.cpp:1970, internal error - "
            "please "
            "report this issue to the NCCL developers, NCCL version 2.20.5"
        )
        assert judge_text(KNOWN_BUG, text) == []


@pytest.mark.parametrize(
    ("indices", "found"), [((0, 1, 0, 1), True), ((0, 1, 2, 3), False), ((0, 0, 0, 0), False)]
)
def test_one_index_for_two_ranks(indices: tuple[int, ...], found: bool) -> None:
    """All from 0 on: each process may stand in a container of its own."""
    lines = [
        f"c4:{5120 + rank}:{5150 + rank} [0] NCCL INFO comm 0x7f2a8c0019{rank} rank {rank} nranks 4"
        f" cudaDev 0 nvmlDev {index} - Init COMPLETE"
        for rank, index in enumerate(indices)
    ]
    told = judge_text(GPU_USED_TWICE, *lines)
    assert [f.strength for f in told] == ([Strength.SUPPORTS] if found else [])
