"""Memory of a container, shared or whole: of `docker run`, a compose service, a pod."""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.fixing.editors import pods as pod_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import Command, read_commands
from unhang.model.diagnosis import Fix

SHM = "16g"
_SHM_BYTES = 16 * 1024**3
_CONTAINERS = frozenset({"docker", "podman", "nvidia-docker"})
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtb]?)i?b?", re.IGNORECASE)
_SERVICES = re.compile(r"^services:", re.MULTILINE)
_COMPOSE_MEMORY = (
    ("mem_limit",),
    ("memswap_limit",),
    ("deploy", "resources", "limits", "memory"),
)
_DOCKER_MEMORY = frozenset({"-m", "--memory", "--memory-swap"})
_DOCKER_SWITCHES = frozenset(
    {"-d", "-i", "-t", "-it", "-ti", "-dit", "-itd", "-P"}
    | {f"--{name}" for name in ("detach", "init", "interactive", "privileged", "rm", "tty")}
)
"""Options of `docker run` without a value."""


def size_of(text: str) -> int | None:
    """Bytes of `64m`, `16Gi`, `8gb`, 1073741824.

    >>> size_of("64m"), size_of("1.5Gi"), size_of("much")
    (67108864, 1610612736, None)
    """
    match = _SIZE.fullmatch(text.strip("\"' "))
    return None if match is None else int(float(match[1]) * _UNITS[match[2].lower()])


def _service(text: str, wanted: str) -> tuple[str, dict[str, yaml_editor.Plain]] | None:
    """The service of a compose file with the GPUs, or the only one; None without services."""
    tree = yaml_editor.plain(yaml_editor.parse(text))
    services = tree.get("services") if isinstance(tree, dict) else None
    if not isinstance(services, dict):
        return None
    with_gpus = [name for name, body in services.items() if _has_gpus(body)]
    names = with_gpus or list(services)
    if len(names) != 1:
        raise Refusal(f"it is unknown which of {', '.join(names)} trains: set {wanted} there")
    body = services[names[0]]
    return names[0], body if isinstance(body, dict) else {}


def share_memory_in_yaml(text: str, _: Fix) -> str | None:
    """More shared memory for a compose service, or for the pods of a manifest."""
    if not _is_compose(text):
        return pod_editor.share_memory(text, "16Gi", _SHM_BYTES, size_of)
    service = _service(text, "shm_size")
    if service is None:
        return None
    name, body = service
    if _text(body.get("ipc")) == "host":
        raise Refusal("`ipc: host` already shares the host's memory: enlarge that")
    _refuse_large(_text(body.get("shm_size")))
    return yaml_editor.set_key(text, ["services", name, "shm_size"], "16gb")


def _is_compose(text: str) -> bool:
    return _SERVICES.search(text) is not None


def more_memory_in_yaml(text: str, _: Fix) -> str | None:
    """Twice the limit of a compose service, or of the training containers of a manifest."""
    if not _is_compose(text):
        return pod_editor.more_memory(text, size_of)
    service = _service(text, "mem_limit")
    if service is None:
        return None
    name, body = service
    after = text
    for path in _COMPOSE_MEMORY:
        node: yaml_editor.Plain | None = body
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        if (size := _text(node)) is not None and size != "-1":
            after = yaml_editor.set_key(after, ["services", name, *path], _twice(size))
    return None if after == text else after


def _twice(size: str) -> str:
    """Twice a size, in its own unit."""
    if size_of(size) is None:
        raise Refusal(f"{size} is not a plain size")
    number = size.rstrip("kmgtKMGTPibB")
    return f"{float(number) * 2:g}{size[len(number) :]}" if size != number else str(2 * int(size))


def more_memory_of_docker(text: str, _: Fix) -> str | None:
    """Twice the limit of the one command that runs a container."""
    runs = list(_docker_runs(text))
    if len(runs) > 1:
        raise Refusal(f"{len(runs)} commands run containers: it is unknown which one trains")
    found = [
        (start, end, _twice(value))
        for command, at in runs
        for name, value, start, end in _docker_options(command, at)
        if name in _DOCKER_MEMORY and value != "-1"
    ]
    for start, end, new in reversed(found):
        text = text[:start] + new + text[end:]
    return text if found else None


def _docker_options(command: Command, at: int) -> Iterator[tuple[str, str, int, int]]:
    """Options of `docker run` with their values and the places of these, up to the image."""
    words = iter([word for word in command.words if word.start >= at])
    for word in words:
        if not word.text.startswith("-"):
            return
        name, sign, value = word.text.partition("=")
        if sign:
            yield name, value, word.start + len(name) + 1, word.end
        elif name not in _DOCKER_SWITCHES:
            after = next(words, None)
            if after is not None:
                yield name, after.text, after.start, after.end


def _has_gpus(service: yaml_editor.Plain) -> bool:
    if not isinstance(service, dict):
        return False
    return (
        "gpus" in service
        or _text(service.get("runtime")) == "nvidia"
        or "gpu" in str(service.get("deploy", ""))
    )


def _text(node: yaml_editor.Plain | None) -> str | None:
    return node[1] if isinstance(node, tuple) else None


def _refuse_large(size: str | None) -> None:
    present = None if size is None else size_of(size)
    if size is not None and (present is None or present >= _SHM_BYTES):
        raise Refusal(f"its shared memory is already {size}: use fewer loader processes")


def share_memory_of_docker(text: str, _: Fix) -> str | None:
    """More shared memory for the one command that runs a container."""
    runs = list(_docker_runs(text))
    if not runs:
        return None
    if len(runs) > 1:
        raise Refusal(f"{len(runs)} commands run containers: it is unknown which one trains")
    command, at = runs[0]
    words = [word.bare for word in command.words]
    if "--ipc=host" in words or ("--ipc" in words and words[words.index("--ipc") + 1] == "host"):
        raise Refusal("`--ipc=host` already shares the host's memory: enlarge that")
    for index, word in enumerate(command.words):
        name, sign, value = word.bare.partition("=")
        if name != "--shm-size":
            continue
        said = word if sign else command.words[index + 1]
        _refuse_large(value or said.bare)
        start = said.start + (len(name) + 1 if sign else 0)
        return f"{text[:start]}{SHM}{text[said.end :]}"
    return f"{text[:at]} --shm-size={SHM}{text[at:]}"


def _docker_runs(text: str) -> Iterator[tuple[Command, int]]:
    """Commands that run a container, with the place behind `run`."""
    for command in read_commands(text):
        words = [word.bare for word in command.words]
        for first, second, word in zip(words, words[1:], command.words[1:], strict=False):
            if first.rpartition("/")[2] in _CONTAINERS and second == "run":
                yield command, word.end
                break
