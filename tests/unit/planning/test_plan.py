"""A plan adds up, says what does not fit and what to change, and names the field that is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unhang import plan
from unhang.architectures import Part, find_model
from unhang.commands.plan import command
from unhang.errors import UsageError
from unhang.model.plan import Method, Plan, Precision, SaveStyle, Strategy
from unhang.model.units import count, seconds, size, speed, tokens
from unhang.planning import PlanRequest, build_request, make_plan
from unhang.planning.checkpoint import full_bytes, weight_bytes
from unhang.planning.limits import needed


def _request(**options: Any) -> PlanRequest:
    model = find_model("llama-3-8b")
    assert model is not None
    return PlanRequest(model=model, world=8, **options)


def _amounts(made: Plan) -> dict[str, int]:
    return {amount.what: amount.size_bytes for amount in made.gpu.amounts}


def test_sixteen_bytes_for_each_parameter_of_adam() -> None:
    amounts = _amounts(make_plan(_request(strategy=Strategy.DDP, precision=Precision.BF16_MASTER)))
    state = amounts["weights"] + amounts["gradients"] + amounts["optimizer"]
    assert state == 16 * 8_030_261_248


@pytest.mark.parametrize("strategy", list(Strategy))
def test_sharding_never_needs_more_state(strategy: Strategy) -> None:
    plain = _amounts(make_plan(_request(strategy=Strategy.DDP)))
    spread = _amounts(make_plan(_request(strategy=strategy)))
    for what in ("weights", "gradients", "optimizer"):
        assert spread[what] <= plain[what]


@pytest.mark.parametrize("world", [8, 16, 64, 512])
def test_more_ranks_never_need_more_memory(world: int) -> None:
    more = make_plan(replace(_request(), world=world * 2)).gpu.total_bytes
    assert more <= make_plan(replace(_request(), world=world)).gpu.total_bytes


def test_lora_of_rank_16_on_q_and_v() -> None:
    made = make_plan(_request(method=Method.LORA, precision=Precision.BF16))
    # 32 layers x 16 x ((4096 + 4096) + (4096 + 1024))
    assert made.trained == 6_815_744


def test_the_weights_of_a_checkpoint() -> None:
    model = find_model("qwen2.5-7b")
    assert model is not None
    bf16 = PlanRequest(model=model, precision=Precision.BF16, save_optimizer=False)
    assert weight_bytes(bf16) == full_bytes(bf16) == 2 * 7_615_616_512
    adam = PlanRequest(model=model, precision=Precision.BF16_MASTER)
    assert full_bytes(adam) == 14 * 7_615_616_512


def test_what_does_not_fit_says_what_to_change() -> None:
    made = make_plan(_request(strategy=Strategy.DDP, gpu_memory=80 * 10**9, seq=2048))
    assert made.gpu.fits is False
    assert any(change.fits for change in made.changes)
    assert all(change.gpu_bytes < made.gpu.total_bytes for change in made.changes)


def test_the_limit_outlasts_the_save_of_rank_0() -> None:
    made = make_plan(_request(write_speed=100 * 10**6, save_style=SaveStyle.RANK0))
    save = next(s for s in made.saves if s.style is SaveStyle.RANK0)
    assert save.wait_s is not None
    assert made.time_limits[0].seconds >= 1.5 * save.wait_s


def test_a_sharded_save_waits_less_and_an_asynchronous_one_least() -> None:
    made = make_plan(_request(write_speed=10**9, copy_speed=2 * 10**9))
    saves = {s.style: s.wait_s or 0 for s in made.saves}
    assert saves[SaveStyle.ASYNC] < saves[SaveStyle.SHARDED] < saves[SaveStyle.RANK0]


@pytest.mark.parametrize("wait", [0.0, 1.0, 359.0, 361.0, 7200.0])
def test_a_limit_is_never_below_a_measured_phase(wait: float) -> None:
    assert needed(wait) >= max(600, wait)


def test_groups_do_not_inherit_and_are_listed() -> None:
    made = make_plan(replace(_request(), tensor_parallel=2, pipeline_parallel=2))
    assert [limit.group for limit in made.time_limits] == [
        "default_pg",
        "shard",
        "tensor_parallel",
        "pipeline_parallel",
    ]


def test_the_sizes_that_a_log_will_show() -> None:
    made = make_plan(replace(_request(), world=4))
    sizes = {(c.op, c.numel) for c in made.collectives}
    assert ("ALLGATHER", 1_050_677_248) in sizes
    assert ("ALLGATHER", 218_112_000) in sizes


def test_what_a_rank_reduces_and_gathers_is_its_part_of_the_model() -> None:
    """Tensor and pipeline parallelism leave a rank a part; experts have a group of their own."""
    split = make_plan(
        replace(
            _request(), world=16, strategy=Strategy.ZERO1, tensor_parallel=4, pipeline_parallel=2,
            seq=2048,
        )
    )  # fmt: skip
    calls = {c.op: (c.numel, c.ranks) for c in split.collectives[1:]}
    reduced, ranks = split.collectives[0].numel, split.collectives[0].ranks
    assert ranks == 2
    assert 8_030_261_248 / 8 <= reduced < 8_030_261_248 / 4
    assert calls == {"ALLREDUCE": (2048 * 4096, 4), "SEND": (2048 * 4096, 2)}
    mixture = find_model("mixtral-8x7b")
    assert mixture is not None
    made = make_plan(
        PlanRequest(model=mixture, world=16, expert_parallel=8, strategy=Strategy.FSDP)
    )
    layer = mixture.units[1]
    experts = sum(t.numel for t in layer.tensors if t.part is Part.EXPERT)
    gathers = {(c.numel, c.ranks) for c in made.collectives if c.op == "ALLGATHER"}
    assert (layer.numel - experts, 16) in gathers
    assert (experts // 8, 2) in gathers
    gathered = next(a.size_bytes for a in made.gpu.amounts if a.what == "gather")
    assert gathered < layer.numel * 2


def test_rank_0_gathers_what_it_does_not_hold() -> None:
    def told(strategy: Strategy, tensor_parallel: int = 1) -> tuple[int, int]:
        request = replace(
            _request(), world=8, strategy=strategy, tensor_parallel=tensor_parallel,
            write_speed=10**9,
        )  # fmt: skip
        made = next(s for s in make_plan(request).saves if s.style is SaveStyle.RANK0)
        moved = made.how.values.get("moved", 0)
        assert isinstance(moved, int)
        return moved, made.size_bytes

    assert told(Strategy.DDP)[0] == 0
    moved, size = told(Strategy.ZERO1)
    assert 0 < moved < size
    moved, size = told(Strategy.DDP, 2)
    assert moved == size


def test_patches_use_the_frameworks_own_setting() -> None:
    made = plan("llama-3-8b", world=8, framework="trl", eval_s="2h")
    assert made.patches
    assert str(made.time_limits[0].seconds) in made.patches[0].text


def test_a_limit_that_is_the_default_needs_no_setting() -> None:
    assert plan("llama-3-8b", world=8, framework="trl").patches == ()


def test_a_configuration_tells_the_rest(tmp_path: Path) -> None:
    config = tmp_path / "sft.yaml"
    config.write_text(
        "model_name_or_path: Qwen/Qwen2.5-7B\nmax_seq_length: 4096\nbf16: true\n"
        "per_device_train_batch_size: 2\ngradient_checkpointing: true\nuse_peft: true\n"
        "lora_r: 32\nlora_target_modules: all-linear\noptim: adamw_bnb_8bit\n"
    )
    made = plan(None, sources=[str(config)], world=4)
    assert made.parameters == 7_615_616_512
    assert made.method is Method.LORA
    assert made.precision is Precision.BF16_MIXED
    every = 28 * 32 * (4 * 3584 + 2 * (3584 + 512) + 3 * (3584 + 18944))
    assert made.trained == every


def test_deepspeed_and_a_command_line_that_wins(tmp_path: Path) -> None:
    config = tmp_path / "ds.json"
    config.write_text(json.dumps({"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}}))
    made = plan("7B", sources=[str(config)], world=8)
    assert made.strategy is Strategy.ZERO2
    assert made.precision is Precision.BF16_MASTER
    assert plan("7B", sources=[str(config)], world=8, strategy="zero3").strategy is Strategy.ZERO3


def test_a_verdict_tells_world_and_model(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict.json"
    call = {"op": "_ALLGATHER_BASE", "numel_in": 262_669_312, "numel_out": 1_050_677_248}
    coverage = {"world_size": 8}
    verdict.write_text(
        json.dumps({"schema": "unhang.diagnosis/1", "coverage": coverage, "call": call})
    )
    made = plan(None, sources=[str(verdict)])
    assert (made.model, made.world) == ("Meta-Llama-3-8B", 8)


def test_a_run_that_saved_longer_than_planned_is_believed(tmp_path: Path) -> None:
    at = "2026-11-02T09:{:02}:00+00:00"
    events = [
        {"at": at.format(0), "kind": "phase", "ranks": "0-7", "phase": "save"},
        {"at": at.format(30), "kind": "phase", "ranks": "0-7", "phase": "train"},
    ]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    made = plan("llama-3-8b", sources=[str(tmp_path)], world=8, write_speed="1GB/s")
    assert made.time_limits[0].seconds >= 30 * 60


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"world": 0}, "world is 0"),
        ({"world": 6, "tensor_parallel": 4}, "not a multiple of tensor_parallel"),
        ({"gpu_memory": "80 apples"}, "--gpu-memory: found '80 apples'"),
        ({"write_speed": "10Gb/s"}, "is in bits"),
        ({"gpu_memory": "80"}, "--gpu-memory: '80' has no unit"),
        ({"reserve": "2"}, "--reserve: '2' has no unit"),
        ({"write_speed": "1.5"}, "--write-speed: '1.5' has no unit"),
        ({"copy_speed": "fast"}, "--copy-speed: found 'fast'"),
        ({"seq": "8x"}, "--seq: found '8x'"),
        ({"seq": "1.5"}, "--seq: found '1.5'"),
        ({"gpu_memory": "80Gb"}, "--gpu-memory: '80Gb' is in bits"),
        ({"workers": -2}, "workers is -2"),
        ({"eval_s": "soon"}, "--eval: found 'soon'"),
        ({"lora_targets": "q_prj"}, "lora_targets holds q_prj"),
        ({"optimizer": "adam"}, "optimizer is 'adam'"),
        ({"strategy": "zero4"}, "strategy is 'zero4'"),
        ({"wrld": 3}, "perhaps world"),
        ({"data_bytes": "3GB/s"}, "--data: found '3GB/s'"),
        ({"framework": "nonsense"}, "framework is 'nonsense'"),
        ({"world": 10**20}, "world is 100000000000000000000"),
        ({"seq": 10**20}, "seq is 100000000000000000000"),
    ],
)
def test_a_field_that_is_wrong_is_named(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as error:
        plan("llama-3-8b", **options)
    assert told in str(error.value)


def test_a_zero_of_the_command_line_is_no_absence() -> None:
    run = CliRunner().invoke(command, ["7B", "--gpus", "0"])
    assert "world is 0" in str(run.exception or run.output)


def test_a_negative_number_of_parameters_is_no_name() -> None:
    with pytest.raises(UsageError, match="found '-7B', expected a number"):
        plan("-7B")


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "\x00", "name: x\n", "{" * 5000])
def test_a_source_that_tells_nothing_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UsageError) as error:
        plan("7B", sources=[str(tmp_path / "c.yaml")])
    assert "\n" not in str(error.value)


def test_units() -> None:
    assert size("80GiB", "x") == 80 * 2**30
    assert size("1.5TB", "x") == 1.5e12
    assert speed("2.5 GB/s", "x") == 2.5e9
    assert count("7.6B", "x") == 7_600_000_000
    assert seconds("30min", "x") == 1800.0
    assert seconds("1h30m", "x") == 5400.0
    assert tokens("8k", "x") == tokens("8192", "x") == 8192


def test_a_plan_of_rank_0_waits_for_gather_copy_and_write() -> None:
    speeds = dict.fromkeys(("write_speed", "gather_speed", "copy_speed"), 10**6)
    made = make_plan(_request(**speeds, save_style=SaveStyle.RANK0))
    save = next(s for s in made.saves if s.style is SaveStyle.RANK0)
    assert save.wait_s == pytest.approx(3 * save.size_bytes / 10**6)


def test_an_asynchronous_save_waits_for_the_copy_and_says_where_its_speed_is_assumed() -> None:
    assumed = make_plan(_request(write_speed=10**9)).saves[-1]
    given = make_plan(_request(write_speed=10**9, copy_speed=4 * 10**9)).saves[-1]
    assert assumed.style is given.style is SaveStyle.ASYNC
    assert given.wait_s == pytest.approx(given.size_bytes / 8 / (4 * 10**9))
    assert given.total_s == pytest.approx(given.size_bytes / (8 * 10**9) + (given.wait_s or 0))
    assert assumed.wait_s == pytest.approx(assumed.size_bytes / 8 / 10**9)
    assert (assumed.how.key, given.how.key) == ("plan.save_async_assumed", "plan.save_async")


def test_storage_is_measured_for_one_writer_for_a_host_and_for_the_copy(tmp_path: Path) -> None:
    measured = build_request("7B", storage=str(tmp_path), world=16, copy_speed="3GB/s")
    assert measured.write_speed is not None
    assert measured.write_speed_total is not None
    assert measured.write_speed_total % 2 == 0  # two hosts, each as fast
    assert measured.copy_speed == 3 * 10**9
    assert not [*tmp_path.iterdir()]


def test_batches_that_workers_keep_ready() -> None:
    made = make_plan(_request(workers=4, batch=3, sample_bytes=10**6, data_bytes=10**9))
    amounts = {amount.what: amount.size_bytes for amount in made.host.amounts}
    assert amounts["batches"] == 8 * 4 * 2 * 3 * 10**6
    assert amounts["data"] == 8 * (1 + 4) * 10**9


def test_megatron_sums_gradients_up_in_fp32(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(
        "torchrun pretrain_gpt.py --bf16 --use-distributed-optimizer --recompute-granularity full\n"
    )
    amounts = _amounts(plan("llama-3-8b", sources=[str(script)], world=8))
    assert amounts["gradients"] == 4 * 8_030_261_248
