"""Whether a file is one in which a fix means something; if not, which file it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from unhang.fixing.editors import json as json_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.refusal import Refusal
from unhang.fixing.target import Language, Target
from unhang.fixing.wishes import Spelling, Wish
from unhang.model.diagnosis import Fix
from unhang.settings import Framework, family_of, frameworks

_ACCELERATE = frozenset({"compute_environment", "distributed_type", "machine_rank"})
_CONTAINERS = frozenset({"apiVersion", "services", "envs", "resources"})
_ZERO_3 = ("stage3_", "zero3_")


def check_place(target: Target, fix: Fix, wish: Wish) -> None:
    """Refuse a file that nobody reads this setting from.

    Raises:
        Refusal: with the file that it belongs to.
    """
    if target.language is Language.CODE:
        raise Refusal(f"{target.file_name} is code: put the patch in place by hand")
    if wish.spelling is Spelling.VARIABLE:
        _check_variable(target, wish)
    elif target.language is Language.YAML:
        _check_yaml(target, fix, wish)
    elif target.language is Language.JSON:
        _check_json(target, wish)
    elif target.language is Language.TOML:
        if not _of(fix.framework).reads_toml:
            raise Refusal(f"{fix.framework} reads no TOML")
    elif target.language is not Language.SHELL or not _on_command_line(fix, wish):
        raise Refusal(f"`{wish.name}` belongs into {_home(fix, wish)}")


def _check_variable(target: Target, wish: Wish) -> None:
    name = wish.name
    if target.language is Language.YAML and not _CONTAINERS & set(_keys(target)):
        raise Refusal(f"{name} is a variable: export it in the script that starts the job")
    if target.language in (Language.JSON, Language.TOML):
        raise Refusal(f"{name} is a variable: export it in the script that starts the job")
    if "nccl.conf" in target.file_name and not name.startswith("NCCL_"):
        raise Refusal(f"{target.file_name} is read by NCCL only, and {name} is none of its own")
    if "$(" in wish.raw and target.language is not Language.SHELL:
        raise Refusal(f"the value of {name} is a command: export it in a shell script")


def _check_yaml(target: Target, fix: Fix, wish: Wish) -> None:
    keys = set(_keys(target))
    if _CONTAINERS & keys and "kind" in keys:
        raise Refusal(f"it starts containers: `{wish.name}` belongs into {_home(fix, wish)}")
    if _accelerates(wish):
        _check_accelerate(target, keys, fix, wish)
    elif _ACCELERATE & keys:
        raise Refusal(f"`accelerate launch` does not pass `{wish.name}` on: {_home(fix, wish)}")
    elif wish.spelling is Spelling.JSON:
        raise Refusal("it belongs into DeepSpeed's JSON")
    elif wish.spelling is Spelling.FLAG and not _of_trainer(fix.framework):
        raise Refusal(f"{fix.framework} takes it on the command line: {_home(fix, wish)}")
    elif (owner := _owner(target, keys)) not in (None, fix.framework):
        raise Refusal(
            f"it is {owner}'s, and the fix is for {fix.framework}:"
            f" `unhang diagnose --framework {owner}` writes it for that"
        )
    elif not keys & (_of(fix.framework).config_keys | {wish.path[0]}):
        raise Refusal(f"it does not look like a configuration of {fix.framework}")
    elif len(wish.path) > 1:
        _check_classes(target, wish)


def _owner(target: Target, keys: set[str]) -> str | None:
    """Whose configuration it is beyond doubt, among those that share keys."""
    for framework in frameworks().values():
        if any(key in keys or f"\n  {key}:" in target.text for key in framework.own_keys):
            return framework.name
    return None


def _of(name: str) -> Framework:
    """What is known of a framework; nothing of one that is unknown."""
    return frameworks().get(name) or Framework(name=name)


def _of_trainer(name: str) -> bool:
    """Whether its flat keys are those of a family of trainers, in YAML and as flags."""
    return any(f.kin is not None for f in family_of(name))


def _check_accelerate(target: Target, keys: set[str], fix: Fix, wish: Wish) -> None:
    """A section that accelerate ignores, or DeepSpeed's own file beside it."""
    section = wish.path[0]
    if not _ACCELERATE & keys:
        raise Refusal(f"`{wish.name}` belongs into {_home(fix, wish)}")
    tree = yaml_editor.plain(yaml_editor.parse(target.text))
    inner = tree.get(section) if isinstance(tree, dict) else None
    if not isinstance(inner, dict):
        raise Refusal(f"it has no `{section}`: the job is not sharded in this way")
    if "deepspeed_config_file" in inner:
        name = inner["deepspeed_config_file"]
        own = name[1] if isinstance(name, tuple) else "its JSON"
        raise Refusal(f"`{section}` names {own}: DeepSpeed's settings are in there")
    stage = inner.get("zero_stage")
    if wish.path[-1].startswith(_ZERO_3) and isinstance(stage, tuple) and stage[1] != "3":
        raise Refusal(f"`zero_stage` is {stage[1]}: `{wish.path[-1]}` counts in stage 3 only")


def _check_json(target: Target, wish: Wish) -> None:
    if wish.spelling is not Spelling.JSON:
        raise Refusal(f"DeepSpeed's JSON has no `{wish.name}`")
    data = json_editor.parse(target.text)
    if not any(key.startswith(("zero_", "train_", "fp16", "bf16", "optimizer")) for key in data):
        raise Refusal("it does not look like a configuration of DeepSpeed")
    zero: Any = data.get("zero_optimization")
    stage = zero.get("stage") if isinstance(zero, dict) else None
    if wish.path[-1].startswith(_ZERO_3) and stage != 3:
        raise Refusal(f"the stage of ZeRO is {stage}: `{wish.path[-1]}` counts in stage 3 only")


def _check_classes(target: Target, wish: Wish) -> None:
    """Arguments of a class belong to that class: another strategy has others."""
    root = yaml_editor.parse(target.text)
    for depth in range(1, len(wish.path)):
        node = yaml_editor.find(root, wish.path[:depth])
        if isinstance(node, yaml.ScalarNode) and node.value:
            name = ".".join(wish.path[:depth])
            raise Refusal(
                f"`{name}` is `{node.value}`, without arguments: write it as class_path and"
                " init_args first"
            )
    if wish.path[-1] == "class_path":
        node = yaml_editor.find(root, wish.path)
        wanted = str(wish.value).rpartition(".")[2]
        if node is not None and str(node.value).rpartition(".")[2] != wanted:
            raise Refusal(f"its class is {node.value}, and this fix is for {wanted}")


def flag_style(fix: Fix, wish: Wish) -> Spelling | None:
    """How the framework's command line takes a setting; None where it does not."""
    if wish.spelling in (Spelling.FLAG, Spelling.OVERRIDE):
        return wish.spelling
    if wish.spelling is not Spelling.KEY or isinstance(wish.value, (list, dict)):
        return None
    style = _of(fix.framework).command_line
    if style == Spelling.OVERRIDE.value:
        return Spelling.OVERRIDE
    flat = len(wish.path) == 1 and not _accelerates(wish)
    return Spelling.FLAG if flat and style == Spelling.FLAG.value else None


def _on_command_line(fix: Fix, wish: Wish) -> bool:
    return flag_style(fix, wish) is not None


def _accelerates(wish: Wish) -> bool:
    """`deepspeed_config` and `fsdp_config.fsdp_*` are sections of accelerate's own file."""
    return wish.path[0] == "deepspeed_config" or (
        wish.path[0] == "fsdp_config" and wish.path[-1].startswith("fsdp_")
    )


def _home(fix: Fix, wish: Wish) -> str:
    if _accelerates(wish):
        return "the YAML of `accelerate launch --config_file`"
    if wish.spelling is Spelling.JSON:
        return "DeepSpeed's JSON"
    if wish.spelling in (Spelling.FLAG, Spelling.OVERRIDE):
        return f"the command that starts {fix.framework}"
    return f"the configuration of {fix.framework}"


def _keys(target: Target) -> Sequence[str]:
    """The outermost keys of all documents of a YAML."""
    try:
        roots = list(yaml.compose_all(target.text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise Refusal(f"it does not parse: {yaml_editor.reason(error)}") from error
    except RecursionError as error:
        raise Refusal("it is nested too deeply") from error
    return [
        str(key.value)
        for root in roots
        if isinstance(root, yaml.MappingNode)
        for key, _ in root.value
    ]
