"""Rules on live stacks: who is outside the wait, at work, elsewhere; and what leaves them quiet."""

import pickle
from itertools import repeat
from pathlib import Path

import pytest

from support.job_text import judge_text, raised, timed_out
from unhang.api import diagnose
from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.rule import Rule
from unhang.rules.desync.circle_of_stacks import check as DSY203
from unhang.rules.desync.waits_differ import check as DSY201
from unhang.rules.locate.interpreter_lock_kept import check as LOC203
from unhang.rules.locate.rank_elsewhere import check as LOC201
from unhang.rules.locate.storage_does_not_answer import check as LOC204
from unhang.rules.slow.build_lock_left import check as SLO007
from unhang.rules.slow.rank_at_work import check as SLO201

BARRIER = "    barrier (torch/distributed/distributed_c10d.py:5356)"
GATHER = "    all_gather_object (torch/distributed/distributed_c10d.py:3513)"
BROADCAST = "    broadcast (torch/distributed/distributed_c10d.py:2801)"
BACKWARD = "    _engine_run_backward (torch/autograd/graph.py:979)\n    train_step (train.py:37)"
CONNECTS = "    init_process_group (torch/distributed/distributed_c10d.py:1801)"
SAVE = "    _save (torch/serialization.py:1259)"
LOCK = "    wait (torch/utils/file_baton.py:50)\n    load (torch/utils/cpp_extension.py:1927)"
BUILD = "    _run_ninja_build (torch/utils/cpp_extension.py:2613)"
LOADER = "    __next__ (torch/utils/data/dataloader.py:725)"
SLEEP = "    wait_for_licence (train.py:75)"
CLOSED = (
    "[rank2]: Traceback (most recent call last):",
    '[rank2]:   File "train.py", line 5, in step',
    "[rank2]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] "
    "Connection closed by peer [10.0.0.2]:4242",
)
RECEIVED_NOTHING = "Timed out waiting 6000ms for recv operation to complete"


def stack(frames: str, line: int = 40, state: str = "idle") -> str:
    return (
        f'Thread 4711 ({state}): "MainThread"\n{frames}\n    main (train.py:{line})\n'
        "    <module> (train.py:90)\n"
    )


def judge(rule: Rule, *frames: str | None, log: tuple[str, ...] = ("",)) -> list[Finding]:
    """What a rule says of one stack for each rank; None for a rank that left none."""
    stacks = {f"rank{r}.txt": stack(text) for r, text in enumerate(frames) if text is not None}
    return judge_text(rule, *log, **stacks)


class TestRankElsewhere:
    @pytest.mark.parametrize("frame", [SAVE, LOADER, SLEEP])
    def test_the_one_that_is_in_no_collective(self, frame: str) -> None:
        (finding,) = judge(LOC201, BARRIER, BARRIER, frame, BARRIER)
        assert (set(finding.culprits), finding.strength) == ({2}, Strength.SUPPORTS)

    def test_after_a_time_out_it_is_proved(self) -> None:
        log = tuple(timed_out(rank) for rank in (0, 1, 3))
        (finding,) = judge(LOC201, BARRIER, BARRIER, SLEEP, BARRIER, log=log)
        assert finding.strength is Strength.PROVES

    def test_a_rank_that_gave_up_itself_is_a_hint(self) -> None:
        log = tuple(timed_out(rank) for rank in range(4))
        (finding,) = judge(LOC201, BARRIER, BARRIER, SLEEP, BARRIER, log=log)
        assert finding.strength is Strength.HINTS

    def test_a_rank_whose_collective_failed_is_on_its_way_out(self) -> None:
        (finding,) = judge(LOC201, BARRIER, BARRIER, SLEEP, BARRIER, log=CLOSED)
        assert finding.strength is Strength.HINTS

    @pytest.mark.parametrize("first", [True, False], ids=["after they gave up", "before"])
    def test_a_rank_that_comes_back_finds_its_peers_gone(self, first: bool) -> None:
        alarms = tuple(timed_out(rank) for rank in (0, 1, 3))
        log = alarms + CLOSED if first else CLOSED + alarms
        (finding,) = judge(LOC201, BARRIER, BARRIER, SLEEP, BARRIER, log=log)
        assert finding.strength is (Strength.PROVES if first else Strength.HINTS)

    def test_a_rank_that_gave_up_receiving_waited_too(self) -> None:
        late = (*CLOSED[:2], CLOSED[2].partition("Connection")[0] + RECEIVED_NOTHING)
        log = (*(timed_out(rank) for rank in (0, 1, 3)), *late)
        (finding,) = judge(LOC201, BARRIER, BARRIER, SLEEP, BARRIER, log=log)
        assert finding.strength is Strength.HINTS

    def test_a_rank_without_a_stack_is_never_named(self) -> None:
        log = ("[rank3]: loaded",)
        assert judge(LOC201, BARRIER, BARRIER, BARRIER, None, log=log) == []

    def test_a_job_in_which_those_that_wait_have_moved_runs(self) -> None:
        stood, moved = stack(BARRIER), stack(BACKWARD) + "\n" + stack(BARRIER)
        twice = {"rank0": moved, "rank1": stood + "\n" + stood, "rank2": stack(SLEEP)}
        files = {f"{name}.txt": text for name, text in twice.items()}
        assert judge_text(LOC201, "", **files) == []
        files["rank0.txt"] = stood + "\n" + stood
        assert [set(f.culprits) for f in judge_text(LOC201, "", **files)] == [{2}]
        files["rank0.txt"] = moved
        alarm = (timed_out(0), timed_out(1))
        assert [set(f.culprits) for f in judge_text(LOC201, *alarm, **files)] == [{2}]

    def test_a_silent_rank_weakens_the_claim(self) -> None:
        log = tuple(timed_out(rank) for rank in (0, 3))
        (finding,) = judge(LOC201, BARRIER, SAVE, BARRIER, None, log=log)
        assert finding.strength is Strength.SUPPORTS
        assert finding.collect

    def test_where_most_are_elsewhere_nobody_waits_for_anybody(self) -> None:
        assert judge(LOC201, SAVE, LOADER, SLEEP, BARRIER) == []

    def test_where_most_stand_nobody_is_elsewhere(self) -> None:
        # Python stops at `.item()`, in the program's own line, until the GPU is done.
        here = "    step (train.py:50)"
        (finding,) = judge(LOC201, here, here, SAVE, here)
        assert finding.culprits == {2}

    def test_who_is_still_being_loaded_waits_for_nobody(self) -> None:
        loading = "    <module> (train.py:13)"
        assert judge(LOC201, loading, loading, SAVE, loading) == []

    def test_processes_without_a_number_do_not_count(self) -> None:
        stacks = {f"rank{rank}.txt": stack(BARRIER) for rank in (0, 1)}
        (finding,) = judge_text(
            LOC201, "", **stacks, **{"rank2.txt": stack(SLEEP), "agent.txt": stack(LOADER)}
        )
        assert finding.culprits == {2}

    def test_the_step_of_the_model_is_no_suspect(self) -> None:
        assert judge(LOC201, BARRIER, BARRIER, BACKWARD, BARRIER) == []


class TestRankAtWork:
    @pytest.mark.parametrize(
        ("frame", "cause"),
        [
            (SAVE, Cause.CHECKPOINT_SLOW),
            (LOADER, Cause.DATA_SLOW),
            ("    evaluation_loop (transformers/trainer.py:4200)", Cause.EVAL_SLOW),
            ("    compile (triton/compiler/compiler.py:279)", Cause.COMPILE_SLOW),
            ("    _shutdown (threading.py:1583)", Cause.UNEVEN_WORK),
        ],
    )
    def test_the_phase_tells_the_cause(self, frame: str, cause: Cause) -> None:
        (finding,) = judge(SLO201, BARRIER, frame, BARRIER, BARRIER)
        assert (finding.cause, set(finding.culprits)) == (cause, {1})
        assert finding.strength is Strength.SUPPORTS

    def test_after_a_time_out_a_known_phase_is_proved(self) -> None:
        log = tuple(timed_out(rank) for rank in (0, 2, 3))
        (finding,) = judge(SLO201, BARRIER, SAVE, BARRIER, BARRIER, log=log)
        assert finding.strength is Strength.PROVES

    @pytest.mark.parametrize(
        ("inner", "strength"),
        [
            ("", Strength.HINTS),
            ("    sleep (train.py:9)\n", Strength.HINTS),
            ("    forward (torch/nn/modules/linear.py:134)\n", Strength.SUPPORTS),
        ],
    )
    def test_the_name_of_a_function_alone_is_a_hint(self, inner: str, strength: Strength) -> None:
        log = tuple(timed_out(rank) for rank in (0, 2, 3))
        frames = f"{inner}    evaluate (train.py:3)"
        (finding,) = judge(SLO201, BARRIER, frames, BARRIER, BARRIER, log=log)
        assert (finding.cause, finding.strength) == (Cause.EVAL_SLOW, strength)

    def test_a_line_of_the_log_bears_out_the_name_of_a_function(self) -> None:
        log = ("[rank1]: ***** Running Evaluation *****", *(timed_out(rank) for rank in (0, 2, 3)))
        frames = "    evaluate (train.py:3)"
        (finding,) = judge(SLO201, BARRIER, frames, BARRIER, BARRIER, log=log)
        assert finding.strength is Strength.SUPPORTS

    def test_a_process_that_failed_first_makes_it_a_hint(self) -> None:
        log = tuple(raised(3, "ValueError: bad batch"))
        (finding,) = judge(SLO201, BARRIER, SAVE, BARRIER, BARRIER, log=log)
        assert finding.strength is Strength.HINTS

    def test_sleeping_code_has_no_cause(self) -> None:
        assert judge(SLO201, BARRIER, SLEEP, BARRIER, BARRIER) == []

    def test_all_in_one_save_is_quiet(self) -> None:
        assert judge(SLO201, SAVE, SAVE, SAVE, SAVE) == []


class TestWaitsDiffer:
    def test_a_branch_of_one_rank(self) -> None:
        (finding,) = judge(DSY201, BACKWARD, GATHER, BACKWARD, BACKWARD)
        assert (finding.cause, set(finding.culprits)) == (Cause.DESYNC, {1})

    def test_a_rank_that_left_the_loop(self) -> None:
        stacks = {f"rank{rank}.txt": stack(BACKWARD, 67) for rank in (0, 1, 3)}
        stacks["rank2.txt"] = stack(BARRIER, 70)
        (finding,) = judge_text(DSY201, "", **stacks)
        assert (finding.cause, set(finding.culprits)) == (Cause.UNEVEN_WORK, {2})

    @pytest.mark.parametrize(
        ("line", "cause", "culprit"), [(21, Cause.DESYNC, 0), (15, Cause.UNEVEN_WORK, 1)]
    )
    def test_who_calls_from_a_new_place_is_in_no_loop(
        self, line: int, cause: Cause, culprit: int, tmp_path: Path
    ) -> None:
        """Rank 0 alone runs the model once more; rank 1 is in the barrier of every tenth step."""
        for rank, last in ((0, line), (1, 15)):
            calls = [*repeat(15, 40), *([last] if rank == 0 else [])]
            entries = [
                {
                    "record_id": seq,
                    "process_group": ("0", "default_pg"),
                    "collective_seq_id": seq,
                    "p2p_seq_id": 0,
                    "is_p2p": False,
                    "op_id": seq,
                    "profiling_name": "gloo:all_gather",
                    "input_sizes": [[64]],
                    "output_sizes": [[128]],
                    "input_dtypes": ["Float"],
                    "output_dtypes": ["Float"],
                    "state": "scheduled",
                    "retired": False,
                    "time_created_ns": 1_700_000_000_000_000_000 + seq * 1_000_000,
                    "frames": [{"name": "main", "filename": "train.py", "line": at}],
                }
                for seq, at in enumerate(calls, start=1)
            ]
            group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}
            tree = {"version": "2.10", "entries": entries, "pg_config": {"0": group}}
            (tmp_path / f"trace_{rank}.pickle").write_bytes(pickle.dumps(tree, protocol=2))
        barrier = "    monitored_barrier (torch/distributed/distributed_c10d.py:5435)"
        waits = "    all_gather_single (torch/distributed/distributed_c10d.py:4394)\n"
        waits += "    pre_forward (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:551)"
        (tmp_path / "rank0.txt").write_text(stack(waits, line))
        (tmp_path / "rank1.txt").write_text(stack(barrier, 23))
        found = diagnose(str(tmp_path))
        assert (found.cause, set(found.culprits)) == (cause, {culprit})

    def test_two_against_two_name_nobody(self) -> None:
        (finding,) = judge(DSY201, BARRIER, GATHER, BARRIER, GATHER)
        assert finding.culprits == frozenset()

    def test_a_silent_rank_makes_it_a_hint(self) -> None:
        log = ("[rank3]: loaded", timed_out(3))
        (finding,) = judge(DSY201, BARRIER, GATHER, BARRIER, None, log=log)
        assert finding.strength is Strength.HINTS

    def test_a_busy_step_on_gpus_is_a_hint(self) -> None:
        stacks = {f"rank{rank}.txt": stack(BACKWARD, state="active") for rank in (0, 2)}
        (finding,) = judge_text(DSY201, "", **stacks, **{"rank1.txt": stack(GATHER)})
        assert finding.strength is Strength.HINTS

    @pytest.mark.parametrize("frame", [BROADCAST, SAVE, CONNECTS])
    def test_roots_and_work_leave_it_quiet(self, frame: str) -> None:
        assert judge(DSY201, BARRIER, frame, BARRIER, BARRIER) == []

    def test_what_a_library_wraps_decides(self) -> None:
        inner = "    all_reduce (torch/distributed/distributed_c10d.py:2050)\n"
        wrapped = inner + "    reduce (lightning/pytorch/strategies/ddp.py:301)"
        (finding,) = judge(DSY201, wrapped, BARRIER, BARRIER, BARRIER)
        assert set(finding.culprits) == {0}

    def test_who_is_awaited_sits_in_another_collective(self) -> None:
        log = tuple(timed_out(rank) for rank in (1, 2, 3))
        (finding,) = judge(DSY201, BROADCAST, BARRIER, None, None, log=log)
        assert (set(finding.culprits), finding.strength) == ({0}, Strength.SUPPORTS)
        log = tuple(timed_out(rank) for rank in range(4))
        assert judge(DSY201, BROADCAST, BARRIER, None, None, log=log) == []

    def test_processes_without_a_number_in_two_waits(self) -> None:
        buffers = "    _sync_buffers (torch/nn/parallel/distributed.py:1895)"
        text = "\n".join(
            f"Process {pid}: python train.py\n{stack(frames)}"
            for pid, frames in zip((5120, 5133, 5147), (buffers, BARRIER, BARRIER), strict=True)
        )
        (finding,) = judge_text(DSY201, "", **{"stacks.txt": text})
        assert (finding.cause, set(finding.culprits)) == (Cause.DESYNC, set())
        work = text.replace("_sync_buffers (torch/nn/parallel", "score (my/own")
        assert judge_text(DSY201, "", **{"stacks.txt": work}) == []

    def test_one_place_for_all_is_quiet(self) -> None:
        assert judge(DSY201, BARRIER, BARRIER, BARRIER) == []

    def test_rank_0_alone_in_an_evaluation_took_a_branch(self) -> None:
        alone = (
            "    all_reduce (torch/distributed/distributed_c10d.py:1169)\n    validate (m.py:188)"
        )
        step = "    backward (torch/autograd/__init__.py:147)\n    step (m.py:141)"
        stacks = {f"rank{r}.txt": stack(step, 40, "active") for r in (1, 2, 3)}
        for rank, cause in ((0, Cause.DESYNC), (4, Cause.UNEVEN_WORK)):
            told = {**stacks, f"rank{rank}.txt": stack(alone, 60)}
            (finding,) = judge_text(DSY201, "", **told)
            assert (finding.cause, set(finding.culprits)) == (cause, {rank})

    @pytest.mark.parametrize(("many", "found"), [(3, True), (1, False)])
    def test_one_that_does_not_come_to_a_broadcast(self, many: int, found: bool) -> None:
        told = judge(DSY201, GATHER, *[BROADCAST] * many)
        assert [set(f.culprits) for f in told] == ([{0}] if found else [])
        assert judge(DSY201, BROADCAST, GATHER, GATHER) == []

    @pytest.mark.parametrize(("peer", "found"), [(1, True), (7, False)])
    def test_a_receive_from_one_that_waits_for_the_receiver(self, peer: int, found: bool) -> None:
        recv = f"    recv_grads (pipe.py:40)\n        Locals:\n            src: {peer}"
        tied = "    bcast_emb (tied.py:22)\n        Locals:\n            peers: [0, 1, 2]"
        told = judge(DSY201, recv, tied, tied)
        assert [set(f.culprits) for f in told] == ([{0}] if found else [])


def in_group(name: str, *members: int) -> str:
    return f"    all_reduce (comm.py:52)\n        Locals:\n            {name}: 'x{list(members)}'"


class TestCircleOfStacks:
    TP_AND_DP = (
        in_group("group", 0, 1),
        in_group("pg", 1, 3),
        in_group("group", 0, 2),
        in_group("group", 2, 3),
    )

    def test_each_waits_in_another_group(self) -> None:
        (finding,) = judge(DSY203, *self.TP_AND_DP)
        assert (finding.strength, set(finding.culprits)) == (Strength.SUPPORTS, set())

    def test_a_pipeline_and_its_groups(self) -> None:
        send = "    send_forward (p2p.py:9)\n        Locals:\n            next_rank: 2"
        recv = "    recv_forward (p2p.py:7)\n        Locals:\n            prev_rank: 1"
        groups = in_group("group", 0, 1), in_group("group", 2, 3)
        assert len(judge(DSY203, send, *groups, recv)) == 1

    @pytest.mark.parametrize("other", [SAVE, None, in_group("group", 2, 3)])
    def test_no_circle(self, other: str | None) -> None:
        """Somebody is at work, left no stack, or is in the call that another one waits in."""
        assert judge(DSY203, *self.TP_AND_DP[:2], other, self.TP_AND_DP[3]) == []


class TestInterpreterLock:
    GDB = (
        'Thread 2 (Thread 0x7f75d21956c0 (LWP 82) "watchdog"):\n'
        "#0  0x00007f75ec526f36 in {wants} (tstate=0x1) at Python/ceval_gil.h:244\n\n"
        'Thread 1 (Thread 0x7f75ecc8ab80 (LWP 63) "python"):\n'
        "#0  0x00007f75dbd6984b in ncclCommAbort () from /usr/lib/libnccl.so.2\n"
        "#1  0x00007f75dbd6984c in _PyEval_EvalFrameDefault () at Python/ceval.c:3\n"
    )

    def test_a_native_call_that_keeps_it(self) -> None:
        (finding,) = judge_text(LOC203, "", **{"rank5.txt": self.GDB.format(wants="take_gil")})
        assert finding.culprits == {5}

    def test_a_lock_that_nobody_wants(self) -> None:
        assert judge_text(LOC203, "", **{"rank5.txt": self.GDB.format(wants="poll")}) == []


class TestStorage:
    NFS = "[<0>] rpc_wait_bit_killable+0x24/0xc0 [sunrpc]\n[<0>] do_syscall_64+0x71/0x280\n"
    FUTEX = "[<0>] futex_wait+0x67/0x120\n[<0>] do_syscall_64+0x71/0x280\n"

    def test_a_process_in_nfs(self) -> None:
        (finding,) = judge_text(LOC204, "", **{"rank1.txt": self.NFS, "rank0.txt": self.FUTEX})
        assert (set(finding.culprits), finding.strength) == ({1}, Strength.SUPPORTS)

    def test_all_processes_in_nfs_name_nobody(self) -> None:
        (finding,) = judge_text(LOC204, "", **{"rank1.txt": self.NFS, "rank0.txt": self.NFS})
        assert (set(finding.culprits), finding.strength) == (set(), Strength.HINTS)

    def test_a_futex_is_no_storage(self) -> None:
        assert judge_text(LOC204, "", **{"rank0.txt": self.FUTEX}) == []


class TestBuildLockLeft:
    def test_all_ranks_wait_for_a_lock_and_nobody_builds(self) -> None:
        (finding,) = judge(SLO007, LOCK, LOCK, LOCK)
        assert (finding.cause, set(finding.culprits)) == (Cause.COMPILE_SLOW, set())
        assert finding.strength is Strength.SUPPORTS

    @pytest.mark.parametrize("other", [BUILD, BARRIER, SLEEP])
    def test_where_another_rank_is_elsewhere_the_lock_may_be_its(self, other: str) -> None:
        assert judge(SLO007, LOCK, other, LOCK) == []

    def test_a_rank_without_a_stack_may_build(self) -> None:
        assert judge(SLO007, LOCK, LOCK, None, log=("world size: 3", timed_out(2))) == []
