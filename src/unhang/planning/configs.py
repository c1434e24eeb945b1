"""From the keys of a framework's configuration to a part of a request.

Which keys mean what is data (`data/keys.toml`). Frameworks name the same thing alike, so a key is
looked for at the end of a dotted path, whatever framework's file it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.model import toml
from unhang.model.plan import Method, Offload, Precision, SaveStyle, Strategy
from unhang.model.provenance import Message, say
from unhang.planning.config_files import flatten, is_there, parse_file

_ADAPTED = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
_ALL_TARGETS = frozenset({"all", "all-linear", "all_linear"})
_NUMBERS = (
    "seq", "batch", "lora_rank", "tensor_parallel", "pipeline_parallel", "expert_parallel",
    "context_parallel", "workers",
)  # fmt: skip
_DEGREES = (
    "data_parallel", "replicas", "tensor_parallel", "pipeline_parallel", "context_parallel",
)  # fmt: skip
"""Their product is the world; one framework multiplies experts as well."""
_RECOMPUTED = (True, "full", "true", "unsloth", "gradient_checkpointing_enable")
_OPTIMIZERS = {"8bit": "adamw-8bit", "lion": "lion", "sgd": "sgd", "adam": "adamw"}
_ADAPTER_OF = re.compile(r"^(?P<quantised>q?)lora_")
_DECODER = frozenset({"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"})

Flat = Mapping[str, Any]
"""Values by dotted keys, dashes as underscores."""


def read_config(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that a configuration tells.

    Args:
        path: of the file; other files that it names are looked for beside it.
        data: what it holds.

    Returns:
        The fields, and `assumed`: what was taken for granted, in words.

    Raises:
        UsageError: no key is one of a known framework.
    """
    flat = dict(flatten(data))
    assumed: list[Message] = []
    for name in _values(flat, "elsewhere"):
        if isinstance(name, str):
            flat = _deepspeed(path.parent, name, assumed) | flat
            break
    found = _read(flat)
    model = found.get("model")
    if isinstance(model, str) and is_there(path.parent / model):
        found["model"] = str(path.parent / model)
    if not found:
        raise UsageError(
            f"{path}: it has no key of a known framework; expected keys such as "
            "per_device_train_batch_size or model_name_or_path"
        )
    return found | {"assumed": (*assumed, *_beside(flat))}


def _deepspeed(folder: Path, name: str, assumed: list[Message]) -> dict[str, Any]:
    """The keys of the DeepSpeed file of that name, which may be one that a framework brings."""
    if name.endswith(".json") and is_there(folder / name):
        return dict(flatten(parse_file(folder / name)))
    row = _keys()["values"]["brought"].get(name.replace("\\", "/").rsplit("/", 1)[-1])
    if row is None:
        assumed.append(
            say(
                "plan.unread",
                "{file}, which the configuration names, is not there: what it says of sharding and"
                " offload is unknown (--strategy, --offload).",
                file=name[:200],
            )
        )
        return {}
    if name.endswith(".json"):
        assumed.append(
            say(
                "plan.brought",
                "{file} is not there: taken for the file of that name that its framework brings,"
                " ZeRO stage {stage}.",
                file=name[:200],
                stage=row["zero"],
            )
        )
    away = {"optimizer": ("optimizer",), "all": ("optimizer", "param")}.get(row.get("offload"), ())
    return {"zero_optimization.stage": row["zero"]} | {
        f"zero_optimization.offload_{what}.device": "cpu" for what in away
    }


def _beside(flat: Flat) -> Iterator[Message]:
    """What else uses the GPUs of the job."""
    for key in _keys()["engine"]:
        for path, share in flat.items():
            if path == key or path.endswith(f".{key}"):
                yield say(
                    "plan.engine",
                    "An inference engine shares these GPUs ({key} {share}): its memory is not"
                    " counted.",
                    key=key,
                    share=str(share)[:20],
                )
                return


def _read(flat: Flat) -> dict[str, Any]:
    found: dict[str, Any] = {f: n for f in _NUMBERS if (n := _number(flat, f)) is not None}
    prompt, answer = flat.get("data.max_prompt_length"), flat.get("data.max_response_length")
    if isinstance(prompt, int) and isinstance(answer, int):
        found["seq"] = prompt + answer
    found |= _world(flat) | _model(flat) | _framework(flat)
    recompute = _value(flat, "recompute")
    if recompute in _RECOMPUTED:
        found["recompute"] = "full"
    elif recompute in (False, "none") or _value(flat, "no_recompute") is True:
        found["recompute"] = "none"
    found |= _method(flat) | _strategy(flat) | _precision(flat) | _offload(flat)
    optim = str(_value(flat, "optimizer") or "").lower()
    named = next((name for part, name in _OPTIMIZERS.items() if part in optim), None)
    if named is not None:
        found["optimizer"] = named
    if _value(flat, "fp32_gradients") in (True, "fp32"):
        found["fp32_gradients"] = True
    if _value(flat, "local_loss") is True:
        found["local_loss"] = True
    if _value(flat, "save_only_model") is True:
        found["save_optimizer"] = False
    style = _meaning("save_style", str(_value(flat, "save_style")).lower())
    if style is not None:
        found["save_style"] = SaveStyle(style)
    told = (v if isinstance(v, list) else [v] for v in _values(flat, "fused_loss"))
    if any(_meaning("fused_loss", str(word).lower()) for words in told for word in words):
        found["fused_loss"] = True
    return found


def _row(flat: Flat) -> tuple[str, Mapping[str, Any]]:
    """The framework with a mark that is there, and what is known of it; "" where none is."""
    for name, row in _keys()["frameworks"].items():
        if next(_matching(flat, row["marks"]), None) is not None:
            return name, row
    return "", {}


def _framework(flat: Flat) -> dict[str, Any]:
    """The framework, and `usual`: what it does where nothing is said."""
    name, row = _row(flat)
    kinds = {"strategy": Strategy, "precision": Precision, "fp32_gradients": bool,
             "save_style": SaveStyle, "recompute": str}  # fmt: skip
    usual = {field: kind(row[field]) for field, kind in kinds.items() if field in row}
    return {"framework": name, "usual": usual} if name else {}


def _world(flat: Flat) -> dict[str, int]:
    """Ranks of the job: told outright, by hosts, by listed GPUs, or by degrees of parallelism.

    Degrees that leave data parallelism out tell the least that the job can have.
    """
    world, each, hosts = (_number(flat, f) for f in ("world", "gpus_per_host", "hosts"))
    if each is None:
        each = next((n for v in _values(flat, "gpu_list") if (n := _listed(v))), None)
    found = {} if each is None else {"gpus_per_host": each}
    if world is None and each is not None:
        world = each * (hosts or 1)
    if world is None:
        experts = ("expert_parallel",) if _row(flat)[1].get("experts_apart") else ()
        least = prod(_number(flat, field) or 1 for field in (*_DEGREES, *experts))
        world = least if least > 1 else None
    return found if world is None else found | {"world": world}


def _listed(value: object) -> int:
    """How many GPUs a list such as [0, 1] or "0,1" names; 0 where it is none."""
    names = value if isinstance(value, list) else str(value).split(",")
    return len(names) if all(str(name).strip().isdecimal() for name in names) else 0


def _model(flat: Flat) -> dict[str, Any]:
    """A name or a path; else the sizes that the configuration states itself."""
    family, flavor = flat.get("model.name"), _value(flat, "flavor")
    if isinstance(family, str) and isinstance(flavor, str):
        return {"model": f"{family}-{flavor}"}
    component = _component(flat)
    if component is not None:
        return {"model": _ADAPTER_OF.sub("", component)}
    named = next((v for v in _values(flat, "model") if isinstance(v, str) and v), None)
    if named is not None:
        return {"model": named}
    sizes = {
        name: value
        for name, keys in _keys()["architecture"].items()
        if (value := next(_matching(flat, keys), None)) is not None
    }
    return {"model": {"model_type": "llama", **sizes}} if sizes.keys() >= _DECODER else {}


def _component(flat: Flat) -> str | None:
    """The function that makes the model, where the configuration names one (torchtune)."""
    value = flat.get("model._component_")
    return value.rsplit(".", 1)[-1] if isinstance(value, str) else None


def _precision(flat: Flat) -> dict[str, Any]:
    words = [str(value).lower() for value in _values(flat, "precision")]
    told = next((p for w in words if (p := _meaning("precision", w)) is not None), None)
    whole = (flat.get("dtype") is not None and _component(flat) is not None) or (
        _meaning("precision", str(_value(flat, "everything_in")).lower()) == "bf16-mixed"
    )
    if told == "bf16-mixed" and whole:
        told = "bf16"  # torchtune and torchtitan keep everything in that type
    for kind in ("bf16", "fp16"):
        if any(
            value is True and (path in (kind, f"{kind}.enabled") or path.endswith(f".{kind}"))
            for path, value in flat.items()
        ):
            told = f"{kind}-mixed"
    if told is None:
        return {}
    if _value(flat, "zero") is not None or _value(flat, "master") is True:
        told = told.replace("-mixed", "-master")
    return {"precision": Precision(told)}


def _method(flat: Flat) -> dict[str, Any]:
    words = {str(value).lower() for value in _values(flat, "method")}
    named = _ADAPTER_OF.match(_component(flat) or "")
    adapted = (
        bool(words & {"lora", "qlora"})
        or named is not None
        or any(value is True for value in _values(flat, "lora_on"))
        or (not words and not [*_values(flat, "lora_on")] and _number(flat, "lora_rank"))
    )
    if not adapted:
        return {}
    four_bit = any(value is True or value == 4 for value in _values(flat, "four_bits"))
    quantised = four_bit or "qlora" in words or (named is not None and named["quantised"] != "")
    found: dict[str, Any] = {"method": Method.QLORA if quantised else Method.LORA}
    targets = _value(flat, "lora_targets")
    names = targets if isinstance(targets, list) else str(targets or "").split(",")
    stripped = {str(name).strip() for name in names}
    known = stripped & _ADAPTED
    if stripped & _ALL_TARGETS or _value(flat, "lora_everywhere") is True:
        known = set(_ADAPTED)
    return found | ({"lora_targets": frozenset(known)} if known else {})


def _strategy(flat: Flat) -> dict[str, Any]:
    stage = _value(flat, "zero")
    if type(stage) is int and stage in (1, 2, 3):  # `True` is 1, too
        return {"strategy": Strategy(f"zero{stage}")}
    kinds = [_meaning("distributed", str(v).lower()) for v in _values(flat, "distributed")]
    kind = next((k for k in kinds if k is not None), None)
    if kind is None and any(path.startswith("fsdp") and value for path, value in flat.items()):
        kind = "fsdp"
    if kind is None and _value(flat, "master") is True:
        kind = "zero1"  # Megatron's distributed optimizer
    if kind == "fsdp":
        kind = _meaning("sharding", str(_value(flat, "sharding") or "").lower()) or kind
    return {} if kind is None else {"strategy": Strategy(kind)}


def _offload(flat: Flat) -> dict[str, Any]:
    if _value(flat, "offload_weights") in ("cpu", "nvme") or _value(flat, "offload_all") is True:
        return {"offload": Offload.ALL}
    away = _value(flat, "offload_optimizer") in ("cpu", "nvme")
    return {"offload": Offload.OPTIMIZER} if away else {}


@cache
def _keys() -> Mapping[str, Any]:
    return toml.load("unhang.planning", "data/keys.toml")


def _meaning(table: str, word: str) -> str | None:
    found: str | None = _keys()["values"][table].get(word)
    return found


def _number(flat: Flat, field: str) -> int | None:
    """The first whole number; "auto" and the like tell none."""
    found = (v for v in _values(flat, field) if isinstance(v, int) and not isinstance(v, bool))
    return next((number for number in found if number > 0), None)


def _value(flat: Flat, field: str) -> object:
    return next(_values(flat, field), None)


def _values(flat: Flat, field: str) -> Iterator[object]:
    return _matching(flat, _keys()[field])


def _matching(flat: Flat, keys: list[str]) -> Iterator[Any]:
    for key in keys:
        for path, value in flat.items():
            if value is not None and _is(path, key):
                yield value


def _is(path: str, key: str) -> bool:
    """Whether a path ends with the key; `=key` is that path only. What is foreign never does."""
    if key.startswith("="):
        return path == key[1:]
    if path != key and not path.endswith(f".{key}"):
        return False
    return not any(part in _keys()["foreign"] for part in path.removesuffix(key).split("."))
