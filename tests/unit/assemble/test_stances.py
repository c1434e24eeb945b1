"""From stacks to where the ranks stand."""

from support.job_text import incident_of
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing, StackState

HEAD = 'Thread {pid} (idle): "MainThread"'
BARRIER = "    barrier (torch/distributed/distributed_c10d.py:5356)"
BACKWARD = "    _engine_run_backward (torch/autograd/graph.py:979)"
TAIL = ("    main (train.py:{line})", "    <module> (train.py:90)")


def stack(*frames: str, line: int = 40, pid: int = 4711) -> str:
    """py-spy's text of a process whose innermost frames are given."""
    tail = [text.format(line=line) for text in TAIL]
    return "\n".join([HEAD.format(pid=pid), *frames, *tail, ""])


def stood(**stacks: str) -> Incident:
    """The incident of one file for each rank: `rank3="…"`."""
    return incident_of("", **{f"{name}.txt": text for name, text in stacks.items()})


def only(**stacks: str) -> StackState:
    (stance,) = stood(**stacks).stances
    return stance


def test_a_wait_says_what_the_program_called() -> None:
    stance = only(
        rank3=stack(
            "    all_gather (torch/distributed/distributed_c10d.py:4287)",
            "    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)",
            "    all_gather_object (torch/distributed/distributed_c10d.py:3513)",
        )
    )
    assert (stance.rank, stance.doing, stance.op) == (3, Doing.WAITS, "all_gather_object")
    assert stance.code == "main (train.py:40)"


def test_a_wait_in_a_phase_keeps_the_phase() -> None:
    stance = only(rank0=stack(BARRIER, "    save_checkpoint (train.py:20)"))
    assert (stance.doing, stance.phase) == (Doing.WAITS, Phase.SAVE)


def test_an_evaluation_that_loads_data_is_an_evaluation() -> None:
    stance = only(
        rank0=stack(
            "    __next__ (torch/utils/data/dataloader.py:725)",
            "    evaluation_loop (transformers/trainer.py:4200)",
        )
    )
    assert (stance.doing, stance.phase, stance.certain) == (Doing.WORKS, Phase.EVAL, True)


def test_compiling_in_an_evaluation_is_compiling() -> None:
    stance = only(
        rank0=stack(
            "    compile (triton/compiler/compiler.py:279)",
            "    evaluation_loop (transformers/trainer.py:4200)",
        )
    )
    assert stance.phase is Phase.COMPILE


def test_a_lock_in_a_loader_is_data() -> None:
    stance = only(
        rank0=stack(
            "    Queue.get (multiprocessing/queues.py:113)",
            "    _try_get_data (torch/utils/data/dataloader.py:1291)",
        )
    )
    assert stance.phase is Phase.DATA


def test_a_lock_alone_is_a_lock() -> None:
    assert only(rank0=stack("    Thread.join (threading.py:1119)")).doing is Doing.LOCKED


def test_the_name_of_a_function_is_less_certain() -> None:
    stance = only(rank0=stack("    evaluate (train.py:32)"))
    assert (stance.phase, stance.certain) == (Phase.EVAL, False)


def test_a_comprehension_is_a_part_of_its_function() -> None:
    frames = "    <listcomp> (train.py:8)\n    pick (train.py:8)"
    assert only(rank0=stack(frames)).code == "pick (train.py:8)"


def test_code_that_nothing_tells_of() -> None:
    stance = only(rank0=stack("    wait_for_licence (train.py:75)"))
    assert (stance.doing, stance.frame) == (Doing.CODE, "train.py:wait_for_licence")


def test_helper_threads_do_not_count() -> None:
    helper = 'Thread 4799 (idle): "Thread-1"\n' + BARRIER + "\n    _bootstrap (threading.py:1)\n"
    assert only(rank0=helper + "\n" + stack("    torch_save (train.py:3)")).doing is Doing.CODE


def test_a_loaders_process_is_not_its_rank() -> None:
    worker = (
        "    get (multiprocessing/queues.py:113)\n"
        "    _worker_loop (torch/utils/data/_utils/worker.py:300)"
    )
    head = "Process {pid}: python train.py --local-rank=0\n"
    text = head.format(pid=7) + stack(worker, pid=7) + head.format(pid=5) + stack(BARRIER, pid=5)
    assert only(rank0=text).doing is Doing.WAITS


def test_a_hook_of_autograd_counts_in_a_backward_pass() -> None:
    hook = (
        "Thread 4750 (idle)\n"
        "    all_gather_into_tensor (torch/distributed/distributed_c10d.py:4100)\n"
        "    _pre_backward_hook (torch/distributed/fsdp/_runtime_utils.py:700)\n"
    )
    stance = only(rank0=stack(BACKWARD) + "\n" + hook)
    assert (stance.doing, stance.op) == (Doing.WAITS, "all_gather_into_tensor")


def test_the_last_snapshot_counts_and_tells_whether_it_moved() -> None:
    save = stack("    _save (torch/serialization.py:1259)", pid=1)
    assert only(rank0=save + "\n" + save).moved is False
    stance = only(rank0=stack(BARRIER, pid=1) + "\n" + save)
    assert (stance.phase, stance.moved) == (Phase.SAVE, True)


def test_native_frames_of_the_second_snapshot_are_no_movement() -> None:
    plain = stack("    _save (torch/serialization.py:1259)", pid=1)
    native = stack("    __write (libc.so.6)\n    _save (torch/serialization.py:1259)", pid=1)
    assert only(rank0=plain + "\n" + native).moved is False


def test_aborted_waits_count_and_aborted_work_does_not() -> None:
    def aborted(file: str, function: str) -> str:
        return (
            "Fatal Python error: Aborted\n\n"
            "Thread 0x00007f1b2c (most recent call first):\n"
            f'  File "/env/site-packages/{file}", line 9 in {function}\n'
            '  File "/home/ada/train.py", line 9 in <module>\n'
        )

    waits = aborted("torch/distributed/distributed_c10d.py", "barrier")
    assert only(rank0=waits).doing is Doing.WAITS
    assert stood(rank0=aborted("torch/serialization.py", "save")).stances == ()


def test_the_kernels_view_of_a_process_joins_pythons() -> None:
    stance = only(
        rank0="Process 4711: python train.py\n" + stack("    _save (torch/serialization.py:1259)"),
        proc="==> /proc/4711/stack <==\n[<0>] rpc_wait_bit_killable+0x24/0xc0 [sunrpc]\n",
    )
    assert (stance.rank, stance.doing, stance.phase) == (0, Doing.STORAGE, Phase.SAVE)
    assert stance.frame == "sunrpc:rpc_wait_bit_killable"


def test_a_wrapper_of_which_only_the_kernel_was_asked_stands_nowhere() -> None:
    """`timeout torchrun …`: beside ranks it is none; what hangs in storage is told all the same."""
    rank = "Process 4711: python train.py\n" + stack(BARRIER)
    waits = "==> /proc/99/stack <==\n[<0>] sigsuspend.isra.0+0x77/0xb0\n"
    hangs = "==> /proc/99/stack <==\n[<0>] rpc_wait_bit_killable+0x24/0xc0 [sunrpc]\n"
    assert [s.rank for s in stood(rank0=rank, proc=waits).stances] == [0]
    assert [s.doing for s in stood(rank0=rank, proc=hangs).stances] == [Doing.WAITS, Doing.STORAGE]
    assert len(stood(proc=waits).stances) == 1


def test_who_keeps_the_interpreter_lock() -> None:
    gdb = (
        'Thread 2 (Thread 0x7f75d21956c0 (LWP 82) "pt_nccl_watchdg"):\n'
        "#0  0x00007f75ec526f36 in take_gil (tstate=0x1) at Python/ceval_gil.h:244\n\n"
        'Thread 1 (Thread 0x7f75ecc8ab80 (LWP 63) "python"):\n'
        "#0  0x00007f75dbd6984b in cudaDeviceSynchronize () from /usr/lib/libcudart.so.12\n"
        "#1  0x00007f75dbd6984c in _PyEval_EvalFrameDefault () at Python/ceval.c:3\n"
    )
    assert only(rank0=gdb).gil_taken_by == "python: cudaDeviceSynchronize"


def test_classes_of_ranks() -> None:
    incident = stood(
        rank0=stack("    _save (torch/serialization.py:1259)", line=41),
        **{f"rank{rank}": stack(BARRIER, line=42) for rank in range(1, 8)},
    )
    waiting, saving = incident.standings
    assert (set(waiting.ranks), set(saving.ranks)) == (set(range(1, 8)), {0})
    assert waiting.parts_at == saving.parts_at == "train.py:main"
    assert incident.coverage.sources["stacks"] == 8


def test_an_actor_with_coroutines_works_in_a_thread_of_ray() -> None:
    serving = "\n".join(
        ('Thread 1 (idle): "MainThread"', "    main_loop (ray/_private/worker.py:1069)")
    )
    helper = "\n".join(
        (
            'Thread 2 (idle): "Thread-3"',
            "    select (selectors.py:468)",
            "    _bootstrap (threading.py:1002)",
        )
    )
    task = "\n".join(
        (
            'Thread 3 (active): "AsyncIO Thread: default"',
            "    all_reduce (torch/distributed/distributed_c10d.py:3004)",
            "    update_actor (verl/workers/engine_workers.py:640)",
            "    actor_method_executor (ray/_private/function_manager.py:740)",
            "    run_forever (asyncio/base_events.py:607)",
            "    _bootstrap_inner (threading.py:1045)",
            "    _bootstrap (threading.py:1002)",
        )
    )
    stance = only(rank0="\n\n".join((serving, helper, task, "")))
    assert (stance.doing, stance.op) == (Doing.WAITS, "all_reduce")
