"""From what a user says, in words and units, to a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any

from unhang import lazy_re as re
from unhang.architectures import (
    Architecture,
    GatheredUnit,
    Part,
    Tensor,
    find_model,
    from_config,
    model_of,
)
from unhang.errors import UsageError
from unhang.model import units
from unhang.model.plan import Method, Offload, Precision, SaveStyle, Strategy
from unhang.model.provenance import Message, say
from unhang.planning.inputs import read_inputs
from unhang.planning.request import PlanRequest
from unhang.planning.storage import measure_copy, measure_together, measure_write
from unhang.settings import find_framework, frameworks

_UNITS: Mapping[str, Callable[[str, str], float]] = {
    "gpu_memory": units.size,
    "host_memory": units.size,
    "reserve": units.size,
    "data_bytes": units.size,
    "write_speed": units.speed,
    "write_speed_total": units.speed,
    "gather_speed": units.speed,
    "copy_speed": units.speed,
    "sample_bytes": units.size,
    "seq": units.tokens,
    "save_s": units.seconds,
    "eval_s": units.seconds,
    "prepare_s": units.seconds,
}
_NEED_A_UNIT = frozenset({units.size, units.speed})
"""Nobody means bytes by a bare number."""
_CHOICES: Mapping[str, type[Enum]] = {
    "strategy": Strategy,
    "method": Method,
    "precision": Precision,
    "save_style": SaveStyle,
    "offload": Offload,
}
_MASTERED = frozenset({Strategy.ZERO1, Strategy.ZERO2, Strategy.ZERO3})
_UNSAID = re.compile(r"_(?:s|bytes)$")  # the unit in a field's name, which its option leaves out
_FIELDS = frozenset(PlanRequest.__dataclass_fields__) - {"assumed"}


def build_request(model: str | None, sources: Iterable[str] = (), **options: object) -> PlanRequest:
    """Put a request together: what the user says wins over what the files say.

    Args:
        model: a known name, a path, or a number of parameters; None = a source names it.
        sources: configurations, verdicts and run folders.
        options: fields of `PlanRequest`; sizes, speeds and durations may be text with units.

    Raises:
        UsageError: nothing names a model, or a field cannot be what it is said to be.
    """
    found: dict[str, Any] = {}
    usual: dict[str, Any] = {}
    assumed: list[Message] = []
    for source in sources:
        found |= read_inputs(Path(source))
        usual |= found.pop("usual", {})
        assumed += found.pop("assumed", ())
    storage = options.pop("storage", None)
    for name, value in options.items():
        if name not in _FIELDS:
            close = get_close_matches(name, _FIELDS, n=1)
            raise UsageError(f"plan has no {name!r}" + (f"; perhaps {close[0]}" if close else ""))
        found[name] = _typed(name, value)
    named = model or found.pop("model", None)
    found.pop("model", None)
    if named is None:
        raise UsageError(
            "no model: give its name, its config.json, its weights or a number of parameters such"
            " as 7B"
        )
    if "strategy" in found and found["strategy"] in _MASTERED:
        found.setdefault("precision", Precision.BF16_MASTER)
    found = usual | found
    made = from_config(named) if isinstance(named, dict) else _model(str(named))
    if made.towers:
        found.setdefault("strategy", Strategy.DDP)  # OpenCLIP knows no other
    if "world" not in found:
        assumed.append(
            say(
                "plan.no_gpus",
                "Nothing tells the number of GPUs: planned for one, so that nothing is sharded"
                " (--gpus).",
            )
        )
    if made.hidden is not None and not made.tokens and not made.towers and "seq" not in found:
        assumed.append(
            say(
                "plan.no_seq",
                "Nothing tells the length of a sample: activations and logits are not counted"
                " (--seq).",
            )
        )
    request = PlanRequest(model=made, assumed=tuple(assumed), **found)
    if storage is None:
        return request
    return replace(request, **_speeds(Path(str(storage)), request) | found)


def _speeds(folder: Path, request: PlanRequest) -> dict[str, Any]:
    """What is measured on this host; other hosts are taken for as fast beside it."""
    writers = request.ranks_per_host
    found = {"write_speed": measure_write(folder), "copy_speed": measure_copy(writers)}
    if writers > 1:
        found["write_speed_total"] = measure_together(folder, writers) * request.hosts
    return found


def _typed(name: str, value: object) -> object:
    if name in _UNITS and isinstance(value, str):
        option = f"--{_UNSAID.sub('', name).replace('_', '-')}"
        if _UNITS[name] in _NEED_A_UNIT and re.fullmatch(r"[\d.,_ ]+", value):
            raise UsageError(
                f"{option}: {value[:60]!r} has no unit; expected one, as in 80GB, 2GB/s"
            )
        return _UNITS[name](value, option)
    if name in _CHOICES and isinstance(value, str):
        kind = _CHOICES[name]
        known = [member.value for member in kind]
        if value not in known:
            raise UsageError(f"{name} is {value!r}; expected one of {', '.join(known)}")
        return kind(value)
    if name == "lora_targets" and isinstance(value, str):
        return frozenset(part.strip() for part in value.split(",") if part.strip())
    if name == "framework" and isinstance(value, str):
        name = value.partition("==")[0].strip().lower()
        framework = frameworks().get(name) or find_framework(name)
        if framework is None:
            every = ", ".join(sorted(frameworks()))
            raise UsageError(f"framework is {name[:40]!r}; expected one of {every}")
        return framework.name
    return value


def _model(named: str) -> Architecture:
    counted = named.lstrip("+-.")[:1].isdigit() and not named.endswith(
        (".json", ".safetensors", ".gguf")
    )
    if counted and not Path(named).exists() and find_model(named) is None:
        return _by_number(named, units.count(named, "MODEL"))
    return model_of(named)


def _by_number(name: str, parameters: int) -> Architecture:
    tensor = Tensor("parameters", (parameters,), Part.OTHER)
    note = say(
        "plan.by_number",
        "Only the number of parameters is known: no activations, no sizes of single gathers.",
    )
    return Architecture(name=name, units=(GatheredUnit("root", (tensor,)),), notes=(note,))
