"""From a judged incident to fixes and rejected advice."""

from dataclasses import replace

import pytest

from support.builders import DEFAULT_PG, by, incident, source, timeout
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import (
    Event,
    ExceptionKind,
    Frame,
    FrameworkSeen,
    PythonException,
    SettingSeen,
    StopKind,
    StopSeen,
    VersionSeen,
)
from unhang.model.ids import Rank
from unhang.model.provenance import Message
from unhang.remedies import suggest
from unhang.reporters.catalogue import write


def verdict(cause: Cause | None, framework: str | None = None) -> Diagnosis:
    return Diagnosis(
        outcome=Outcome.UNDETERMINED if cause is None else Outcome.CAUSE,
        cause=cause,
        summary=Message(key="summary.undetermined"),
        framework=None if framework is None else (framework, "--framework"),
    )


def setting(name: str, value: str, line: int = 3) -> SettingSeen:
    return SettingSeen(
        source=source(line, artifact="launch.sh"), origin=by(), name=name, value=value, basis="env"
    )


def mark(name: str) -> FrameworkSeen:
    return FrameworkSeen(source=source(), origin=by(), name=name, basis="a log line")


def version(component: str, number: str) -> VersionSeen:
    return VersionSeen(
        source=source(), origin=by(), component=component, version=number, basis="a log line"
    )


def expired(ms: int) -> list[Event]:
    return [
        timeout(0, group=DEFAULT_PG, timeout_ms=ms),
        timeout(1, group=DEFAULT_PG, timeout_ms=ms),
    ]


def test_without_a_cause_nothing_is_advised() -> None:
    fixes, rejected = suggest(incident(*expired(1_800_000)), verdict(None))
    assert fixes == ()
    assert rejected == ()


def test_a_save_of_the_trainer() -> None:
    job = incident(*expired(1_800_000), mark("trl"), setting("ddp_timeout", "1800"))
    fixes, rejected = suggest(job, verdict(Cause.CHECKPOINT_SLOW))
    assert {fix.framework for fix in fixes} == {"trl"}
    assert any(fix.patch == "ddp_timeout: 7200" for fix in fixes)
    assert [r.found_in for r in rejected] == ["launch.sh:3", "launch.sh:3"]
    assert "the very timeout that ran out" in write(rejected[0].reason)


def test_the_framework_that_the_user_names_wins() -> None:
    job = incident(*expired(1_800_000), mark("transformers"))
    fixes, _ = suggest(job, verdict(Cause.CHECKPOINT_SLOW, "ms-swift"))
    assert {fix.framework for fix in fixes} == {"ms-swift"}


def test_advice_that_does_nothing_is_rejected_without_a_cause_too() -> None:
    job = incident(*expired(600_000), setting("NCCL_TIMEOUT", "7200", 12))
    _, rejected = suggest(job, verdict(None))
    assert [(r.setting, r.found_in) for r in rejected] == [("NCCL_TIMEOUT", "launch.sh:12")]


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "NCCL_IB_TIMEOUT", "NCCL_SOCKET_IFNAME"])
def test_settings_that_work_are_not_rejected(name: str) -> None:
    values = {"NCCL_DEBUG": "INFO", "NCCL_IB_TIMEOUT": "22", "NCCL_SOCKET_IFNAME": "eth0"}
    _, rejected = suggest(incident(setting(name, values[name])), verdict(None))
    assert rejected == ()


def test_a_setting_seen_on_every_rank_is_rejected_once() -> None:
    seen = [setting("NCCL_MAX_RINGS", "8", line) for line in range(1, 9)]
    _, rejected = suggest(incident(*seen), verdict(None))
    assert len(rejected) == 1


def test_deepspeeds_variable_against_its_copy_of_the_world() -> None:
    job = incident(*expired(600_000), mark("deepspeed"), setting("DEEPSPEED_TIMEOUT", "120"))
    _, rejected = suggest(job, verdict(Cause.CHECKPOINT_SLOW))
    assert [r.reason.key for r in rejected] == ["advice.deepspeed_clone"]


def test_verls_dead_key() -> None:
    job = incident(
        *expired(1_800_000),
        mark("verl"),
        version("verl", "0.8.0"),
        setting("actor_rollout_ref.nccl_timeout", "7200"),
    )
    fixes, rejected = suggest(job, verdict(Cause.TIMEOUT_SHORT))
    assert [r.reason.key for r in rejected] == ["advice.verl_dead"]
    assert fixes[0].where == "shell"
    assert "engine_workers.py" in fixes[0].patch


def test_the_user_may_name_the_release() -> None:
    job = incident(*expired(1_800_000))
    fixes, _ = suggest(job, verdict(Cause.TIMEOUT_SHORT, "verl==0.7.1"))
    assert fixes[0].patch == "actor_rollout_ref.nccl_timeout=7200"


def test_a_framework_without_a_file_is_written_as_plain_pytorch() -> None:
    fixes, _ = suggest(incident(mark("fairseq")), verdict(Cause.UNEVEN_WORK))
    assert fixes[0].framework == "torch"
    assert fixes[0].patch.startswith("# fairseq is written here as plain PyTorch.")


def test_frames_tell_how_the_model_is_spread() -> None:
    frame = Frame(file="/env/torch/distributed/fsdp/_runtime_utils.py", line=3, function="f")
    job = incident(*expired(1_800_000), mark("trl"), exception(frame))
    fixes, _ = suggest(job, verdict(Cause.CHECKPOINT_SLOW))
    assert "SHARDED_STATE_DICT" in fixes[0].patch
    assert not any("zero3" in fix.patch for fix in fixes)


def test_the_exception_of_the_culprit_is_named() -> None:
    job = incident(exception(Frame(file="train.py", line=42, function="main"), rank=3))
    judged = replace(verdict(Cause.RANK_EXCEPTION), culprits=frozenset({Rank(3)}))
    title = write(suggest(job, judged)[0][0].title)
    assert title == "Fix the ValueError of rank 3 (train.py:42), and make it exit immediately"
    assert "train.py" not in write(suggest(job, verdict(Cause.RANK_EXCEPTION))[0][0].title)


def exception(frame: Frame, rank: int = 0) -> PythonException:
    return PythonException(
        source=source(),
        origin=by(rank),
        kind=ExceptionKind.USER,
        exception="ValueError",
        message="no",
        frames=(frame,),
    )


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (StopKind.HANGUP, "tmux"),
        (StopKind.TIME_LIMIT, "--time"),
        (StopKind.PREEMPTED, "save_every"),
        (StopKind.TERMINATED, "--time"),
    ],
)
def test_each_stop_has_its_own_remedy(kind: StopKind, word: str) -> None:
    stop = StopSeen(source=source(), origin=by(), kind=kind)
    fixes, _ = suggest(incident(stop), verdict(Cause.EXTERNAL_STOP))
    assert word in fixes[0].patch
