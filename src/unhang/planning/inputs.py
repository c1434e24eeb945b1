"""From what is already there to a part of a request: a configuration, a verdict, a run folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from unhang.architectures import decode
from unhang.errors import UsageError
from unhang.model import toml
from unhang.model.codec import decode as decode_record
from unhang.model.measurements import RunMeasurements
from unhang.model.plan import Method, Precision, Strategy

_MOST_BYTES = 10 << 20
_MOST_KEYS = 20_000
_TARGETS = {
    "q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "o_proj": "o_proj",
    "gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj",
}  # fmt: skip
_ALL_TARGETS = frozenset({"all", "all-linear", "all_linear"})
_RUN_PHASES = {"save": "save_s", "eval": "eval_s", "data": "prepare_s"}


def read_inputs(path: Path) -> dict[str, Any]:
    """Read what a file or folder tells of a job, as fields of a request.

    Args:
        path: a framework's configuration (YAML, JSON, TOML), a verdict (`unhang diagnose --format
            json`), a check (`unhang check --format json`), or a run folder of `unhang run`.

    Returns:
        Fields of `Request` by name, `model` as a name or path; and `save_s`, the longest save that
        a run has shown.

    Raises:
        UsageError: the path cannot be read, or is none of these.
    """
    if path.is_dir():
        if not (path / "events.jsonl").exists():
            raise UsageError(f"{path} is no run folder: it holds no events.jsonl")
        return _from_run(path)
    data = parse_file(path)
    if str(data.get("schema", "")).startswith("unhang.diagnosis/"):
        return _from_verdict(data)
    if str(data.get("schema", "")).startswith("unhang.check/"):
        return _from_check(path, data)
    found = _from_config(dict(_flat(data)))
    if not found:
        raise UsageError(
            f"{path}: no key of a known framework's configuration; expected some such as "
            "per_device_train_batch_size or model_name_or_path"
        )
    return found


def phase_durations(events: Iterable[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Seconds of each phase in a run's events: from its line to the next one of the same ranks."""
    begun: dict[str, tuple[str, datetime]] = {}
    found: dict[str, list[float]] = {}
    for event in events:
        at = _time(event.get("at"))
        if event.get("kind") != "phase" or at is None:
            continue
        ranks, phase = str(event.get("ranks", "")), str(event.get("phase"))
        if ranks in begun:
            name, since = begun[ranks]
            found.setdefault(name, []).append(max(0.0, (at - since).total_seconds()))
        begun[ranks] = (phase, at)
    return found


def read_measured(folder: Path) -> RunMeasurements | None:
    """What a run measured of itself; None where it left nothing that can be read."""
    try:
        with (folder / "measured.json").open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
        return decode_record(RunMeasurements, data)
    except (OSError, ValueError, RecursionError):
        return None


def json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Objects of a file of JSON lines; a line that is none is left out, as one that was cut."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                data = _object(line)
                if data is not None:
                    yield data
    except OSError:
        return


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _time(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _from_run(path: Path) -> dict[str, Any]:
    """The longest of each phase that was measured, and the world."""
    longest = {
        phase: max(times)
        for phase, times in phase_durations(json_lines(path / "events.jsonl")).items()
    }
    measured = read_measured(path)
    found: dict[str, Any] = {}
    if measured is not None:
        longest |= {p.phase.value: p.longest_s for p in measured.phases}
        found |= {} if measured.world_size is None else {"world": measured.world_size}
    return found | {_RUN_PHASES[p]: s for p, s in longest.items() if p in _RUN_PHASES and s > 0}


def _from_check(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Speeds of the storage, and memory, of the host that has least."""
    fields = {"one_writer": "write_speed", "all_writers": "write_speed_total",
              "total_bytes": "host_memory"}  # fmt: skip
    found: dict[str, Any] = {}
    stages = data.get("stages")
    for stage in stages if isinstance(stages, list) else ():
        measured = stage.get("measured") if isinstance(stage, dict) else None
        for name, value in measured.items() if isinstance(measured, dict) else ():
            if name in fields and isinstance(value, int) and value > 0:
                field = fields[name]
                found[field] = min(value, found.get(field, value))
    if "write_speed_total" in found:
        found["write_speed_total"] = max(found["write_speed_total"], found.get("write_speed", 0))
    if not found:
        raise UsageError(f"{path} measured neither storage nor memory: `check --checkpoint DIR`")
    return found


def _from_verdict(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    coverage, call, framework = map(data.get, ("coverage", "call", "framework"))
    if isinstance(coverage, dict) and isinstance(coverage.get("world_size"), int):
        found["world"] = coverage["world_size"]
    if isinstance(framework, dict) and isinstance(framework.get("name"), str):
        found["framework"] = framework["name"]
    if isinstance(call, dict):
        sizes = [call.get(name) for name in ("numel_in", "numel_out")]
        numel_in, numel_out = (n if isinstance(n, int) else None for n in sizes)
        readings = decode(str(call.get("op")), numel_in, numel_out)
        if len(readings) == 1 and len(readings[0].models) == 1:
            found["model"] = readings[0].models[0]
    return found


def parse_file(path: Path) -> dict[str, Any]:
    """The keys of a YAML, JSON or TOML file.

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
        if path.suffix == ".toml":
            data: Any = toml.loads(text)
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


def _from_config(flat: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in ("world", "seq", "batch", "lora_rank", "tensor_parallel", "pipeline_parallel",
                  "expert_parallel"):  # fmt: skip
        value = _value(flat, field)
        if isinstance(value, int) and not isinstance(value, bool):
            found[field] = value
    model = _value(flat, "model")
    if isinstance(model, str):
        found["model"] = model
    if _value(flat, "recompute") in (True, "full", "true"):
        found["recompute"] = "full"
    found |= _precision(flat) | _method(flat) | _strategy(flat)
    optim = str(_value(flat, "optimizer") or "").lower()
    if "8bit" in optim:
        found["optimizer"] = "adamw-8bit"
    elif optim.startswith("sgd"):
        found["optimizer"] = "sgd"
    elif "adamw" in optim:
        found["optimizer"] = "adamw"
    if _value(flat, "save_only_model") is True:
        found["save_optimizer"] = False
    return found


def _precision(flat: Mapping[str, Any]) -> dict[str, Any]:
    mixed = str(_value(flat, "precision") or "").lower()
    master = _value(flat, "zero") is not None
    for kind in ("bf16", "fp16"):
        on = any(
            path in (kind, f"{kind}.enabled") or path.endswith(f".{kind}")
            for path, value in flat.items()
            if value is True
        )
        if on or mixed == kind:
            return {"precision": Precision(f"{kind}-{'master' if master else 'mixed'}")}
    return {}


def _method(flat: Mapping[str, Any]) -> dict[str, Any]:
    words = {str(value).lower() for value in _values(flat, "method")}
    four_bit = any(
        value is True or value == 4
        for path, value in flat.items()
        if path.rsplit(".", 1)[-1] in ("load_in_4bit", "quantization_bit")
    )
    adapted = "lora" in words or "qlora" in words or any(
        value is True for path, value in flat.items() if path.rsplit(".", 1)[-1] in
        ("use_peft", "use_lora")
    )  # fmt: skip
    if not adapted:
        return {}
    quantised = four_bit or "qlora" in words
    found: dict[str, Any] = {"method": Method.QLORA if quantised else Method.LORA}
    targets = _value(flat, "lora_targets")
    names = targets if isinstance(targets, list) else str(targets or "").split(",")
    known = {_TARGETS[str(n).strip()] for n in names if str(n).strip() in _TARGETS}
    if any(str(name).strip() in _ALL_TARGETS for name in names):
        known = set(_TARGETS.values())
    return found | ({"lora_targets": frozenset(known)} if known else {})


def _strategy(flat: Mapping[str, Any]) -> dict[str, Any]:
    stage = _value(flat, "zero")
    if stage in (1, 2, 3):
        return {"strategy": Strategy(f"zero{stage}")}
    kind = str(_value(flat, "distributed") or "").upper()
    if kind == "FSDP" or any(path.startswith("fsdp") and value for path, value in flat.items()):
        return {"strategy": Strategy.FSDP}
    return {"strategy": Strategy.DDP} if kind in ("MULTI_GPU", "DDP") else {}


@cache
def _keys() -> Mapping[str, list[str]]:
    return toml.load("unhang.planning", "data/keys.toml")


def _value(flat: Mapping[str, Any], field: str) -> object:
    return next(iter(_values(flat, field)), None)


def _values(flat: Mapping[str, Any], field: str) -> Iterator[object]:
    for key in _keys()[field]:
        for path, value in flat.items():
            if path == key or path.endswith(f".{key}"):
                yield value
