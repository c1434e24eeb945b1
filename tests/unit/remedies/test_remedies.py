"""Every cause has an answer in every framework's own syntax, and the answer parses."""

import ast
import json
import shlex
import subprocess
from dataclasses import replace
from functools import cache

import pytest
import yaml

from support.builders import by, source
from unhang.model.causes import Cause
from unhang.model.diagnosis import Fix, FixKind
from unhang.model.events import SettingSeen
from unhang.model.incident import Incident
from unhang.remedies.context import GroupKind, RemedyContext, Sharding
from unhang.remedies.cures import BY_FRAMEWORK, OF_SERVERS, Cure
from unhang.remedies.fixes import write_fixes
from unhang.remedies.general import GENERAL
from unhang.remedies.plans import plan
from unhang.reporters.catalogue import sentences, write
from unhang.settings import find_framework, find_knob, frameworks
from unhang.settings.frameworks import PLAIN

NAMES = """
    torch transformers trl open-r1 accelerate deepspeed lightning megatron megatron-bridge nemo
    torchtitan torchtune verl llama-factory ms-swift axolotl openrlhf ray-train llama-cookbook
    open_clip recbole vllm sglang ultralytics mmengine
""".strip().split()  # one long list of words reads better than twenty lines


def case(cause: Cause, framework: str | None = None, **fields: object) -> RemedyContext:
    facts: dict[str, object] = {"group": GroupKind.WORLD, "expired_s": 1_800, **fields}
    return RemedyContext(cause=cause, framework=framework, incident=Incident(), **facts)  # type: ignore[arg-type]


@cache
def bash_accepts(text: str) -> bool:
    return subprocess.run(["bash", "-n", "-c", text], check=False).returncode == 0


def parses(fix: Fix) -> bool:
    match fix.where:
        case "python":
            ast.parse(fix.patch)
            return True
        case "yaml":
            return yaml.safe_load(fix.patch) is not None
        case "json":
            return json.loads(fix.patch) is not None
        case "cli":
            return fix.patch.startswith("--") and len(shlex.split(fix.patch)) > 0
        case "hydra":
            return all("=" in word for word in shlex.split(fix.patch))
        case "env" | "shell":
            return bash_accepts(fix.patch)
        case _:
            return False


def test_these_frameworks_have_a_file() -> None:
    assert sorted(f.name for f in frameworks().values() if f.recipes) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_framework_answers_every_cure_of_its_own(name: str) -> None:
    answered = set(frameworks()[name].recipes) - {cure.value for cure in OF_SERVERS}
    assert answered == {cure.value for cure in BY_FRAMEWORK}


def test_every_cure_is_somebodys() -> None:
    assert set(Cure) == {*BY_FRAMEWORK, *OF_SERVERS, *GENERAL, Cure.LONGER_TIMEOUT}
    assert all(frameworks()[PLAIN].recipes[cure.value] for cure in BY_FRAMEWORK)


@pytest.mark.process
@pytest.mark.parametrize("strategy", [None, *Sharding], ids=str)
@pytest.mark.parametrize("name", [*NAMES, None], ids=str)
def test_every_cause_has_fixes_that_parse(name: str | None, strategy: Sharding | None) -> None:
    for cause in Cause:
        fixes = write_fixes(case(cause, name, strategy=strategy))
        assert fixes, cause
        for fix in fixes:
            assert parses(fix), (cause, fix.where, fix.patch)
            assert fix.framework == (name or "torch")
            for message in (fix.title, fix.risk, fix.verify):
                assert message.key in sentences("en"), message.key
                assert "{" not in write(message), message.key


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_that_a_recipe_writes_is_known_with_its_source(name: str) -> None:
    for recipes in frameworks()[name].recipes.values():
        for recipe in recipes:
            for change in recipe.changes if recipe.form != "env" else ():
                for key in filter(None, (change.key.lstrip("+"), change.keeps)):
                    assert find_knob(recipe.owner or name, key) is not None, key


def test_other_spellings_of_frameworks() -> None:
    for spelling, name in [("LLaMA-Factory", "llama-factory"), ("ray", "ray-train"),
                           ("megatron-lm", "megatron"), ("pytorch", "torch")]:  # fmt: skip
        found = find_framework(spelling)
        assert found is not None
        assert found.name == name
    assert find_framework("fairseq") is None


def test_an_unknown_framework_is_said() -> None:
    patch = write_fixes(case(Cause.UNEVEN_WORK))[0].patch
    assert "--framework" in patch
    assert "--framework" not in write_fixes(case(Cause.UNEVEN_WORK, "torch"))[0].patch


def test_a_missing_setting_is_said() -> None:
    fix = write_fixes(case(Cause.UNEVEN_WORK, "recbole"))[0]
    assert "recbole has no setting for this" in fix.patch


def test_a_framework_with_settings_does_not_get_a_script_beside_them() -> None:
    fixes = write_fixes(case(Cause.CHECKPOINT_SLOW, "trl", strategy=Sharding.ZERO))
    assert {fix.where for fix in fixes} == {"yaml", "json"}


def test_each_sharding_has_its_own_key() -> None:
    zero = write_fixes(case(Cause.CHECKPOINT_SLOW, "open-r1", strategy=Sharding.ZERO))[0]
    assert yaml.safe_load(zero.patch) == {"deepspeed_config": {"zero3_save_16bit_model": False}}
    fsdp = write_fixes(case(Cause.CHECKPOINT_SLOW, "open-r1", strategy=Sharding.FSDP))[0]
    assert "SHARDED_STATE_DICT" in fsdp.patch


def test_settings_have_the_names_of_the_release() -> None:
    incident = Incident(versions={"transformers": ("4.38.0", "log")})
    old = RemedyContext(cause=Cause.EVAL_SLOW, framework="trl", incident=incident)
    assert any("evaluation_strategy: steps" in fix.patch for fix in write_fixes(old))
    new = write_fixes(case(Cause.EVAL_SLOW, "trl"))
    assert any("eval_strategy: steps" in fix.patch for fix in new)
    assert not any("evaluation_strategy" in fix.patch for fix in new)


def test_a_setting_that_the_release_lacks_is_not_advised() -> None:
    incident = Incident(versions={"transformers": ("4.30.2", "log")})
    old = RemedyContext(
        cause=Cause.CHECKPOINT_SLOW,
        framework="transformers",
        version="4.30.2",
        strategy=Sharding.DDP,
        incident=incident,
    )
    assert not any("save_only_model" in fix.patch for fix in write_fixes(old))


@pytest.mark.parametrize(
    ("torch", "word"), [("2.6.0", "dcp.save"), ("2.1.0", "save_state_dict"), (None, "dcp.save")]
)
def test_plain_pytorch_by_release(torch: str | None, word: str) -> None:
    fixes = write_fixes(case(Cause.CHECKPOINT_SLOW, "torch", torch=torch))
    assert word in fixes[0].patch
    assert sum("SHARDED" in f.patch or "dcp.save(" in f.patch for f in fixes) == 1


def test_variables_reach_the_workers_of_ray() -> None:
    verl = write_fixes(case(Cause.P2P_FAULT, "verl"))[0]
    assert "--runtime-env-json" in verl.patch
    assert "NCCL_P2P_DISABLE" in verl.patch
    assert "ray.init" in write_fixes(case(Cause.P2P_FAULT, "ray-train"))[0].patch
    assert write_fixes(case(Cause.P2P_FAULT, "trl"))[0].patch == "export NCCL_P2P_DISABLE=1"


def test_deepspeed_passes_only_the_variables_of_nccl_on() -> None:
    nccl = write_fixes(case(Cause.P2P_FAULT, "deepspeed"))[0]
    assert nccl.patch == "export NCCL_P2P_DISABLE=1"
    patches = [fix.patch for fix in write_fixes(case(Cause.GPU_OOM, "deepspeed"))]
    assert any("_ALLOC_CONF" in patch and ".deepspeed_env" in patch for patch in patches)


def test_a_node_is_excluded_only_where_the_evidence_names_it() -> None:
    named = write_fixes(case(Cause.RDMA_FAULT, "torch", hosts=frozenset({"node7"})))
    assert any("--exclude=node7" in fix.patch for fix in named)
    assert not any("--exclude" in f.patch for f in write_fixes(case(Cause.RDMA_FAULT, "torch")))


def test_launch_order_needs_nccl_2_26() -> None:
    old = write_fixes(case(Cause.PG_DEADLOCK, "torch", nccl="2.21.5"))
    assert not any("LAUNCH_ORDER" in fix.patch for fix in old)
    assert "LAUNCH_ORDER" in write_fixes(case(Cause.PG_DEADLOCK, "torch", nccl="2.27.5"))[0].patch


@pytest.mark.parametrize(("back_ends", "by_gloo"), [(("gloo",), True), (("gloo", "nccl"), False)])
def test_a_job_that_talks_by_gloo_gets_no_setting_of_nccl(
    back_ends: tuple[str, ...], by_gloo: bool
) -> None:
    seen = tuple(
        SettingSeen(source=source(), origin=by(), name="backend", value=name, basis="record")
        for name in back_ends
    )
    told = replace(case(Cause.PG_DEADLOCK, "torch"), incident=Incident(events=seen))
    remedies = [fix.remedy for fix in write_fixes(told)]
    assert remedies == (["same_order"] if by_gloo else [cure.value for cure in plan(told)])
    of_cpu = case(Cause.PG_DEADLOCK, "torch", torch="2.13.0+cpu")
    assert [fix.remedy for fix in write_fixes(of_cpu)] == ["same_order"]


def test_probes_are_called_probes() -> None:
    fixes = write_fixes(case(Cause.RDMA_FAULT, "torch"))
    assert [f.kind for f in fixes if "IB_DISABLE" in f.patch] == [FixKind.PROBE]


def test_data_that_every_process_holds_are_not_loaded_by_more_of_them() -> None:
    remedies = [fix.remedy for fix in write_fixes(case(Cause.DATA_SLOW, "recbole"))]
    assert remedies[:2] == ["prepare_data", "lean_load"]
    assert "faster_data" not in remedies
    swap = next(fix for fix in write_fixes(case(Cause.DATA_SLOW, "recbole")) if "swap" in fix.patch)
    assert swap.remedy == "lean_load"
