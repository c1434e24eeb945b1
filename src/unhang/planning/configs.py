"""From a framework's configuration, or the script that launches it, to a part of a request.

Which keys mean what is data (`data/keys.toml`). Frameworks name the same thing alike, so a key is
looked for at the end of a dotted path, whatever framework's file it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from unhang.errors import UsageError
from unhang.model import toml
from unhang.model.plan import Method, Offload, Precision, Strategy
from unhang.planning import python

_MOST_BYTES = 10 << 20
_MOST_KEYS = 20_000
_SCRIPTS = frozenset({".sh", ".bash", ".slurm", ".sbatch"})
_ADAPTED = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})
_ALL_TARGETS = frozenset({"all", "all-linear", "all_linear"})
_NUMBERS = (
    "seq", "batch", "lora_rank", "tensor_parallel", "pipeline_parallel", "expert_parallel",
    "workers",
)  # fmt: skip
_RECOMPUTED = (True, "full", "true", "unsloth", "gradient_checkpointing_enable")
_OPTIMIZERS = {"8bit": "adamw-8bit", "lion": "lion", "sgd": "sgd", "adam": "adamw"}
_ASSIGNED = re.compile(r"\+{0,2}(?P<key>[A-Za-z_][\w.-]*)=(?P<value>.*)")
_ADAPTER_OF = re.compile(r"^(?P<quantised>q?)lora_")
_DECODER = frozenset({"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"})

Flat = Mapping[str, Any]
"""Values by dotted keys, dashes as underscores."""


def read_config(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that a configuration tells.

    Args:
        path: of the file; other files that it names are looked for beside it.
        data: what it holds.

    Raises:
        UsageError: no key is one of a known framework.
    """
    flat = dict(_flat(data))
    for name in _values(flat, "elsewhere"):
        beside = path.parent / str(name)
        if isinstance(name, str) and beside.suffix == ".json" and _is_there(beside):
            flat = dict(_flat(parse_file(beside))) | flat
            break
    found = _read(flat)
    model = found.get("model")
    if isinstance(model, str) and _is_there(path.parent / model):
        found["model"] = str(path.parent / model)
    if not found:
        raise UsageError(
            f"{path}: no key of a known framework's configuration; expected some such as "
            "per_device_train_batch_size or model_name_or_path"
        )
    return found


def parse_file(path: Path) -> dict[str, Any]:
    """The keys of a YAML, JSON, TOML or Python file, or the options of a script's commands.

    Raises:
        UsageError: it cannot be read, or does not parse.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if len(raw) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than 10 MB; expected a configuration")
    text = raw.decode("utf-8-sig", errors="replace")
    try:
        if path.suffix in _SCRIPTS:
            data: Any = dict(_options(text))
        elif path.suffix in (".py", ".ipynb"):
            data = python.keys_of(python.cells(text) if path.suffix == ".ipynb" else text)
        elif path.suffix == ".toml":
            data = toml.loads(text)
        elif path.suffix == ".json":
            data = json.loads(text)
        else:
            data = yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0][:120]
        raise UsageError(f"{path} does not parse: {first}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no keys; expected a configuration or a verdict")
    return data


def _options(text: str) -> Iterator[tuple[str, Any]]:
    """Options of a script's commands: `--key value`, `--key=value`, `--flag`, `a.b=value`.

    A value that a variable holds is unknown.
    """
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        words = line.split() if not line.lstrip().startswith("#") else []
        for word, after in zip(words, [*words[1:], "--"], strict=False):
            match = _ASSIGNED.fullmatch(word.removeprefix("--"))
            if match is not None:
                yield from _told(match["key"], match["value"])
            elif word.startswith("--") and len(word) > 2:
                yield from _told(word[2:], "true" if after.startswith("-") else after)


def _told(key: str, value: str) -> Iterator[tuple[str, Any]]:
    value = value.strip("\"'")
    if "$" in value:
        return
    if value.lower() in ("true", "false"):
        yield key, value.lower() == "true"
    else:
        yield key, int(value) if re.fullmatch(r"[0-9]{1,12}", value) else value


def _is_there(path: Path) -> bool:
    """Whether a file has that name; what a configuration says may be none at all."""
    return os.path.exists(path)  # noqa: PTH110


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; bounded, since aliases of YAML can make much of little."""
    left: list[tuple[str, Any]] = [("", data)]
    for _ in range(_MOST_KEYS):
        if not left:
            return
        prefix, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{prefix}.{key}" if prefix else str(key), v) for key, v in value.items()]
        else:
            yield prefix.replace("-", "_"), value
    raise UsageError(f"more than {_MOST_KEYS} keys; expected a configuration")


def _read(flat: Flat) -> dict[str, Any]:
    found: dict[str, Any] = {f: n for f in _NUMBERS if (n := _number(flat, f)) is not None}
    prompt, answer = flat.get("data.max_prompt_length"), flat.get("data.max_response_length")
    if isinstance(prompt, int) and isinstance(answer, int):
        found["seq"] = prompt + answer
    found |= _world(flat) | _model(flat) | _framework(flat)
    if _value(flat, "recompute") in _RECOMPUTED:
        found["recompute"] = "full"
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
    return found


def _framework(flat: Flat) -> dict[str, Any]:
    """The framework with a mark that is there, and `usual`: what it does where nothing is said."""
    for name, row in _keys()["frameworks"].items():
        if next(_matching(flat, row["marks"]), None) is not None:
            kinds = {"strategy": Strategy, "precision": Precision, "fp32_gradients": bool}
            usual = {field: kind(row[field]) for field, kind in kinds.items() if field in row}
            return {"framework": name, "usual": usual}
    return {}


def _world(flat: Flat) -> dict[str, int]:
    """Ranks of the job: told outright, by hosts, by listed GPUs, or by degrees of parallelism."""
    world, each, hosts = (_number(flat, f) for f in ("world", "gpus_per_host", "hosts"))
    if each is None:
        each = next((n for v in _values(flat, "gpu_list") if (n := _listed(v))), None)
    found = {} if each is None else {"gpus_per_host": each}
    if world is None and each is not None:
        world = each * (hosts or 1)
    if world is None and (data := _number(flat, "data_parallel")) is not None:
        tensor, pipeline = (_number(flat, f) for f in ("tensor_parallel", "pipeline_parallel"))
        world = data * (tensor or 1) * (pipeline or 1)
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
    if told == "bf16-mixed" and flat.get("dtype") is not None and _component(flat) is not None:
        told = "bf16"  # torchtune keeps everything in its dtype
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
