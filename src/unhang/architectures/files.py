"""From files that describe a model to its tensors: config.json, safetensors, GGUF."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from unhang import lazy_re as re
from unhang.architectures.hf import from_config
from unhang.architectures.known import need_model
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor
from unhang.errors import UsageError
from unhang.model.provenance import say

_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?|blk)\.(\d+)\.")
_MOST_HEADER = 100 << 20
"""The largest header that the safetensors library reads."""
_MOST_TENSORS = 1_000_000
_MOST_TEXT = 1 << 20
_GGUF_FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by GGUF's number for its type (docs/gguf.md of ggml)."""
_GGUF_STRING, _GGUF_ARRAY = 8, 9
_PARTS = (
    (re.compile(r"norm|ln_"), Part.NORM),
    (re.compile(r"lm_head|embed_out|^output\."), Part.HEAD),
    (re.compile(r"emb|wte|wpe"), Part.EMBEDDING),
    (re.compile(r"experts?\b|_exps"), Part.EXPERT),
    (re.compile(r"attn|attention"), Part.ATTENTION),
    (re.compile(r"mlp|ffn|fc\d|feed_forward"), Part.MLP),
)


def model_of(named: str) -> Architecture:
    """The model of a known name, or of the file or folder that describes it.

    Raises:
        UsageError: there is no such file, it is not what its name says, or the name is unknown.
    """
    path = Path(named)
    if path.exists() or path.suffix in (".json", ".safetensors", ".gguf"):
        return read_model(path)
    return need_model(named)


def read_model(path: Path) -> Architecture:
    """Read a model's description.

    Args:
        path: a config.json, a `.safetensors` or `.gguf` file (only its header is read), a
            `model.safetensors.index.json`, or a folder that holds one of them.

    Raises:
        UsageError: there is no such file, or it is not what its name says.
    """
    if path.is_dir():
        return _read_folder(path)
    if not path.exists():
        raise UsageError(f"{path} does not exist; expected a config.json, .safetensors or .gguf")
    if path.suffix == ".safetensors":
        return from_tensors(path.stem, _safetensors(path))
    if path.suffix == ".gguf":
        return from_tensors(path.stem, _gguf(path))
    data = _json(path)
    if "weight_map" in data:
        return _read_shards(path, data)
    return from_config(data, name=path.parent.name or None)


def _read_folder(path: Path) -> Architecture:
    for name in ("config.json", "model.safetensors.index.json"):
        if (path / name).exists():
            return read_model(path / name)
    weights = sorted([*path.glob("*.safetensors"), *path.glob("*.gguf")])
    if not weights:
        raise UsageError(f"{path} holds no config.json, no .safetensors and no .gguf file")
    if weights[0].suffix == ".gguf":
        return read_model(weights[0])
    found: dict[str, tuple[int, ...]] = {}
    for file in weights:
        found.update(_safetensors(file))
    return from_tensors(path.name, found.items())


def _read_shards(path: Path, index: Mapping[str, Any]) -> Architecture:
    shards = index["weight_map"]
    names = sorted({str(v) for v in shards.values()}) if isinstance(shards, Mapping) else []
    found: dict[str, tuple[int, ...]] = {}
    for name in names:
        if Path(name).name != name:
            raise UsageError(
                f"{path}: the index names {name!r}, and there is no such file beside it"
            )
        found.update(_safetensors(path.parent / name))
    return from_tensors(path.parent.name, found.items())


def from_tensors(name: str, tensors: Iterable[tuple[str, tuple[int, ...]]]) -> Architecture:
    """The units of a model whose tensors are known by name and shape only.

    Layers are told by the number in a tensor's name; equal layers are one unit.
    """
    layers: dict[int, list[Tensor]] = {}
    root: list[Tensor] = []
    for full, shape in tensors:
        match = _LAYER.search(full)
        short = full if match is None else full[match.end() :]
        tensor = Tensor(short, shape, _part(full))
        (root if match is None else layers.setdefault(int(match[1]), [])).append(tensor)
    kinds = Counter(tuple(sorted(of, key=lambda t: t.name)) for of in layers.values())
    units = [GatheredUnit("root", tuple(root))]
    units += [GatheredUnit("layer", kind, count) for kind, count in kinds.items()]
    embedding = next(
        (t.shape for t in root if t.part is Part.EMBEDDING and len(t.shape) == 2), None
    )
    return Architecture(
        name=name,
        units=tuple(units),
        hidden=min(embedding) if embedding else None,
        vocab=max(embedding) if embedding else None,
        notes=(
            say(
                "plan.from_weights",
                "Read from weights: attention heads are unknown, activations are not estimated.",
            ),
        ),
    )


def _part(name: str) -> Part:
    return next((part for pattern, part in _PARTS if pattern.search(name)), Part.OTHER)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_HEADER + 1)
        data = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {str(error)[:120]}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds a {type(data).__name__}; expected a JSON object")
    return data


def _safetensors(path: Path) -> list[tuple[str, tuple[int, ...]]]:
    """The header: eight bytes of its length, then JSON (format page of safetensors)."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else _MOST_HEADER + 1
            if length > _MOST_HEADER:
                raise UsageError(
                    f"{path}: a header of {length} bytes is not that of a safetensors file"
                )
            header = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as safetensors: {str(error)[:120]}") from error
    entries = header.items() if isinstance(header, dict) else ()
    return [(n, _shape(path, n, e)) for n, e in entries if n != "__metadata__"]


def _shape(path: Path, name: str, entry: object) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    if not isinstance(shape, list) or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise UsageError(f"{path}: {name[:60]!r} has no shape; expected a list of sizes")
    return tuple(shape)


def _gguf(path: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of a GGUF file; its dimensions stand the other way round than PyTorch's."""
    try:
        with path.open("rb") as file:
            yield from _gguf_tensors(file)
    except (OSError, OverflowError, struct.error, ValueError) as error:
        raise UsageError(f"{path} cannot be read as GGUF: {str(error)[:120]}") from error


def _gguf_tensors(file: BinaryIO) -> Iterator[tuple[str, tuple[int, ...]]]:
    magic, version, tensors, keys = struct.unpack("<4sIQQ", _exactly(file, 24))
    if magic != b"GGUF" or version < 2:
        raise ValueError(f"begins with {magic!r} version {version}, expected GGUF version 2 or 3")
    if max(tensors, keys) > _MOST_TENSORS:
        raise ValueError(f"claims {tensors} tensors and {keys} keys")
    for _ in range(keys):
        _gguf_text(file)
        _gguf_skip(file, *struct.unpack("<I", _exactly(file, 4)))
    for _ in range(tensors):
        name = _gguf_text(file)
        (count,) = struct.unpack("<I", _exactly(file, 4))
        if count > 8:
            raise ValueError(f"a tensor of {count} dimensions")
        shape = struct.unpack(f"<{count}Q", _exactly(file, 8 * count))
        _exactly(file, 12)
        yield name, tuple(reversed(shape))


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise ValueError("it is cut")
    return data


def _skip(file: BinaryIO, count: int) -> None:
    """Step over `count` bytes, which must be there."""
    if count > 0:
        file.seek(count - 1, 1)
        _exactly(file, 1)


def _gguf_text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", _exactly(file, 8))
    if length > _MOST_TEXT:
        raise ValueError(f"a name of {length} bytes")
    return _exactly(file, length).decode("utf-8", "replace")


def _gguf_skip(file: BinaryIO, kind: int) -> None:
    if kind in _GGUF_FIXED:
        _skip(file, _GGUF_FIXED[kind])
    elif kind == _GGUF_STRING:
        (length,) = struct.unpack("<Q", _exactly(file, 8))
        _skip(file, length)
    elif kind == _GGUF_ARRAY:
        of, count = struct.unpack("<IQ", _exactly(file, 12))
        if of in _GGUF_FIXED:
            _skip(file, _GGUF_FIXED[of] * count)
            return
        if of != _GGUF_STRING or count > 100 * _MOST_TENSORS:
            raise ValueError(f"an array of {count} values of type {of}")
        for _ in range(count):
            (length,) = struct.unpack("<Q", _exactly(file, 8))
            _skip(file, length)
    else:
        raise ValueError(f"a value of type {kind}")
