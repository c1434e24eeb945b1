"""Native stacks of all threads."""

from support.feeding import feed
from unhang.model.events import StackKind, ThreadStack
from unhang.parsers.native_threads import NativeThreadsParser


def stacks(*texts: str) -> list[ThreadStack]:
    found = feed(NativeThreadsParser, *texts)
    return [event for event in found if isinstance(event, ThreadStack)]


GDB = (
    'Thread 2 (Thread 0x7f75d21956c0 (LWP 5982) "pt_nccl_watchdg"):',
    "#0  0x00007f75ec526f36 in take_gil (tstate=0x1) at Python/ceval_gil.h:244",
    "#1  0x00007f75ec526f37 in PyGILState_Ensure () from /usr/lib/libpython3.11.so.1.0",
    "",
    'Thread 1 (Thread 0x7f75ecc8ab80 (LWP 5963) "python"):',
    "#0  0x00007f75dbd6984b in cudaDeviceSynchronize () from /usr/lib/libcudart.so.12",
    "#1  0x00007f75dbd6984c in _PyEval_EvalFrameDefault (f=Frame 0x7f, for file /home/ada/a.py, "
    "line 26, in main ()) at Python/ceval.c:3",
    "#2  0x00007f75ec45524a in __libc_start_call_main () at ../sysdeps/nptl/libc_start.h:58",
    "[Inferior 1 (process 5963) detached]",
)


def test_the_process_is_that_of_thread_1() -> None:
    watchdog, main = stacks(*GDB)
    assert (watchdog.origin.pid, main.origin.pid) == (5963, 5963)
    assert (watchdog.main, main.main) == (False, True)
    assert main.kind is StackKind.NATIVE


def test_frames_of_the_interpreter_tell_the_python_code() -> None:
    _, main = stacks(*GDB)
    assert [f.function for f in main.frames] == [
        "__libc_start_call_main",
        "main",
        "cudaDeviceSynchronize",
    ]
    assert (main.frames[1].file, main.frames[1].line) == ("/home/ada/a.py", 26)
    assert main.frames[2].file == "libcudart.so.12"


def test_two_processes_in_one_file() -> None:
    found = stacks(*GDB, *(text.replace("5963", "7000") for text in GDB))
    assert [s.origin.pid for s in found] == [5963, 5963, 7000, 7000]


def test_elfutils() -> None:
    (stack,) = stacks("PID 41 - process", "TID 41:", "#0  0x00007f52 ncclGroupEnd", "#1  0x1 main")
    assert (stack.main, [f.function for f in stack.frames]) == (True, ["main", "ncclGroupEnd"])


def test_a_gdb_without_threads_says_nothing() -> None:
    assert not stacks("Attaching to process 5963", "ptrace: Operation not permitted.")


def test_the_threads_of_a_program_that_does_not_train_are_no_stacks_of_a_job() -> None:
    lines = (
        'Thread 1 (Thread 0x7ffff3e1e980 (LWP 90212) "blender"):',
        "#0  0x00007ffff6a8a2d4 in IMB_allocImBuf () from /usr/lib/blender/libimbuf.so",
        "#1  0x00005555578812d1 in main ()",
    )
    assert not stacks(*lines)
    unknown = ("#0  0x00007ffff6a8a2d4 in ?? ()", lines[2])
    assert stacks(lines[0], *unknown), "nobody knows what it is"


def test_the_stack_of_one_thread_below_a_heading() -> None:
    first, second = stacks(
        "---------- rank 0 (pid 18820, node lx03) ----------",
        "0x00002b1c4de11a2d in poll () from /usr/lib64/libc.so.6",
        "#0  0x00002b1c4e0c5b90 in opal_progress ()",
        "#1  0x00002b1c4c8e2bd0 in PMPI_Allreduce () from /opt/openmpi/lib/libmpi.so.40",
        "---------- rank 1 (pid 18821, node lx03) ----------",
        "#0  0x00002b1c4c8e2bd0 in PMPI_Bcast () from /opt/openmpi/lib/libmpi.so.40",
    )
    assert [(s.origin.rank, s.origin.pid, s.main) for s in (first, second)] == [
        (0, 18820, True),
        (1, 18821, True),
    ]
    assert second.frames[-1].function == "PMPI_Bcast"
