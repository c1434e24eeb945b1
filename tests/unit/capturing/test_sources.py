"""Each source on real files and processes; what this machine does not have is stood in."""

import os
import socket
import textwrap
import threading
import time
from pathlib import Path

import pytest

from support.source_contexts import READY, context, events_of, ours, started, take
from unhang.capturing import specs
from unhang.capturing.source_context import SourceContext, Stop
from unhang.capturing.spec import About, Spec
from unhang.capturing.specs import (
    faulthandler_files,
    files,
    gpus,
    kernel_log,
    memory,
    network,
    output,
    proc,
    ras,
    rdma,
    recorder,
    scheduler,
    versions,
)
from unhang.model.capture import Fate
from unhang.model.events import HostProblem, HostReport, RasReport, StackKind, ThreadStack

pytestmark = pytest.mark.process

SPINNER = f"{READY}end = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


def stop_of(spec: Spec, at: SourceContext) -> Stop:
    with pytest.raises(Stop) as stop:
        take(spec, at)
    return stop.value


def test_names_and_limits_of_all_sources() -> None:
    names = [spec.name for spec in specs.SPECS]
    assert len(set(names)) == len(names)
    assert all(0 < spec.limit_s <= 15 and spec.limit_bytes > 0 for spec in specs.SPECS)
    assert {spec.about for spec in specs.SPECS} == set(About)


def test_proc_tells_the_state_and_which_threads_work(tmp_path: Path) -> None:
    with started(SPINNER) as process:
        told = take(proc.SPEC, context(process))
        pid = process.pid
    assert f"==> /proc/{pid}/status <==\nName:\tpython" in told["proc.txt"].decode()
    (head, row, *_) = told["threads.txt"].decode().splitlines()
    fields = dict(zip(head.split(), row.split(), strict=True))
    assert (fields["tid"], fields["state"]) == (str(pid), "R")
    assert int(row.split()[-1]) > 0  # of about 100 ticks, on a machine that does nothing else


def _kernel_stack_of_ours() -> bool:
    try:
        return bool(Path("/proc/self/stack").read_bytes())
    except OSError:
        return False


def test_the_kernel_stack_of_a_rank_is_read_as_its_own(tmp_path: Path) -> None:
    if not _kernel_stack_of_ours():
        pytest.skip("this user may not read kernel stacks")
    with started(f"{READY}time.sleep(60)") as process:
        path = tmp_path / "proc.txt"
        path.write_bytes(take(proc.SPEC, context(process))["proc.txt"])
    (stack,) = (e for e in events_of(path, "rank_3/proc.txt") if isinstance(e, ThreadStack))
    assert (stack.kind, stack.origin.rank, stack.origin.pid) == (StackKind.KERNEL, 3, process.pid)


def test_open_files_and_the_room_where_they_lie(tmp_path: Path) -> None:
    log = tmp_path / "model.bin"
    program = f"f = open({str(log)!r}, 'wb'); f.write(b'x' * 70); f.flush()\n{READY}time.sleep(60)"
    with started(program) as process:
        told = take(files.SPEC, context(process))
    assert f"write 70 {log}" in told["files.txt"].decode()
    head, *rows = told["mounts.txt"].decode().splitlines()
    assert head.startswith("mount type source size_GiB")
    assert any(row.startswith("/dev/shm tmpfs") or row.startswith("/ ") for row in rows)
    assert all(float(row.split()[3]) >= 0 for row in rows)


def test_logs_are_found_by_the_open_output(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as file:
        program = f"print('step 1')\n{READY}time.sleep(60)"
        with started(program, stdout=file.fileno()) as process:
            assert take(output.SPEC, context(process)) == {"stdout.log": b"step 1\n"}
            launcher = ours()
            stopped = stop_of(output.SPEC, context(process, run_folder=tmp_path))
            assert stopped.why.key == "capture.why.in_run_folder"
    assert launcher.rank == 3


def test_a_long_log_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    lines = [f"step {n} loss 2.5 of a long training run" for n in range(100_000)]
    log.write_text("\n".join(lines) + "\n")
    with log.open("ab") as file, started(f"{READY}time.sleep(60)", stdout=file.fileno()) as process:
        told = take(output.SPEC, context(process))["stdout.log"].decode().splitlines()
    assert told[0] == lines[0]
    assert told[-1] == lines[-1]
    (mark,) = set(told) - set(lines)
    kept = len("\n".join(line for line in told if line != mark)) + 1
    assert mark == f"[unhang capture left out {log.stat().st_size - kept} bytes here]"


def test_an_environment_and_memory_and_network_are_there() -> None:
    told = take(memory.SPEC, context(ours()))["memory.txt"].decode()
    assert "==> /proc/meminfo <==\nMemTotal:" in told
    told = take(network.SPEC, context(ours(), limit_s=10))["network_2.txt"].decode()
    assert "lo:" in told


def test_versions_are_told_by_what_is_mapped_and_installed() -> None:
    program = f"import zstandard.backend_c\n{READY}time.sleep(60)"
    with started(program) as process:
        told = take(versions.SPEC, context(process))["versions.txt"].decode()
    assert "installed in " in told
    assert "/proc/sys/kernel/osrelease: " in told


def test_a_source_that_needs_slurm_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)  # a host without Slurm
    assert stop_of(scheduler.SPEC, context(ours())).why.key == "capture.why.no_job"
    asked = stop_of(scheduler.SPEC, context(ours(SLURM_JOB_ID="77")))
    assert asked.why.key == "capture.why.not_installed"


def test_kernel_lines_older_than_the_job_are_left_out() -> None:
    text = (
        b"2026-11-20T07:00:00,000001+00:00 NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off\n"
        b"2026-11-21T07:00:00,000001+00:00 python3[4711]: segfault at 7f\n"
        b" Code: 00 11\n"
        b"2026-11-21T08:00:00,000001+01:00 same moment\n"
    )
    since = 1795244400.0
    assert kernel_log.later_than(since, text) == text[text.index(b"2026-11-21T07") :]
    assert kernel_log.later_than(since + 10_000, text) == b""


def test_dumps_that_torch_wrote_for_this_start_are_taken(tmp_path: Path) -> None:
    prefix = tmp_path / "nccl_trace_rank_"
    process = ours(TORCH_FR_DUMP_TEMP_FILE=str(prefix))
    assert stop_of(recorder.SPEC, context(process)).why.key == "capture.why.no_dump"
    dump = Path(f"{prefix}3")
    dump.write_bytes(b'{"version": "2.10", "entries": []}')
    assert take(recorder.SPEC, context(process)) == {"trace_3": dump.read_bytes()}
    os.utime(dump, (1.0, 1.0))
    assert stop_of(recorder.SPEC, context(process)).why.key == "capture.why.older"


def test_a_pipe_for_dumps_is_used_where_somebody_listens(tmp_path: Path) -> None:
    dumps, pipes = tmp_path / "dump_", tmp_path / "pipe_"
    os.mkfifo(f"{pipes}3.pipe")
    process = ours(TORCH_FR_DUMP_TEMP_FILE=str(dumps), TORCH_NCCL_DEBUG_INFO_PIPE_FILE=str(pipes))
    assert stop_of(recorder.SPEC, context(process)).why.key == "capture.why.no_dump"

    def torch_stand_in() -> None:
        with Path(f"{pipes}3.pipe").open("rb") as pipe:
            if pipe.read(1) == b"1":
                time.sleep(0.6)
                Path(f"{dumps}3").write_bytes(b'{"version": "2.10"}')

    listener = threading.Thread(target=torch_stand_in)
    listener.start()
    time.sleep(0.2)
    told = take(recorder.SPEC, context(process))
    listener.join(timeout=30)
    assert told == {"trace_3": b'{"version": "2.10"}'}


FAULTHANDLER = f"""
import faulthandler, os, signal, sys
{{register}}
def evaluate():
    {READY.strip()}
    while True: time.sleep(60)
evaluate()
"""


def test_stacks_that_faulthandler_wrote_to_a_file_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "stacks"
    register = f"f = open({str(path)!r}, 'w'); faulthandler.dump_traceback(f)"
    with started(FAULTHANDLER.format(register=register)) as process:
        told = take(faulthandler_files.SPEC, context(process))
        assert list(told) == ["faulthandler-1.txt"]
        assert b"most recent call first" in told["faulthandler-1.txt"]
    with started(f"{READY}time.sleep(60)") as process:
        missing = stop_of(faulthandler_files.SPEC, context(process))
        assert missing.why.key == "capture.why.no_faulthandler"


def test_a_signal_is_sent_only_to_who_catches_it(tmp_path: Path) -> None:
    path = tmp_path / "stacks"
    register = f"faulthandler.register(signal.SIGUSR1, file=open({str(path)!r}, 'w'))"
    with started(FAULTHANDLER.format(register=register)) as process:
        told = take(faulthandler_files.SPEC, context(process, signal=10))
        assert b"in evaluate" in told["faulthandler-1.txt"]
        path.write_text("")
        take_nothing = stop_of(faulthandler_files.SPEC, context(process))
        assert take_nothing.fate is Fate.ABSENT
        refused = stop_of(faulthandler_files.SPEC, context(process, signal=12))
        assert refused.why.key == "capture.why.signal_not_caught"
        assert Path(f"/proc/{process.pid}").exists()


def test_counters_of_rdma_ports_are_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder stands in for the kernel's: this machine has no adapter."""
    port = tmp_path / "mlx5_0" / "ports" / "1"
    for name, value in {
        "state": "4: ACTIVE",
        "counters/port_rcv_data": "1000",
        "hw_counters/out_of_sequence": "7",
        "hw_counters/lifespan": "10",
    }.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(value + "\n")
    monkeypatch.setattr(rdma, "_ROOT", str(tmp_path))

    def grow(_: SourceContext, __: float) -> None:
        (port / "counters/port_rcv_data").write_text("4500\n")
        (port / "state").write_text("1: DOWN\n")

    monkeypatch.setattr(SourceContext, "pause", grow)
    assert take(rdma.SPEC, context())["rdma.txt"].decode().splitlines() == [
        "port counter value in_1s",
        "mlx5_0/1 state 4: ACTIVE now 1: DOWN",
        "mlx5_0/1 port_rcv_data 1000 3500",
        "mlx5_0/1 out_of_sequence 7 0",
    ]
    monkeypatch.setattr(rdma, "_ROOT", str(tmp_path / "none"))
    assert stop_of(rdma.SPEC, context()).why.key == "capture.why.no_device"


RAS_ANSWER = """\
Communicators... (0.00s)
======
Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         4         4         4   RUNNING  MISMATCH

#0-0 (fa93daea854b060b) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 641
  Rank 1 has launched up to operation 640 -- GPU 1 managed by process 3230 on node 10.0.0.7
"""


def test_ras_is_asked_by_its_socket(tmp_path: Path) -> None:
    """A server stands in for NCCL's: it takes a line and answers in text."""
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(100))
                connection.sendall(RAS_ANSWER.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        process = ours(NCCL_RAS_ADDR=f"127.0.0.1:{server.getsockname()[1]}")
        told = take(ras.SPEC, context(process))
        thread.join(timeout=30)
    assert asked == [b"verbose status\n"]
    path = tmp_path / "ras.txt"
    path.write_bytes(told["ras.txt"])
    assert any(isinstance(event, RasReport) for event in events_of(path))


def test_ras_that_never_ends_its_answer_is_cut() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def answer() -> None:
            connection, _ = server.accept()
            kept.append(connection)
            connection.sendall(b"Communicators...\n")

        thread = threading.Thread(target=answer)
        thread.start()
        process = ours(NCCL_RAS_ADDR=f"127.0.0.1:{server.getsockname()[1]}")
        pieces = ras.SPEC.gather(context(process, limit_s=1.0))
        assert next(pieces).data == b"Communicators...\n"
        with pytest.raises(Stop, match="timed_out"):
            next(pieces)
        thread.join(timeout=30)
        kept[0].close()


def test_nobody_at_the_socket_of_ras() -> None:
    missing = stop_of(ras.SPEC, context(ours(NCCL_RAS_ADDR="127.0.0.1:9")))
    assert (missing.fate, missing.why.key) == (Fate.ABSENT, "capture.why.no_ras")


NVML = textwrap.dedent(
    """
    import time, types
    class NVMLError(Exception): pass
    NVML_SUCCESS = NVML_TEMPERATURE_GPU = NVML_CLOCK_SM = NVML_VOLATILE_ECC = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = NVML_AGGREGATE_ECC = 1
    NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230
    def nvmlInit(): pass
    def nvmlDeviceGetHandleByIndex(index): return index
    def nvmlSystemGetDriverVersion(): return "550.54.14"
    def nvmlDeviceGetPciInfo(gpu): return types.SimpleNamespace(busId=b"00000000:9B:00.0")
    def nvmlDeviceGetName(gpu): return b"NVIDIA H100"
    def nvmlDeviceGetTotalEccErrors(gpu, kind, counter): return 3 if counter == 0 else 9
    def nvmlDeviceGetRemappedRows(gpu): return [0, 1, 0, 1]
    def nvmlDeviceGetCurrentClocksThrottleReasons(gpu): return 0x40
    def nvmlDeviceGetFieldValues(gpu, ids):
        return [types.SimpleNamespace(nvmlReturn=0, value=types.SimpleNamespace(uiVal=1))]
    def nvmlDeviceGetNvLinkState(gpu, link):
        if link > 1: raise NVMLError("no such link")
        return 1
    def nvmlDeviceGetComputeRunningProcesses(gpu):
        {hang}
        return [types.SimpleNamespace(pid=4711, usedGpuMemory=5)]
    def __getattr__(name):
        if not name.startswith("nvml"): raise AttributeError(name)
        def call(*_): raise NVMLError("Not Supported")
        return call
    """
)
"""Stands in for NVIDIA's library: this machine has no GPU."""


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(gpus, "_count", lambda _: 1)
    return tmp_path / "pynvml.py"


def test_a_gpu_is_told_in_the_form_that_is_judged(nvml: Path) -> None:
    nvml.write_text(NVML.format(hang="pass"))
    told = take(gpus.SPEC, context())["gpu0.txt"]
    nvml.with_name("gpu0.txt").write_bytes(told)
    reports = [e for e in events_of(nvml.with_name("gpu0.txt")) if isinstance(e, HostReport)]
    assert {report.problem for report in reports} == {
        HostProblem.ECC_UNCORRECTED,
        HostProblem.REMAPPING_FAILED,
        HostProblem.GPU_RESET_NEEDED,
        HostProblem.GPU_SLOWED,
    }
    assert {report.device for report in reports} == {"00000000:9b:00.0"}
    assert b"Product Name : NVIDIA H100" in told
    assert b"NVLink 1 : Up" in told
    assert b"Process ID : 4711" in told
    assert b"# asking" not in told


def test_a_driver_that_hangs_costs_its_last_answer_only(
    nvml: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml.write_text(NVML.format(hang="time.sleep(600)"))
    monkeypatch.setattr(gpus, "_LIMIT_S", 3.0)
    pieces = gpus.SPEC.gather(context())
    told = next(pieces).data.decode()
    assert "NVLink 1 : Up" in told
    assert told.endswith("# processes did not answer\n")
    with pytest.raises(Stop, match="timed_out"):
        next(pieces)


def test_a_machine_without_gpus_says_so() -> None:
    if any(Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("there is a GPU")
    assert stop_of(gpus.SPEC, context()).why.key == "capture.why.no_device"
