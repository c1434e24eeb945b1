"""CUDA errors, wherever they stand."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import DeviceFault, DeviceProblem
from unhang.parsers.cuda import CudaParser

GIB = 1 << 30


def fault(text: str) -> DeviceFault:
    return only(DeviceFault, feed(CudaParser, text))


def test_memory_with_its_holders() -> None:
    event = fault(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB. GPU 3 has a total "
        "capacity of 79.15 GiB of which 1.70 GiB is free. Process 41 has 58.00 GiB memory in use. "
        "Including non-PyTorch memory, this process has 12.25 GiB memory in use. Of the allocated "
        "memory 10.94 GiB is allocated by PyTorch"
    )
    assert event.problem is DeviceProblem.OUT_OF_MEMORY
    assert (event.device, event.asked_bytes) == (3, int(4.5 * GIB))
    assert (event.own_bytes, event.other_process_bytes) == (int(12.25 * GIB), 58 * GIB)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total "
            "capacity; 70.1 GiB already allocated)",
            2 * GIB,
        ),
        ("torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB.", 20 << 20),
        ("torch.AcceleratorError: CUDA error: out of memory", None),
        ("[allocator.cpp] CUresult error: 2 (out of memory)  file=utils.h line=9", None),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
            1 << 60,
        ),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.", None),
    ],
)
def test_forms_of_out_of_memory(text: str, asked: int | None) -> None:
    event = fault(text)
    assert (event.problem, event.asked_bytes) == (DeviceProblem.OUT_OF_MEMORY, asked)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("RuntimeError: CUDA error: device-side assert triggered", DeviceProblem.ASSERT),
        (
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
            DeviceProblem.ILLEGAL_ACCESS,
        ),
        (
            "CUDA error (/build/flash_fwd_launch_template.h:188): an illegal memory access was "
            "encountered",
            DeviceProblem.ILLEGAL_ACCESS,
        ),
        (
            "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
            DeviceProblem.ILLEGAL_ACCESS,
        ),
        ("RuntimeError: CUDA error: unspecified launch failure", DeviceProblem.LAUNCH_FAILURE),
        ("RuntimeError: CUDA error: misaligned address", DeviceProblem.ILLEGAL_ACCESS),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", DeviceProblem.ECC),
        (
            "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution",
            DeviceProblem.NVLINK,
        ),
        (
            "CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 802: "
            "system not "
            "yet initialized (cudaErrorSystemNotReady)",
            DeviceProblem.FABRIC,
        ),
        ("RuntimeError: CUDA error: invalid device ordinal", DeviceProblem.BAD_ORDINAL),
        (
            "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
            DeviceProblem.BUSY,
        ),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            DeviceProblem.NO_KERNEL,
        ),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            DeviceProblem.DRIVER,
        ),
        ("Failed to initialize NVML: Driver/library version mismatch", DeviceProblem.DRIVER),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
            "`cublasGemmEx( h )`",
            DeviceProblem.CUBLAS,
        ),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR", DeviceProblem.CUBLAS),
        (
            "Failed: Cuda error /w/custom_all_reduce.cuh:307 'peer access is not supported between "
            "these two devices'",
            DeviceProblem.PEER,
        ),
        (
            "Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f. Reason: "
            "Page not "
            "present or supervisor privilege.",
            DeviceProblem.ILLEGAL_ACCESS,
        ),
        (
            "Unable to determine the device handle for GPU0000:03:00.0: Unknown Error",
            DeviceProblem.FELL_OFF,
        ),
        ("RuntimeError: CUDA error: initialization error", DeviceProblem.OTHER),
        (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda "
            "functions before calling NumCudaDevices() that might have already set an error? "
            "Error 802: system not yet initialized",
            DeviceProblem.FABRIC,
        ),
    ],
)
def test_problems(text: str, problem: DeviceProblem) -> None:
    assert fault(text).problem is problem


def test_codes() -> None:
    assert fault("RuntimeError: CUDA driver error: 719").code == 719
    assert fault("RuntimeError: CUDA driver error: 719").problem is DeviceProblem.LAUNCH_FAILURE


def test_inside_the_watchdog() -> None:
    text = (
        "[PG ID 2 PG GUID 3 Rank 0] Process group watchdog thread terminated with exception: CUDA "
        "error: an illegal memory access was encountered"
    )
    assert fault(text).in_watchdog


@pytest.mark.parametrize(
    "text",
    [
        "CUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "frame #2: c10::cuda::c10_cuda_check_implementation(int, char const*) + 0x118",
        "Assertion `count > 0' failed in main.cpp",
        "node1:4711:4790 [2] enqueue.cc:1 NCCL WARN Cuda failure 'out of memory'",
        "W gpu_device.cc:1597] Unable to enable peer access between device ordinals 0 and 9: "
        "CUDA_ERROR_TOO_MANY_PEERS: peer mapping resources exhausted",
        "slurmstepd: error: Detected 1 oom-kill event: task was out of memory",
        "Use gradient checkpointing to avoid CUDA out of memory",
        "If the index is wrong, you may see a device-side assert triggered",
        "INFO: no CUDA errors were found in this run",
    ],
)
def test_what_is_no_fault(text: str) -> None:
    assert feed(CudaParser, text) == []


def test_an_assert_whose_quotes_were_lost_on_the_way() -> None:
    text = (
        "/a/ScatterGatherKernel.cu:144: operator(): block: [7,0,0], thread: [60,0,0] Assertion "
        'idx_dim >= 0 && idx_dim < size && "index out of bounds" failed.'
    )
    (fault,) = feed(CudaParser, text)
    assert isinstance(fault, DeviceFault)
    assert fault.problem is DeviceProblem.ASSERT


def test_an_assert_of_every_thread_is_said_a_few_times() -> None:
    lines = [
        line(
            f"/a/IndexKernel.cu:92: operator(): block: [0,0,0], thread: [{n},0,0] Assertion "
            "`-sizes[i] <= index && index < sizes[i]` failed.",
            rank=n % 2,
        )
        for n in range(400)
    ]
    events = feed(CudaParser, *lines)
    assert len(events) == 8
    assert {e.origin.rank for e in events} == {0, 1}


@pytest.mark.parametrize(("allocated", "own", "other"), [("1.20", 2, 60), ("57.00", 60, 2)])
def test_in_a_container_the_own_process_holds_what_it_allocated(
    allocated: str, own: int, other: int
) -> None:
    event = fault(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total "
        "capacity of 63.00 GiB of which 20.00 MiB is free. Process 7 has 60.00 GiB memory in use. "
        "Process 9 has 2.00 GiB memory in use. Of the allocated memory "
        f"{allocated} GiB is allocated by PyTorch, and 1.00 MiB is reserved by PyTorch but "
        "unallocated."
    )
    assert (event.own_bytes, event.other_process_bytes) == (own * GIB, other * GIB)


def test_warnings_leave_room_for_the_error_that_ends_it() -> None:
    lines = [
        f"[2024-05-01 10:00:0{n},000][trainer][WARNING] - OOM: CUDA out of memory. Tried to "
        "allocate 1.00 GiB, attempting to recover"
        for n in range(6)
    ]
    text = "RuntimeError: CUDA out of memory. Tried to allocate 3.00 GiB (GPU 1; 23.69 GiB total)"
    events = feed(CudaParser, *lines, text)
    assert [e.asked_bytes for e in events if isinstance(e, DeviceFault)][-1] == 3 * GIB


@pytest.mark.parametrize(
    ("text", "problem", "device"),
    [
        (
            "Compilation failure: Ran out of memory in memory space hbm. Used 18.92G of 15.4G.",
            DeviceProblem.OUT_OF_MEMORY,
            None,
        ),
        (
            "Out of memory error on GPU 3. Cannot allocate 512.000000MB memory on GPU 3, 31.6GB",
            DeviceProblem.OUT_OF_MEMORY,
            3,
        ),
        (
            "device(5) HBM multi bit ecc error, physical addr=0x1b2f40c80, error code=507054",
            DeviceProblem.ECC,
            None,
        ),
    ],
)
def test_other_devices(text: str, problem: DeviceProblem, device: int | None) -> None:
    event = fault(text)
    assert (event.problem, event.device) == (problem, device)


def test_memory_of_the_host_is_not_the_device_s() -> None:
    assert (
        feed(CudaParser, "Out of memory error on CPU 0. Cannot allocate 5GB, out of memory") == []
    )
