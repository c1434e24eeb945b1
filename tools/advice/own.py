"""Run by another Python, beside one release of a framework: would it take these settings?

Reads a list of questions from standard input and writes `{id: null or why not}`; a question that
the release cannot be asked on a machine without GPUs is left out. Nothing of `unhang` is imported.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import datetime
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
import typing
from pathlib import Path
from typing import Any

Question = dict[str, Any]


def nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as mappings within mappings."""
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        *above, last = key.split(".")
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return tree


def argv(settings: dict[str, Any]) -> list[str]:
    """Settings as flags."""
    words: list[str] = []
    for key, value in settings.items():
        words.append(f"--{key}")
        if value is not None:
            words.append(str(value))
    return words


# Each takes one question and raises where the framework refuses the settings.


def training_arguments(question: Question) -> None:
    """transformers: its parser of `TrainingArguments`."""
    from transformers import HfArgumentParser, TrainingArguments

    parse_dict(HfArgumentParser(TrainingArguments), question["settings"])


def trl_config(question: Question) -> None:
    """TRL: `SFTConfig`."""
    from transformers import HfArgumentParser

    name = "SFTConfig"
    module = importlib.import_module("trl.trainer.sft_config")
    cls = getattr(module, name)
    parse_dict(HfArgumentParser(cls), {**question["settings"], "bf16": False})


def parse_dict(parser: Any, settings: dict[str, Any]) -> None:  # noqa: ANN401
    """Put settings through a parser of dataclasses, on the CPU."""
    base = {"output_dir": tempfile.mkdtemp(), "report_to": "none", "use_cpu": True}
    parser.parse_dict({**base, **nested(settings)}, allow_extra_keys=False)


def accelerate_yaml(question: Question) -> None:
    """accelerate: the loader of its YAML, and the flags of `accelerate launch`."""
    import yaml
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import launch_command_parser

    tree = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "FSDP" if question["strategy"] == "fsdp" else "DEEPSPEED",
        "mixed_precision": "no",
        "use_cpu": False,
        "debug": False,
        "num_processes": 2,
        "machine_rank": 0,
        "num_machines": 1,
        **nested(question["settings"]),
    }
    path = Path(tempfile.mkdtemp()) / "config.yaml"
    path.write_text(yaml.safe_dump(tree))
    load_config_from_file(str(path))
    known = {
        option for action in launch_command_parser()._actions for option in action.option_strings
    }
    for section in ("fsdp_config", "deepspeed_config"):
        for key in tree.get(section, {}):
            if f"--{key}" not in known:
                raise ValueError(f"accelerate launch has no --{key}")
    for key in tree.get("dynamo_config", {}):
        if f"--{key}" not in known:
            raise ValueError(f"accelerate launch has no --{key}")


def deepspeed_json(question: Question) -> None:
    """DeepSpeed: its configuration object."""
    from deepspeed.runtime.config import DeepSpeedConfig

    tree = nested(question["settings"])
    if "train_micro_batch_size_per_gpu" not in tree:
        tree["train_micro_batch_size_per_gpu"] = 1
    DeepSpeedConfig(tree)


def megatron(question: Question) -> None:
    """Megatron-LM: its argument parser."""
    from megatron.training import arguments

    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser = arguments.add_megatron_arguments(parser)
    parser.parse_args(argv(question["settings"]))


def open_clip(question: Question) -> None:
    """OpenCLIP: its argument parser."""
    from open_clip_train.params import parse_args

    parse_args(argv(question["settings"]))


def openrlhf(question: Question) -> None:
    """OpenRLHF: the parser of its script."""
    parser_of(
        next(Path(p) for p in sys.path if (Path(p) / "openrlhf").is_dir())
        / "openrlhf/cli/train_ppo_ray.py"
    ).parse_args(argv(question["settings"]))


def parser_of(path: Path) -> argparse.ArgumentParser:
    """The parser that a script makes under `if __name__ == "__main__"`: its own statements, run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    body: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            for statement in node.body:
                text = ast.unparse(statement)
                if "parse_args" in text:
                    break
                if text.startswith(("parser", "import argparse")):
                    body.append(statement)
    if not body:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and "add_argument" in ast.unparse(node):
                body = [s for s in node.body if ast.unparse(s).startswith("parser")]
                break
    names: dict[str, Any] = {"argparse": argparse, "datetime": datetime.datetime, "os": os}
    exec(compile(ast.Module(body=body, type_ignores=[]), str(path), "exec"), names)  # noqa: S102
    parser: argparse.ArgumentParser = names["parser"]
    return parser


def verl(question: Question) -> None:
    """verl: its tree in Hydra, and the classes of the actor."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    GlobalHydra.instance().clear()
    folder = next(Path(p) for p in sys.path if (Path(p) / "verl").is_dir()) / "verl/trainer/config"
    with initialize_config_dir(str(folder), version_base=None):
        config = compose("ppo_trainer", overrides=question["words"])
    OmegaConf.to_container(config, resolve=True)
    actor = config.actor_rollout_ref.actor
    if "_target_" in actor:
        try:
            from verl.utils.config import omega_conf_to_dataclass

            importlib.import_module(actor._target_.rpartition(".")[0])
        except Exception:  # the tree is the framework's own; its classes need an engine
            return
        if actor.get("ppo_micro_batch_size_per_gpu") is None and not actor.use_dynamic_bsz:
            actor.ppo_micro_batch_size_per_gpu = 1
        actor.rollout_n = actor.get("rollout_n", 1) or 1
        omega_conf_to_dataclass(actor)


def llama_factory(question: Question) -> None:
    """LLaMA-Factory: its classes of arguments."""
    from llamafactory.hparams.data_args import DataArguments
    from llamafactory.hparams.finetuning_args import FinetuningArguments
    from llamafactory.hparams.model_args import ModelArguments
    from transformers import HfArgumentParser, TrainingArguments

    parser = HfArgumentParser(
        [ModelArguments, DataArguments, TrainingArguments, FinetuningArguments]
    )
    parse_dict(parser, {"model_name_or_path": "x", **question["settings"]})


def ms_swift(question: Question) -> None:
    """ms-swift: the fields and the parser of its arguments."""
    with contextlib.suppress(ImportError):
        from swift.arguments import SftArguments
    if "SftArguments" not in locals():
        from swift.llm.argument import TrainArguments as SftArguments
    from transformers import HfArgumentParser

    fields = {f.name: f for f in dataclasses.fields(SftArguments)}
    parser = HfArgumentParser([SftArguments])
    known = {o for action in parser._actions for o in action.option_strings}
    for key in question["settings"]:
        if key not in fields or f"--{key}" not in known:
            raise ValueError(f"SftArguments has no {key}")
    # Its __post_init__ loads the model: the words are parsed, the object is not made.
    argparse.ArgumentParser.parse_args(parser, argv(question["settings"]))


def axolotl(question: Question) -> None:
    """Axolotl: its pydantic schema."""
    from axolotl.utils.schemas.config import AxolotlInputConfig

    tree = nested(question["settings"])
    base = {
        "base_model": "x",
        "datasets": [{"path": "x", "type": "alpaca"}],
        "learning_rate": 1e-4,
        "num_epochs": 1,
        "micro_batch_size": 1,
        "gradient_accumulation_steps": 1,
        "output_dir": "out",
    }
    AxolotlInputConfig(**{**base, **tree})


def recbole(question: Question) -> None:
    """RecBole: its configuration, read back."""
    import numpy
    import yaml

    numpy.float_ = numpy.float64  # NumPy 2 has dropped names that RecBole uses at import.
    numpy.complex_, numpy.unicode_ = numpy.complex128, numpy.str_
    from recbole.config import Config

    path = Path(tempfile.mkdtemp()) / "c.yaml"
    path.write_text(yaml.safe_dump({**nested(question["settings"]), "use_gpu": False}))
    # It reads the command line, too.
    sys.argv = sys.argv[:1]
    config = Config(model="BPR", dataset="ml-100k", config_file_list=[str(path)])
    for key, value in question["settings"].items():
        if "." not in key and config[key] != value:
            raise ValueError(f"{key} is {config[key]} after reading {value}")


def llama_cookbook(question: Question) -> None:
    """llama-cookbook: what takes its flags."""
    from llama_cookbook.configs import fsdp_config, train_config
    from llama_cookbook.utils.config_utils import update_config

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        update_config((train_config, fsdp_config), **question["settings"])
    if "unknown parameter" in said.getvalue() or "does not accept" in said.getvalue():
        raise ValueError(said.getvalue().strip())


def torchtitan(question: Question) -> None:
    """torchtitan: its configuration manager."""
    words = argv(question["settings"])
    try:
        from torchtitan.config import ConfigManager
    except ImportError:
        from torchtitan.config_manager import ConfigManager
    if (Path(inspect.getfile(ConfigManager)).parent / "configs.py").exists():
        words = ["--module", "llama3", "--config", "llama3_debugmodel", *words]
    ConfigManager().parse_args(words)


def torchtune(question: Question) -> None:
    """torchtune: its merge of YAML and overrides, and whether a recipe reads the key."""
    from omegaconf import OmegaConf
    from torchtune.config._utils import _merge_yaml_and_cli_args

    root = next(Path(p) for p in sys.path if (Path(p) / "recipes").is_dir())
    yaml_args = argparse.Namespace(
        **OmegaConf.to_container(OmegaConf.load(root / "recipes/configs/llama3/8B_full.yaml"))
    )
    config = _merge_yaml_and_cli_args(yaml_args, question["words"])
    text = (root / "recipes/full_finetune_distributed.py").read_text()
    text += (root / "recipes/lora_finetune_distributed.py").read_text()
    for key, value in question["settings"].items():
        if OmegaConf.select(config, key) != value:
            raise ValueError(f"{key} is {OmegaConf.select(config, key)} after reading {value}")
        if key.split(".")[0] not in text:
            raise ValueError(f"no recipe reads {key}")


def ultralytics(question: Question) -> None:
    """Ultralytics: its configuration, with the types and the keys that it checks."""
    from ultralytics.cfg import get_cfg

    get_cfg(overrides=question["settings"])


def mmengine(question: Question) -> None:
    """MMEngine: its configuration over another one, its hooks, its loop, its process group."""
    from mmengine import dist
    from mmengine.config import Config
    from mmengine.registry import HOOKS
    from mmengine.runner import EpochBasedTrainLoop, Runner

    folder = Path(tempfile.mkdtemp())
    base = "train_dataloader = dict(batch_size=2, num_workers=2)\ntrain_cfg = dict(max_epochs=1)\n"
    base += "default_hooks = dict(checkpoint=dict(type='CheckpointHook'))\n"
    (folder / "base.py").write_text(base + "env_cfg = dict(dist_cfg=dict(backend='gloo'))\n")
    (folder / "config.py").write_text(f"_base_ = ['./base.py']\n{question['text']}\n")
    config = Config.fromfile(str(folder / "config.py"))
    known, read = inspect.signature(Runner.__init__).parameters, inspect.getsource(Runner)
    for key in config:
        if key not in known and f"'{key}'" not in read:
            raise ValueError(f"the Runner reads no {key}")
    for hook in config.default_hooks.values():
        HOOKS.build(hook)
    inspect.signature(EpochBasedTrainLoop.__init__).bind(None, None, None, **config.train_cfg)
    os.environ.update(
        RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0"
    )
    dist.utils.torch.cuda.set_device = lambda _: None
    dist.init_dist("pytorch", **{**config.env_cfg.dist_cfg, "backend": "gloo"})
    dist.utils.torch_dist.destroy_process_group()


def code(question: Question) -> None:
    """Every name that the text imports exists, and takes the arguments that it is called with."""
    tree = ast.parse(question["text"])
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
                names[(alias.asname or alias.name).split(".")[0]] = importlib.import_module(
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            for alias in node.names:
                names[alias.asname or alias.name] = (
                    getattr(module, alias.name)
                    if hasattr(module, alias.name)
                    else importlib.import_module(f"{node.module}.{alias.name}")
                )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            bind(names, node)


def bind(names: dict[str, Any], call: ast.Call) -> None:
    """Raise where what is called does not take these arguments."""
    found = resolve(names, call.func)
    if found is None or any(k.arg is None for k in call.keywords):
        if found is not None:
            known = inspect.signature(found).parameters
            open_ = any(p.kind is p.VAR_KEYWORD for p in known.values())
            for keyword in call.keywords:
                if keyword.arg is not None and keyword.arg not in known and not open_:
                    raise TypeError(f"{ast.unparse(call.func)} takes no {keyword.arg}")
        return
    try:
        signature = inspect.signature(found)
    except (ValueError, TypeError):
        return
    if any(isinstance(a, ast.Starred) for a in call.args):
        return
    signature.bind(*call.args, **{k.arg: k.value for k in call.keywords})


def resolve(names: dict[str, Any], func: ast.expr) -> Any:  # noqa: ANN401
    """The imported object that a call names; None where it is the user's own."""
    if isinstance(func, ast.Name):
        return names.get(func.id)
    if isinstance(func, ast.Attribute):
        above = resolve(names, func.value)
        if above is None or inspect.isclass(above):
            return None
        if not hasattr(above, func.attr):
            raise AttributeError(f"{ast.unparse(func)} does not exist")
        return getattr(above, func.attr)
    return None


CHECKS = {
    name: value
    for name, value in list(globals().items())
    if inspect.isfunction(value) and value.__module__ == __name__
}


def cannot_ask(question: Question) -> str | None:
    """Why the framework fails without any setting; None where it does not."""
    try:
        CHECKS[question["check"]](question)
    except (Exception, SystemExit) as error:
        return f"{question['check']} cannot be asked: {type(error).__name__}: {str(error)[:300]}"
    return None


def main() -> None:
    """Answer all questions."""
    if not hasattr(typing, "override"):  # Python 3.12; a framework may ask for it at import
        typing.override = lambda function: function
    questions = json.load(sys.stdin)
    answers: dict[str, str | None] = {}
    out = os.dup(1)
    os.dup2(2, 1)  # what the frameworks print is none of the answer
    # Where the release refuses even nothing, it is the machine that cannot ask it.
    bare = {"settings": {}, "words": [], "text": ""}
    kinds = {(q["check"], q["strategy"]): q for q in questions}
    unable = {why for q in kinds.values() if (why := cannot_ask({**q, **bare})) is not None}
    if unable:
        print("\n".join(unable), file=sys.stderr)
        questions = []
    for question in questions:
        try:
            CHECKS[question["check"]](question)
            answers[question["id"]] = None
        except SystemExit as error:
            answers[question["id"]] = f"exit {error.code}"
        except ImportError as error:
            # What the text itself imports must be there; what its modules need need not.
            text = question["text"]
            named = error.name is not None and f"{error.name} import" in text
            if question["check"] == "code" and (named or f"import {error.name}\n" in text):
                answers[question["id"]] = str(error)
            else:
                print(f"{question['check']}: {error!r}", file=sys.stderr)
        except Exception as error:  # whatever the framework says
            answers[question["id"]] = f"{type(error).__name__}: {str(error)[:200]}"
    os.write(out, json.dumps(answers).encode())


if __name__ == "__main__":
    main()
