"""The tables load, are consistent with each other, and say what the releases did."""

import ast
import json
import shlex
import subprocess

import pytest
import yaml

from unhang.model import toml
from unhang.settings import find_setting, suggest, timeout_knobs
from unhang.settings.frameworks import find_knob, frameworks
from unhang.settings.lookup import key_in
from unhang.settings.tables import (
    KnobStatus,
    Library,
    Reach,
    TimeoutKnob,
    other_names,
    variables,
)


def all_timeout_knobs() -> list[TimeoutKnob]:
    return [knob for framework in frameworks().values() for knob in framework.timeouts]


every_knob = pytest.mark.parametrize(
    "knob",
    [k for k in all_timeout_knobs() if k.patch],
    ids=lambda knob: f"{knob.framework}:{knob.key}",
)


def test_every_row_has_a_meaning_and_a_source() -> None:
    for library in Library:
        assert len(variables(library)) > 90
        assert all(s.about and s.source for s in variables(library).values())
    assert all(o.source for o in other_names().values())
    for framework in frameworks().values():
        for row in framework.knobs.values():
            assert row.about, (framework.name, row.key)
            assert row.source, (framework.name, row.key)
            assert bool(row.why) != bool(row.releases), (framework.name, row.key)
    assert all(k.source for k in all_timeout_knobs())


def test_no_name_is_both_read_and_a_myth() -> None:
    for name in other_names():
        assert find_setting(name) is None, name


def test_every_successor_is_known() -> None:
    for library in Library:
        for setting in variables(library).values():
            if setting.renamed_to is not None:
                assert find_setting(setting.renamed_to) is not None, setting.name


def test_a_named_replacement_is_known() -> None:
    for other in other_names().values():
        use = (other.use or "").split("=")[0].split(" ")[0]
        if use.startswith("NCCL_"):
            assert find_setting(use) is not None, other.name


@pytest.mark.parametrize(
    ("name", "nccl", "known"),
    [
        ("NCCL_TREE_THRESHOLD", "2.4.8", True),
        ("NCCL_TREE_THRESHOLD", "2.18.3", False),
        ("NCCL_RAS_ENABLE", "2.21.5", False),
        ("NCCL_RAS_ENABLE", "2.27.5", True),
        ("NCCL_LAUNCH_ORDER_IMPLICIT", None, None),
    ],
)
def test_a_release_has_a_variable_or_not(name: str, nccl: str | None, known: bool | None) -> None:
    setting = find_setting(name)
    assert setting is not None
    assert setting.known_in(nccl) is known


def test_defaults_by_release() -> None:
    heartbeat = find_setting("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC")
    assert heartbeat is not None
    assert heartbeat.default_in("2.4.1") == "600"
    assert heartbeat.default_in("2.6.0") == "480"
    recorder = find_setting("TORCH_FR_BUFFER_SIZE")
    assert recorder is not None
    assert recorder.default_in("2.9.1") == "0"
    assert recorder.default_in("2.11.0") == "2000"


def test_did_you_mean() -> None:
    assert suggest("NCCL_IB_RETRY_COUNT") == ("NCCL_IB_RETRY_CNT",)
    assert suggest("NCCL_SOCKET_IFNAMES")[0] == "NCCL_SOCKET_IFNAME"
    assert suggest("NCCL_SOCKET_IFNAME") == ()
    assert suggest("NCCL_TIMEOUT") == ()
    assert suggest("PATH") == ()


@pytest.mark.process
@every_knob
def test_a_timeout_patch_parses_and_holds_the_value(knob: TimeoutKnob) -> None:
    patch = knob.write(7_260)
    shown = {"s": "7260", "timedelta": "7260", "min": "121", "clock": "2:01:00"}[knob.unit]
    assert shown in patch
    assert "{" not in patch.replace("{}", "") or knob.where == "python"
    match knob.where:
        case "python":
            ast.parse(patch)
        case "yaml":
            assert yaml.safe_load(patch)
        case "cli" | "hydra":
            assert shlex.split(patch)
        case "env" | "shell":
            subprocess.run(["bash", "-n", "-c", patch], check=True)
        case where:
            pytest.fail(f"unknown form {where}")


def test_a_knob_that_is_ignored_has_no_patch() -> None:
    for knob in all_timeout_knobs():
        assert (knob.status is KnobStatus.IGNORED) == (not knob.patch), knob.key


def test_only_these_reach_sub_groups() -> None:
    reaching = {k.framework for k in all_timeout_knobs() if Reach.SUBGROUPS in k.reaches}
    assert reaching == {"torch", "megatron", "megatron-core", "megatron-bridge", "nemo",
                        "torchtitan"}  # fmt: skip


def test_knobs_by_release() -> None:
    assert [k.key for k in timeout_knobs("verl", "0.4.0")] == []
    assert timeout_knobs("verl", "0.7.1")[0].key == "actor_rollout_ref.nccl_timeout"
    assert timeout_knobs("verl", "0.8.0")[0].where == "shell"
    assert timeout_knobs("lightning", "1.6.5") == ()


def test_a_knob_may_be_dead_beside_another_framework() -> None:
    knob = next(k for k in timeout_knobs("axolotl") if k.key == "ddp_timeout")
    assert knob.dead_in("0.9.0", frozenset({"deepspeed"})) is not None
    assert knob.dead_in("0.9.0", frozenset()) is None
    trainer = timeout_knobs("transformers", "4.30.2")[0]
    assert trainer.dead_in("4.30.2", frozenset()) is not None
    assert trainer.dead_in("4.30.2", frozenset({"deepspeed"})) is None
    assert trainer.dead_in("4.31.0", frozenset()) is None


def test_keys_of_the_family_are_found_under_its_members() -> None:
    assert find_knob("trl", "save_only_model") is not None
    assert find_knob("verl", "save_only_model") is None
    assert key_in("trl", "eval_strategy", {"transformers": "4.36.2"}) == "evaluation_strategy"
    assert key_in("trl", "eval_strategy", {"transformers": "4.57.1"}) == "eval_strategy"
    assert key_in("trl", "save_only_model", {"transformers": "4.22.0"}) is None
    assert key_in("trl", "save_only_model", {}) == "save_only_model"


def test_the_tables_are_small_enough_to_load_at_once() -> None:
    from importlib.resources import files

    data = files("unhang.settings") / "data"
    entries = [
        e
        for folder in (data, data / "frameworks", data / "printed_texts" / "packages")
        for e in folder.iterdir()
        if e.is_file()
    ]
    for entry in entries:
        text = entry.read_text(encoding="utf-8")
        (toml.loads if entry.name.endswith(".toml") else json.loads)(text)
        # the fitted weights are read only where no cause is shown, and load in milliseconds
        assert len(text) < (320_000 if entry.name == "chances.json" else 120_000), entry.name
