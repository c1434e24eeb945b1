"""Whether a file is one in which a fix means something; if not, which file it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from unhang import lazy_re as re
from unhang.fixing.config_file import ConfigFile, Language
from unhang.fixing.editors import json as json_editor
from unhang.fixing.editors import manifest as manifest_editor
from unhang.fixing.editors import python as python_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import constructor_calls
from unhang.fixing.refusal import Refusal
from unhang.fixing.requested_settings import RequestedSetting, Spelling
from unhang.fixing.shell_programs import check_program
from unhang.model.diagnosis import Fix
from unhang.settings import Framework, family_of, frameworks
from unhang.settings.versions import covers

_ACCELERATE = frozenset({"compute_environment", "distributed_type", "machine_rank"})
_CONTAINERS = frozenset({"apiVersion", "services", "envs", "resources"})
_ZERO_3 = ("stage3_", "zero3_")


def check_place(target: ConfigFile, fix: Fix, request: RequestedSetting) -> None:
    """Refuse a file that nobody reads this setting from.

    Raises:
        Refusal: with the file that it belongs to.
    """
    if target.language is Language.OTHER:
        raise Refusal("files of this kind cannot be changed here")
    if target.language is Language.CODE:
        if constructed(target, fix, request) is None:
            raise Refusal(f"{target.file_name} is code: put the patch in place by hand")
    elif request.spelling is Spelling.VARIABLE:
        _check_variable(target, request)
    elif target.language is Language.YAML:
        _check_yaml(target, fix, request)
    elif target.language is Language.JSON:
        _check_json(target, fix, request)
    elif target.language is Language.TOML:
        last = _of(fix.framework).toml_last
        if last is None or covers(fix.version, None, last) is False:
            release = f" {fix.version}" if last and fix.version else ""
            raise Refusal(f"{fix.framework}{release} does not read TOML")
    elif target.language is not Language.SHELL or not _on_command_line(fix, request):
        raise Refusal(f"`{request.name}` belongs in {_home(fix, request)}")
    else:
        check_program(target.text, fix.framework)


def constructed(
    target: ConfigFile, fix: Fix, request: RequestedSetting
) -> tuple[ast.Call, tuple[str, ...]] | None:
    """The call in a program whose keyword a setting is, and that keyword; None without one.

    Raises:
        Refusal: it does not parse, or several such calls may be meant.
    """
    if request.spelling not in (Spelling.KEY, Spelling.OVERRIDE) or _accelerates(request):
        return None
    if "class_path" in request.path or "init_args" in request.path:
        return None  # A file names the class of an argument; a program makes the object.
    found: list[tuple[ast.Call, tuple[str, ...]]] = []
    tree = python_editor.parse(target.text)
    for framework in family_of(fix.framework):
        for name, prefix in framework.constructors.items():
            above, path = tuple(filter(None, prefix.split("."))), request.path
            if path[: len(above)] == above:
                calls = constructor_calls(tree, target.text, name)
                found += [(call, path[len(above) :]) for call in calls]
    if len(found) > 1:
        lines = ", ".join(str(call.lineno) for call, _ in found)
        raise Refusal(f"{len(found)} calls may be meant (lines {lines}): it is unknown which")
    return found[0] if found else None


def _check_variable(target: ConfigFile, request: RequestedSetting) -> None:
    name = request.name
    if target.language is Language.YAML and not _CONTAINERS & set(_keys(target)):
        raise Refusal(f"{name} is a variable: export it in the script that starts the job")
    if target.language in (Language.JSON, Language.TOML):
        raise Refusal(f"{name} is a variable: export it in the script that starts the job")
    if "nccl.conf" in target.file_name and not name.startswith("NCCL_"):
        raise Refusal(
            f"{target.file_name} is read by NCCL only, and {name} is not one of its variables"
        )
    if "$(" in request.raw and target.language is not Language.SHELL:
        raise Refusal(f"the value of {name} is a command: export it in a shell script")


def _check_yaml(target: ConfigFile, fix: Fix, request: RequestedSetting) -> None:
    keys = set(_keys(target))
    if _in_words(target, fix, request):
        return
    if _CONTAINERS & keys and "kind" in keys:
        raise Refusal(f"it starts containers: `{request.name}` belongs in {_home(fix, request)}")
    if _accelerates(request):
        _check_accelerate(target, keys, fix, request)
    elif _ACCELERATE & keys:
        raise Refusal(
            f"`accelerate launch` does not pass `{request.name}` on: {_home(fix, request)}"
        )
    elif request.spelling is Spelling.JSON and "zero_optimization" not in keys:
        raise Refusal("it belongs in DeepSpeed's JSON")
    elif request.spelling is Spelling.FLAG and not _of_trainer(fix.framework):
        raise Refusal(f"{fix.framework} takes it on the command line: {_home(fix, request)}")
    elif (owner := _owner(target, keys)) not in (None, fix.framework):
        raise Refusal(
            f"it is {owner}'s, and the fix is for {fix.framework}:"
            f" `unhang diagnose --framework {owner}` writes it for that"
        )
    elif not keys & (_of(fix.framework).config_keys | {request.path[0]}):
        raise Refusal(f"it does not look like a configuration of {fix.framework}")
    elif len(request.path) > 1 and request.path[0] in _of(fix.framework).config_keys - keys:
        raise Refusal(f"it has no `{request.path[0]}`, as those of {fix.framework} have")
    elif len(request.path) > 1:
        _check_classes(target, request)


def _in_words(target: ConfigFile, fix: Fix, request: RequestedSetting) -> bool:
    """Whether a container of a manifest starts the framework by a list of words."""
    return flag_style(fix, request) is Spelling.FLAG and bool(
        manifest_editor.word_lists(target.text, fix.framework)
    )


def _owner(target: ConfigFile, keys: set[str]) -> str | None:
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


def _check_accelerate(
    target: ConfigFile, keys: set[str], fix: Fix, request: RequestedSetting
) -> None:
    """A section that accelerate ignores, or DeepSpeed's own file beside it."""
    section = request.path[0]
    if not _ACCELERATE & keys:
        raise Refusal(f"`{request.name}` belongs in {_home(fix, request)}")
    tree = yaml_editor.plain(yaml_editor.parse(target.text))
    inner = tree.get(section) if isinstance(tree, dict) else None
    kind = tree.get("distributed_type") if isinstance(tree, dict) else None
    sharded = kind[1] if isinstance(kind, tuple) else ""
    if not isinstance(inner, dict) or not inner or section.partition("_")[0] not in sharded.lower():
        raise Refusal(f"it has no `{section}`: the job is not sharded in this way")
    if "deepspeed_config_file" in inner:
        name = inner["deepspeed_config_file"]
        own = name[1] if isinstance(name, tuple) else "its JSON"
        raise Refusal(f"`{section}` names {own}: DeepSpeed's settings are in that file")
    stage = inner.get("zero_stage")
    if request.path[-1].startswith(_ZERO_3) and isinstance(stage, tuple) and stage[1] != "3":
        raise Refusal(
            f"`zero_stage` is {stage[1]}: `{request.path[-1]}` has an effect in stage 3 only"
        )


def _check_json(target: ConfigFile, fix: Fix, request: RequestedSetting) -> None:
    data = json_editor.parse(target.text)
    if request.spelling is not Spelling.JSON:
        # The Trainer's arguments may be JSON as well as YAML.
        own = _of(fix.framework).config_keys
        zero_own = any(key.startswith(("zero_", "train_micro_", "train_batch")) for key in data)
        flat = request.spelling is Spelling.KEY and not _accelerates(request)
        if flat and own & data.keys() and not zero_own:
            return
        if not zero_own:
            raise Refusal(f"it does not look like a configuration of {fix.framework}")
        raise Refusal(f"DeepSpeed's JSON has no `{request.name}`")
    if not any(key.startswith(("zero_", "train_", "fp16", "bf16", "optimizer")) for key in data):
        raise Refusal("it does not look like a configuration of DeepSpeed")
    zero: Any = data.get("zero_optimization")
    stage = zero.get("stage") if isinstance(zero, dict) else None
    if request.path[-1].startswith(_ZERO_3) and stage != 3:
        raise Refusal(
            f"the stage of ZeRO is {stage}: `{request.path[-1]}` has an effect in stage 3 only"
        )


def _check_classes(target: ConfigFile, request: RequestedSetting) -> None:
    """Arguments of a class belong to that class: another strategy has others."""
    root = yaml_editor.parse(target.text)
    for depth in range(1, len(request.path)):
        node = yaml_editor.find(root, request.path[:depth])
        if isinstance(node, yaml.ScalarNode) and node.value:
            name = ".".join(request.path[:depth])
            raise Refusal(
                f"`{name}` is `{node.value}`, without arguments: write it as class_path and"
                " init_args first"
            )
    if request.path[-1] == "class_path":
        node = yaml_editor.find(root, request.path)
        wanted = str(request.value).rpartition(".")[2]
        if node is not None and str(node.value).rpartition(".")[2] != wanted:
            raise Refusal(f"its class is {node.value}, and this fix is for {wanted}")
    of_class = {"class_path", "init_args"} & set(request.path)
    cli = re.search(r"^\s*(?:class_path|seed_everything):", target.text, re.MULTILINE)
    if of_class and cli is None:
        raise Refusal("nothing shows that a command line of Lightning reads it: no `class_path`")


def flag_style(fix: Fix, request: RequestedSetting) -> Spelling | None:
    """How the framework's command line takes a setting; None where it does not."""
    if request.spelling in (Spelling.FLAG, Spelling.OVERRIDE):
        return request.spelling
    if request.spelling is not Spelling.KEY or isinstance(request.value, (list, dict)):
        return None
    style = _of(fix.framework).command_line
    if style == Spelling.OVERRIDE.value:
        return Spelling.OVERRIDE
    flat = len(request.path) == 1 and not _accelerates(request)
    return Spelling.FLAG if flat and style == Spelling.FLAG.value else None


def _on_command_line(fix: Fix, request: RequestedSetting) -> bool:
    return flag_style(fix, request) is not None


def _accelerates(request: RequestedSetting) -> bool:
    """`deepspeed_config` and `fsdp_config.fsdp_*` are sections of accelerate's own file."""
    path = request.home or request.path
    return path[0] == "deepspeed_config" or (
        path[0] == "fsdp_config" and path[-1].startswith("fsdp_")
    )


def _home(fix: Fix, request: RequestedSetting) -> str:
    if _accelerates(request):
        return "the YAML of `accelerate launch --config_file`"
    if request.spelling is Spelling.JSON:
        return "DeepSpeed's JSON"
    if request.spelling in (Spelling.FLAG, Spelling.OVERRIDE):
        return f"the command that starts {fix.framework}"
    return f"the configuration of {fix.framework}"


def _keys(target: ConfigFile) -> Sequence[str]:
    """The outermost keys of all documents of a YAML, and with a dot the keys below them."""
    return [
        name
        for root in yaml_editor.compose(target.text)
        if isinstance(root, yaml.MappingNode)
        for key, value in root.value
        for name in (str(key.value), *_below(str(key.value), value))
    ]


def _below(key: str, node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        yield from (f"{key}.{inner.value}" for inner, _ in node.value)
