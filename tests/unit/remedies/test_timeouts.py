"""A longer timeout is derived, is longer, and is written where it reaches the group."""

import ast

import pytest

from support.builders import DEFAULT_PG, by, source
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.events import GlooFault, GlooProblem, GroupRef, Progress, SettingSeen
from unhang.model.incident import Incident, OpenPhase
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.remedies.context import GroupKind, RemedyContext, Sharding, build_case, group_kind
from unhang.remedies.duration import Estimate, estimate, new_timeout
from unhang.remedies.timeouts import lengthen
from unhang.settings import frameworks

REACHES_ALL = {"megatron", "megatron-bridge", "torchtitan"}


def case(framework: str | None, **fields: object) -> RemedyContext:
    facts: dict[str, object] = {
        "cause": Cause.TIMEOUT_SHORT,
        "group": GroupKind.WORLD,
        "expired_s": 1_800,
        "incident": Incident(),
        **fields,
    }
    return RemedyContext(framework=framework, **facts)  # type: ignore[arg-type]


def first(framework: str | None, **fields: object) -> Fix:
    return next(lengthen(case(framework, **fields)))


@pytest.mark.parametrize("framework", sorted(f.name for f in frameworks().values() if f.recipes))
def test_a_sub_group_gets_only_what_reaches_it(framework: str) -> None:
    fixes = list(lengthen(case(framework, group=GroupKind.SUBGROUP)))
    assert fixes
    assert all("subgroups" in fix.reaches for fix in fixes)
    if framework not in REACHES_ALL:
        assert "_set_pg_timeout" in fixes[0].patch


@pytest.mark.parametrize("framework", sorted(f.name for f in frameworks().values() if f.recipes))
@pytest.mark.parametrize("expired_s", [600, 1_800, 3_600, 7_200])
def test_the_new_value_is_longer_than_the_expired_one(framework: str, expired_s: int) -> None:
    for fix in lengthen(case(framework, expired_s=expired_s)):
        new = fix.title.values["new"]
        assert isinstance(new, int)
        assert new > expired_s
        assert any(
            text in fix.patch
            for text in (str(new), str(new // 60), f"{new // 3_600}:{new % 3_600 // 60:02d}:00")
        )


@pytest.mark.parametrize(
    ("framework", "patch"),
    [
        ("trl", "ddp_timeout: 7200"),
        ("open-r1", "ddp_timeout: 7200"),
        ("llama-factory", "ddp_timeout: 7200"),
        ("ms-swift", "--ddp_timeout 7200"),
        ("megatron", "--distributed-timeout-minutes 120"),
        ("torchtitan", "--comm.train_timeout_seconds 7200"),
        ("axolotl", "export AXOLOTL_NCCL_TIMEOUT=7200"),
        ("megatron-bridge", "dist.distributed_timeout_minutes=120"),
    ],
)
def test_each_framework_writes_it_in_its_own_way(framework: str, patch: str) -> None:
    assert first(framework).patch == patch


@pytest.mark.parametrize(("value", "where"), [("1200", "shell"), ("1800", "hydra")])
def test_a_knob_that_is_set_and_was_not_what_ran_out_is_one_of_old_releases(
    value: str, where: str
) -> None:
    key = "actor_rollout_ref.nccl_timeout"
    seen = SettingSeen(source=source(), origin=by(), name=key, value=value, basis="launch script")
    assert first("verl", incident=Incident(events=(seen,))).where == where


@pytest.mark.parametrize(
    ("version", "where"), [("0.7.1", "hydra"), ("0.8.0", "shell"), ("0.3.0", "python")]
)
def test_verl_by_release(version: str, where: str) -> None:
    fix = first("verl", version=version)
    assert fix.where == where
    assert "++" not in fix.patch


def test_axolotl_gets_both_unless_deepspeed_makes_the_yaml_key_dead() -> None:
    assert [f.where for f in lengthen(case("axolotl", version="0.9.0"))] == ["env", "yaml"]
    beside = frozenset({"axolotl", "deepspeed"})
    assert [f.where for f in lengthen(case("axolotl", version="0.9.0", beside=beside))] == ["env"]


def test_lightning_by_strategy() -> None:
    assert "DDPStrategy" in first("lightning").patch
    assert "FSDPStrategy" in first("lightning", strategy=Sharding.FSDP).patch
    assert "DeepSpeedStrategy" in first("lightning", strategy=Sharding.ZERO).patch
    old = first("lightning", strategy=Sharding.ZERO, version="2.4.0")
    assert "DeepSpeedStrategy" not in old.patch


def test_torchtitan_before_the_first_step() -> None:
    assert "init_timeout" in first("torchtitan", phase=Phase.LOAD, expired_s=300).patch
    assert "train_timeout" in first("torchtitan", phase=Phase.SAVE, expired_s=100).patch


def test_a_trainer_that_dies_at_pytorchs_default_was_in_another_group() -> None:
    for framework in ("transformers", "trl", "lightning", "axolotl"):
        fix = first(framework, expired_s=600, group=GroupKind.UNKNOWN)
        assert "_set_pg_timeout" in fix.patch, framework
    assert "init_process_group" in first("torch", expired_s=600).patch
    assert "InitProcessGroupKwargs" in first("accelerate", expired_s=600).patch


def test_a_knob_in_minutes_says_the_minutes_that_it_writes() -> None:
    (fix, *_) = lengthen(case("deepspeed", expired_s=10))
    assert fix.patch.startswith("export DEEPSPEED_TIMEOUT=1 ")
    assert (fix.title.values["new"], fix.title.values["times"]) == (60, "6")
    assert fix.verify.values["new_ms"] == 60_000


def test_the_trainer_of_ray_takes_rays_knob() -> None:
    fix = first("lightning", beside=frozenset({"lightning", "ray-train"}))
    assert "TorchConfig" in fix.patch


def test_old_pytorch_changes_the_group_where_it_is_made() -> None:
    fix = first("torch", torch="2.1.0", group=GroupKind.SUBGROUP)
    assert "_set_pg_timeout" not in fix.patch
    assert "new_group" in fix.patch
    ast.parse(fix.patch)


def test_the_value_follows_from_the_work() -> None:
    bar = first("trl", work=Estimate(seconds=5_000, whole=True))
    assert bar.title.values["new"] == 9_000
    assert bar.title.key.endswith(".bar")
    assert bar.kind is FixKind.CURE
    seen = first("trl", work=Estimate(seconds=1_900, whole=False))
    assert seen.title.values["new"] == 7_200
    assert seen.title.key.endswith(".seen")
    assert first("trl").kind is FixKind.PROBE
    slow = first("trl", cause=Cause.EVAL_SLOW, work=Estimate(seconds=5_000, whole=True))
    assert slow.kind is FixKind.WORKAROUND


def test_work_that_fits_into_the_old_value_explains_nothing() -> None:
    new = new_timeout(1_800, Estimate(seconds=300, whole=True))
    assert new is not None
    assert new.basis == "probe"


def test_a_timeout_of_a_day_is_not_lengthened() -> None:
    assert new_timeout(180_000_000, None) is None
    assert list(lengthen(case("llama-factory", expired_s=180_000_000))) == []


def test_without_the_expired_value_there_is_a_probe() -> None:
    new = new_timeout(None, None)
    assert new is not None
    assert (new.seconds, new.basis, new.on) == (2_400, "default", 600)


@pytest.mark.parametrize(
    ("expired_s", "work", "seconds"),
    [
        # 1.5 times the bar, rounded up at its own scale.
        (20, Estimate(seconds=84, whole=True), 180),
        (5, Estimate(seconds=20, whole=True), 30),
        (600, Estimate(seconds=700, whole=True), 1_200),
        (None, Estimate(seconds=84, whole=True), None),  # it fits into the default of 600 s
        (None, Estimate(seconds=5_000, whole=True), 9_000),
        # Three times what was seen of work that had not ended.
        (20, Estimate(seconds=12, whole=False), 60),
        (1_800, Estimate(seconds=1_900, whole=False), 7_200),
        # Nothing is known of the work.
        (20, None, 120),
        (600, None, 2_400),
    ],
)
def test_the_value_follows_the_measurement_at_its_own_scale(
    expired_s: int | None, work: Estimate | None, seconds: int | None
) -> None:
    new = new_timeout(expired_s, work)
    assert (None if new is None else new.seconds) == seconds


def test_an_unknown_limit_is_the_default_of_the_framework() -> None:
    work = Estimate(seconds=84, whole=True)
    assert list(lengthen(case("trl", expired_s=None, work=work))) == []
    titan = first("torchtitan", expired_s=None, work=work)
    assert titan.patch == "--comm.train_timeout_seconds 180"


def test_the_limit_of_gloo_is_the_one_that_ran_out() -> None:
    fault = GlooFault(
        source=source(), origin=by(1), problem=GlooProblem.SEND_TIMED_OUT, timeout_ms=20_000
    )
    incident = Incident(events=(fault, bar(1, 8, 10, 74)))
    verdict = Diagnosis(
        outcome=Outcome.CAUSE,
        cause=Cause.EVAL_SLOW,
        phase=Phase.EVAL,
        summary=Message(key="outcome.cause"),
    )
    built = build_case(incident, verdict)
    assert built is not None
    assert built.expired_s == 20
    fix = next(lengthen(built))
    assert fix.title.values["new"] == 180
    assert 'init_process_group("gloo"' in fix.patch


def bar(done: int, total: int, elapsed_s: float | None, remaining_s: float | None) -> Progress:
    return Progress(
        source=source(),
        origin=by(0),
        label="Evaluating",
        done=done,
        total=total,
        elapsed_s=elapsed_s,
        remaining_s=remaining_s,
        phase=Phase.EVAL,
    )


@pytest.mark.parametrize(
    ("progress", "seconds"),
    [
        (bar(50, 200, 900, 2_700), 3_600),
        (bar(50, 200, 900, None), 3_600),
        (bar(200, 200, 900, 0), None),
        (bar(0, 200, 900, None), None),
        (bar(50, 200, None, None), None),
    ],
)
def test_a_bar_extrapolates(progress: Progress, seconds: float | None) -> None:
    found = estimate(Incident(events=(progress,)), Cause.EVAL_SLOW, None)
    assert found == (None if seconds is None else Estimate(seconds=seconds, whole=True))


def test_the_last_state_of_a_bar_counts() -> None:
    events = (bar(10, 200, 900, None), bar(100, 200, 1_000, None))
    assert estimate(Incident(events=events), Cause.EVAL_SLOW, None) == Estimate(
        seconds=2_000, whole=True
    )


def test_a_bar_of_another_phase_does_not_count() -> None:
    assert estimate(Incident(events=(bar(50, 200, 900, 2_700),)), Cause.DATA_SLOW, None) is None


def test_an_open_phase_is_a_lower_bound() -> None:
    phase = OpenPhase(
        rank=None,
        phase=Phase.SAVE,
        detail="",
        since=None,
        lasted_s=2_000,
        exclusive=True,
        unfinished=True,
        source=source(),
    )
    found = estimate(Incident(open_phases=(phase,)), Cause.CHECKPOINT_SLOW, Phase.SAVE)
    assert found == Estimate(seconds=2_000, whole=False)


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        (None, GroupKind.UNKNOWN),
        (DEFAULT_PG, GroupKind.WORLD),
        (GroupRef(guid="0"), GroupKind.WORLD),
        (GroupRef(local_id=0), GroupKind.WORLD),
        (GroupRef(local_id=0, guid="3", description="mesh_tp"), GroupKind.SUBGROUP),
        (GroupRef(local_id=2), GroupKind.SUBGROUP),
        (GroupRef(guid="9", description="undefined"), GroupKind.SUBGROUP),
        (GroupRef(), GroupKind.UNKNOWN),
    ],
)
def test_the_world_group_and_others(group: GroupRef | None, kind: GroupKind) -> None:
    assert group_kind(group) is kind


@pytest.mark.parametrize(
    ("name", "strategy"),
    [
        ("find_unused_parameters", Sharding.DDP),
        ("fsdp_state_dict_type", Sharding.FSDP),
        ("x", None),
    ],
)
def test_settings_tell_how_the_model_is_spread(name: str, strategy: Sharding | None) -> None:
    seen = SettingSeen(source=source(), origin=by(), name=name, value="True", basis="option")
    verdict = Diagnosis(
        outcome=Outcome.CAUSE,
        cause=Cause.CHECKPOINT_SLOW,
        phase=Phase.SAVE,
        summary=Message(key="outcome.cause"),
    )
    built = build_case(Incident(events=(seen,)), verdict)
    assert built is not None
    assert built.strategy is strategy
