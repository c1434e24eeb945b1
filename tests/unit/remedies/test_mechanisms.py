"""The mechanism decides the remedy, not the cause alone."""

from dataclasses import replace

import pytest

from support.builders import by, incident, source
from support.phase_builders import bar, begun
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Fix, Outcome
from unhang.model.events import (
    DeviceFault,
    DeviceProblem,
    Event,
    ExceptionKind,
    Frame,
    FrameworkSeen,
    GlooFault,
    GlooProblem,
    NcclClass,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    PythonException,
    Reporter,
    SettingSeen,
    StopKind,
    StopSeen,
    StoreFault,
    StoreProblem,
)
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.remedies import suggest


def fixes(cause: Cause | None, *events: Event, **fields: object) -> tuple[Fix, ...]:
    verdict = Diagnosis(
        outcome=Outcome.LOCATED if cause is None else Outcome.CAUSE,
        cause=cause,
        summary=Message(key="summary.undetermined"),
        **fields,  # type: ignore[arg-type]
    )
    return suggest(incident(*events), verdict)[0]


def nccl(text: str) -> NcclFailure:
    return NcclFailure(
        source=source(text=text),
        origin=by(0),
        error_class=NcclClass.SYSTEM,
        reason=NcclReason.UNSPECIFIED,
        detail=text,
    )


def raised(exception: str, message: str) -> PythonException:
    return PythonException(
        source=source(text=f"{exception}: {message}"),
        origin=by(0),
        kind=ExceptionKind.USER,
        exception=exception,
        message=message,
    )


def store(problem: StoreProblem, host: str | None = None) -> StoreFault:
    return StoreFault(source=source(), origin=by(1), problem=problem, host=host)


@pytest.mark.parametrize(
    ("cause", "event", "first", "never"),
    [
        (
            Cause.RDMA_FAULT,
            nccl("NET/OFI Request failed: fi_cq_readerr, prov efa"),
            "efa_check",
            "ib_patience",
        ),
        (Cause.P2P_FAULT, nccl("ACS is enabled on a PCI switch"), "acs_off", "gid_index"),
        (
            Cause.RDMA_FAULT,
            nccl("NET/IB : Using [0]mlx5_0:1/IB [RO]; async event"),
            "ib_patience",
            "gid_index",
        ),
        (Cause.RDMA_FAULT, nccl("NET/IB : Using [0]mlx5_0:1/RoCE; async event"), "gid_index", ""),
        (
            Cause.RANK_EXCEPTION,
            raised("OSError", "[Errno 28] No space left on device"),
            "free_disk",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "Distributed package doesn't have NCCL built in"),
            "gloo_backend",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("NotImplementedError", "Using RTX 4000 series doesn't support"),
            "consumer_gpu",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "received 0 items of ancdata"),
            "share_by_files",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("OSError", "libnvidia-ml.so.1: cannot open shared object file"),
            "driver_library",
            "fix_exception",
        ),
        (
            Cause.RANK_EXCEPTION,
            raised("RuntimeError", "mmap failed; increase vm.max_map_count"),
            "map_count",
            "fix_exception",
        ),
        (
            Cause.VERSION_MISMATCH,
            nccl("CUDA driver version is insufficient for CUDA runtime version"),
            "newer_driver",
            "change_version",
        ),
        (Cause.RENDEZVOUS, store(StoreProblem.KEY_TIMED_OUT), "late_rank", "one_endpoint"),
        (
            Cause.RENDEZVOUS,
            store(StoreProblem.CONNECT_TIMED_OUT, "127.0.0.1"),
            "late_rank",
            "one_endpoint",
        ),
        (
            Cause.RENDEZVOUS,
            store(StoreProblem.CONNECT_TIMED_OUT, "node-1"),
            "one_endpoint",
            "late_rank",
        ),
    ],
)
def test_the_words_of_the_evidence_decide(
    cause: Cause, event: Event, first: str, never: str
) -> None:
    remedies = [fix.remedy for fix in fixes(cause, event)]
    assert remedies[0] == first
    assert never not in remedies


def killed(rank: int) -> ProcessEnded:
    return ProcessEnded(
        source=source(), origin=by(), reporter=Reporter.ELASTIC, rank=Rank(rank), signal=9
    )


def test_a_kill_that_nobody_sent_is_most_often_memory() -> None:
    found = fixes(Cause.RANK_CRASH, killed(3), culprits=frozenset({Rank(3)}))
    assert found[0].remedy == "more_host_memory"


def test_a_rank_that_is_found_gets_advice_without_a_cause() -> None:
    found = fixes(None, killed(3), culprits=frozenset({Rank(3)}), phase=Phase.EVAL)
    assert [fix.remedy for fix in found][:1] == ["more_host_memory"]
    look = next(fix for fix in found if fix.remedy == "look_at_rank")
    assert "rank 3" in look.patch
    assert fixes(None, phase=None) == ()


def test_the_timeout_is_the_last_resort() -> None:
    for cause in (Cause.DATA_SLOW, Cause.EVAL_SLOW, Cause.COMPILE_SLOW):
        remedies = [fix.remedy for fix in fixes(cause)]
        if "longer_timeout" in remedies or "" in remedies:
            assert remedies[-1] in ("longer_timeout", "")


def within(*functions: str) -> PythonException:
    frames = tuple(Frame(file="trainer.py", line=9, function=name) for name in functions)
    return PythonException(
        source=source(text="CUDA out of memory"), origin=by(0), kind=ExceptionKind.USER,
        exception="OutOfMemoryError", message="CUDA out of memory", frames=frames,
    )  # fmt: skip


def remedies(cause: Cause, *events: Event, **fields: object) -> list[str]:
    return [fix.remedy for fix in fixes(cause, *events, **fields)]


def used(name: str) -> FrameworkSeen:
    return FrameworkSeen(source=source(), origin=by(), name=name, basis="a log line")


def test_memory_that_ran_out_in_evaluation_is_the_evaluations() -> None:
    told = remedies(Cause.GPU_OOM, used("recbole"), within("fit", "_valid_epoch", "evaluate"))
    assert told[0] == "eval_less_memory"
    assert not {"smaller_batch", "recompute"} & set(told)
    told = remedies(Cause.GPU_OOM, used("recbole"), within("fit", "evaluate", "training_step"))
    assert told[0] == "smaller_batch"


def full(own: int, other: int) -> DeviceFault:
    return DeviceFault(
        source=source(), origin=by(0), problem=DeviceProblem.OUT_OF_MEMORY,
        own_bytes=own << 30, other_process_bytes=other << 30,
    )  # fmt: skip


def test_a_batch_does_not_shrink_what_another_process_holds() -> None:
    assert remedies(Cause.GPU_OOM, full(own=2, other=70)) == ["shared_gpu"]
    told = remedies(Cause.GPU_OOM, full(own=70, other=8))
    assert told[0] == "shared_gpu"
    assert len(told) > 1


def test_loaders_do_not_help_before_there_is_one() -> None:
    job = used("megatron")
    data = {"phase": Phase.DATA}
    assert "faster_data" not in remedies(Cause.DATA_SLOW, job, begun(Phase.DATA), **data)
    trained = (begun(Phase.DATA), bar(Phase.TRAIN))
    assert "faster_data" in remedies(Cause.DATA_SLOW, job, *trained, **data)


def test_shards_are_not_gathered() -> None:
    plain = begun(Phase.SAVE)
    shard = replace(plain, detail="global_step9/zero_pp_rank_3_mp_rank_00_optim_states.pt")
    job = used("deepspeed")
    assert "sharded_save" in remedies(Cause.CHECKPOINT_SLOW, job, plain, phase=Phase.SAVE)
    assert "sharded_save" not in remedies(Cause.CHECKPOINT_SLOW, job, shard, phase=Phase.SAVE)


def test_a_kill_in_the_save_points_at_the_save() -> None:
    job = used("axolotl")
    assert remedies(Cause.HOST_OOM, job, begun(Phase.SAVE))[0] == "sharded_save"
    assert remedies(Cause.HOST_OOM, job)[0] != "sharded_save"


def test_a_preempted_job_goes_back_into_the_queue() -> None:
    stop = StopSeen(source=source(), origin=by(), kind=StopKind.PREEMPTED)
    told = remedies(Cause.EXTERNAL_STOP, used("verl"), stop)
    assert "requeue" in told
    assert "longer_limit" not in told


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("your model has parameters that were not used in producing loss", "unused_parameters"),
        ("CUDA error: invalid device ordinal", "fewer_processes"),
    ],
)
def test_what_an_exception_itself_names_comes_first(message: str, first: str) -> None:
    told = remedies(Cause.RANK_EXCEPTION, used("lightning"), raised("RuntimeError", message))
    assert told[0] == first


def test_the_evidence_goes_into_the_patch() -> None:
    taken = StoreFault(source=source(), origin=by(), problem=StoreProblem.PORT_IN_USE, port=29511)
    (port, *_) = fixes(Cause.RENDEZVOUS, taken)
    assert port.patch.startswith("# Port 29511 was taken.")
    missing = replace(nccl("no socket interface found"), reason=NcclReason.NO_INTERFACE)
    name = SettingSeen(
        source=source(), origin=by(), name="NCCL_SOCKET_IFNAME", value="ens9", basis="nccl"
    )
    (interface, *_) = fixes(Cause.NET_INTERFACE, missing, name)
    assert interface.patch.startswith("# No interface is called ens9.")
    unresolved = GlooFault(source=source(), origin=by(), problem=GlooProblem.RESOLVE_FAILED)
    (interface, *_) = fixes(Cause.NET_INTERFACE, unresolved)
    assert interface.patch.startswith("# Gloo could not resolve")


def test_what_is_set_already_is_not_proposed() -> None:
    value = "expandable_segments:True"
    seen = SettingSeen(
        source=source(), origin=by(), name="PYTORCH_CUDA_ALLOC_CONF", value=value, basis="env"
    )
    assert "allocator" in remedies(Cause.GPU_OOM)
    assert "allocator" not in remedies(Cause.GPU_OOM, seen)


def test_an_address_that_debian_gives_a_host_is_no_address_for_others() -> None:
    told = remedies(Cause.RENDEZVOUS, store(StoreProblem.CONNECT_TIMED_OUT, "127.0.1.1"))
    assert told[0] in ("free_port", "one_endpoint")
    assert "one_endpoint" in told


def test_nobody_waits_for_what_answers_here_and_is_no_store() -> None:
    closed = store(StoreProblem.PEER_CLOSED, "localhost")
    unreachable = store(StoreProblem.RENDEZVOUS_UNREACHABLE)
    assert "longer_rendezvous" in remedies(Cause.RENDEZVOUS, unreachable)
    assert "longer_rendezvous" not in remedies(Cause.RENDEZVOUS, closed, unreachable)


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("Tried to allocate 2.00 GiB. 3.50 GiB is reserved by PyTorch but unallocated.", True),
        ("Tried to allocate 2.00 GiB. 61.00 MiB is reserved by PyTorch but unallocated.", False),
        (
            "Tried to allocate 2 GiB (GPU 0; 23 GiB total capacity; 9 GiB already allocated)",
            False,
        ),
        ("Tried to allocate 2.00 GiB.", True),
    ],
)
def test_growing_segments_help_only_against_pieces(text: str, helps: bool) -> None:
    fault = replace(full(own=70, other=0), source=source(text=text))
    assert ("allocator" in remedies(Cause.GPU_OOM, fault)) is helps
