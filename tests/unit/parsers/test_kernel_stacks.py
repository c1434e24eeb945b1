"""The kernel's view of a process."""

from support.feeding import feed
from unhang.model.events import ThreadStack
from unhang.parsers.kernel_stacks import KernelStacksParser


def stacks(*texts: str) -> list[ThreadStack]:
    found = feed(KernelStacksParser, *texts)
    return [event for event in found if isinstance(event, ThreadStack)]


def test_files_of_proc_behind_each_other() -> None:
    first, second = stacks(
        "==> /proc/4711/stack <==",
        "[<0>] rpc_wait_bit_killable+0x24/0xc0 [sunrpc]",
        "[<0>] do_syscall_64+0x71/0x280",
        "",
        "==> /proc/4712/stack <==",
        "[<0>] futex_wait+0x67/0x120",
    )
    assert (first.origin.pid, second.origin.pid) == (4711, 4712)
    assert [f.function for f in first.frames] == ["do_syscall_64", "rpc_wait_bit_killable"]
    assert first.frames[1].file == "sunrpc"


def test_a_blocked_task_of_the_kernel_log() -> None:
    (stack,) = stacks(
        "task:python3         state:D stack:    0 pid: 4711 ppid:  4600 flags:0x00000002",
        "Call Trace:",
        " nfs_wait_on_request+0x2c/0x30 [nfs]",
        " ? autoremove_wake_function+0x0/0x40",
    )
    assert (stack.origin.pid, stack.uninterruptible) == (4711, True)
    assert [f.function for f in stack.frames] == ["nfs_wait_on_request"]


def test_a_trace_of_the_kernels_own_is_no_process() -> None:
    assert not stacks("Call Trace: state:D", " mlx5_cmd_exec+0x2c/0x30 [mlx5_core]")
