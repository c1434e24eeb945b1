"""Cures that are the same for every framework, in the file that starts the job.

Shared memory, host memory and time belong to the container or the batch job; interfaces, ports and
excluded hosts to its launch. What stands there is changed; what such a file does not say, and no
row can know (the name of an interface, the size of a host), is left to the user.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from unhang.fixing.config_file import Language
from unhang.fixing.editors import pods as pod_editor
from unhang.fixing.editors import python as python_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job, plain
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import Command, read_commands
from unhang.linting.slurm import early_expansions
from unhang.model.diagnosis import Fix

Edit = Callable[[str, Fix], "str | None"]
"""The new text of one file; None where it says nothing of the kind."""

SHM = "16g"
_SHM_BYTES = 16 * 1024**3
_CONTAINERS = frozenset({"docker", "podman", "nvidia-docker"})
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtb]?)i?b?", re.IGNORECASE)
_INTERFACES = re.compile(
    r"^(?P<head>\s*(?:export\s+|-\s+)?(?:NCCL|GLOO)_SOCKET_IFNAME\s*[=:]\s*[\"']?)"
    r"(?P<value>[\^=]?[\w.,:-]+)(?P<tail>[\"']?\s*(?:#.*)?)$",
    re.MULTILINE,
)
_LOCAL = re.compile(r"(?:docker|lo|veth|virbr|br-|cni|flannel|cali|tunl)\w*")
_TIME = re.compile(
    r"^(?P<head>#SBATCH\s+(?:.*\s)?(?:--time[= ]|-t\s*))(?P<value>[\d:-]+)", re.MULTILINE
)
_MEMORY = re.compile(r"^(?P<head>#SBATCH\s+(?:.*\s)?--mem[= ])(?P<value>\w+)", re.MULTILINE)
_EXCLUDE = re.compile(
    r"^(?P<head>#SBATCH\s+(?:.*\s)?(?:--exclude[= ]|-x\s*))(?P<value>\S+)", re.MULTILINE
)
_PORT = re.compile(r"^(?P<head>\s*export\s+MASTER_PORT=)(?P<value>[\"']?\d+[\"']?)", re.MULTILINE)
_MACHINE = "machine_rank"
_SAME_ON_MACHINES = ("main_process_ip", "main_process_port", "num_machines", "num_processes")
"""What `accelerate launch` reads from the file of each machine, and must be one for all."""
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
_DEVICE_MAP = "device_map"
_SPREAD = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
"""Values that spread one copy of the model over all GPUs, in every process."""
_DEVICE_KEY = re.compile(
    rf"^{_DEVICE_MAP}:[ \t]*[\"']?(?:{'|'.join(sorted(_SPREAD))})[\"']?[ \t]*(?:#.*)?(?:\r?\n|\Z)",
    re.MULTILINE,
)
_OWN_GPU = '{"": int(os.environ.get("LOCAL_RANK", "0"))}'
_HOSTS = re.compile(r"--exclude=(\S+)")


def edit_launch(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in the file that starts it; None where no file says how.

    Raises:
        Refusal: it says so already, or it is unknown which part is meant.
    """
    if fix.remedy == "one_endpoint" and (agreed := _one_address(job)) is not None:
        return agreed
    edits = _EDITS.get(fix.remedy, {})
    reasons: list[str] = []
    for held in job.documents:
        edit = edits.get(held.file.language)
        if edit is None or held.owner is None:
            continue
        try:
            text = edit(held.file.text, fix)
        except Refusal as refusal:
            reasons.append(f"{held.file.path}: {refusal}")
            continue
        if text is not None and text != held.file.text:
            return job.with_text(held, text)
    if reasons:
        raise Refusal("; ".join(reasons))
    return None


def size_of(text: str) -> int | None:
    """Bytes of `64m`, `16Gi`, `8gb`, 1073741824.

    >>> size_of("64m"), size_of("1.5Gi"), size_of("much")
    (67108864, 1610612736, None)
    """
    match = _SIZE.fullmatch(text.strip("\"' "))
    return None if match is None else int(float(match[1]) * _UNITS[match[2].lower()])


def _one_address(job: Job) -> Job | None:
    """Give the files of all machines of one launch what the file of machine 0 says.

    Raises:
        Refusal: several say that they are machine 0.
    """
    nodes = [
        held
        for held in job.documents
        if held.owner is not None
        and held.file.language is Language.YAML
        and _MACHINE in held.settings
    ]
    first = [held for held in nodes if held.settings[_MACHINE] == "0"]
    if len(nodes) < 2 or not first:
        return None
    if len(first) > 1:
        names = ", ".join(held.file.path for held in first)
        raise Refusal(f"{names} all say `{_MACHINE}: 0`: number the machines first")
    changed = job
    for held in nodes:
        text = held.file.text
        for key in _SAME_ON_MACHINES:
            value, present = first[0].settings.get(key), held.settings.get(key)
            if value is not None and present is not None and present != value:
                text = yaml_editor.set_key(text, [key], int(value) if value.isdigit() else value)
        if text != held.file.text:
            changed = changed.with_text(held, text)
    return None if changed is job else changed


def _service(text: str, wanted: str) -> tuple[str, dict[str, yaml_editor.Plain]] | None:
    """The service of a compose file with the GPUs, or the only one; None without services."""
    tree = yaml_editor.plain(yaml_editor.parse(text))
    services = tree.get("services") if isinstance(tree, dict) else None
    if not isinstance(services, dict):
        return None
    with_gpus = [name for name, body in services.items() if _has_gpus(body)]
    names = with_gpus or list(services)
    if len(names) != 1:
        raise Refusal(f"which of {', '.join(names)} trains is unknown: set {wanted} there")
    body = services[names[0]]
    return names[0], body if isinstance(body, dict) else {}


def _yaml_shm(text: str, _: Fix) -> str | None:
    """More shared memory for a compose service, or for the pods of a manifest."""
    if not _is_compose(text):
        return pod_editor.share_memory(text, "16Gi", _SHM_BYTES, size_of)
    service = _service(text, "shm_size")
    if service is None:
        return None
    name, body = service
    if _text(body.get("ipc")) == "host":
        raise Refusal("`ipc: host` shares the memory of the host already: enlarge that")
    _refuse_large(_text(body.get("shm_size")))
    return yaml_editor.set_key(text, ["services", name, "shm_size"], "16gb")


def _is_compose(text: str) -> bool:
    return _SERVICES.search(text) is not None


def _yaml_memory(text: str, _: Fix) -> str | None:
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
        raise Refusal(f"{size} is no plain size")
    number = size.rstrip("kmgtKMGTPibB")
    return f"{float(number) * 2:g}{size[len(number) :]}" if size != number else str(2 * int(size))


def _docker_memory(text: str, _: Fix) -> str | None:
    """Twice the limit of the one command that runs a container."""
    runs = list(_docker_runs(text))
    if len(runs) > 1:
        raise Refusal(f"{len(runs)} commands run containers: which trains is unknown")
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


def _own_device(text: str, _: Fix) -> str | None:
    """Leave the place of each rank's model to the rank."""
    for command in reversed(read_commands(text)):
        words = command.words
        for index in reversed(range(len(words))):
            name, sign, value = words[index].text.partition("=")
            last = words[index] if sign or index + 1 == len(words) else words[index + 1]
            if plain(name) != _DEVICE_MAP or (value or last.bare) not in _SPREAD:
                continue
            start, end = words[index].start, last.end
            return text[: len(text[:start].rstrip(" \t\\\r\n"))] + text[end:]
    return None


def _own_device_key(text: str, _: Fix) -> str | None:
    return _DEVICE_KEY.sub("", text)


def _own_device_code(text: str, _: Fix) -> str | None:
    """`device_map` of the calls that load a model: the GPU of the rank."""
    calls = [
        call
        for call in ast.walk(python_editor.parse(text))
        if isinstance(call, ast.Call)
        and isinstance(value := python_editor.argument(call, _DEVICE_MAP), ast.Constant)
        and value.value in _SPREAD
    ]
    if not calls:
        return None
    for call in sorted(calls, key=lambda c: -c.lineno):
        text = python_editor.set_argument(text, call, [_DEVICE_MAP], _OWN_GPU)
    return python_editor.with_imports(text, ["import os"])


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
        raise Refusal(f"its shared memory is {size} already: fewer loader processes help")


def _docker_shm(text: str, _: Fix) -> str | None:
    runs = list(_docker_runs(text))
    if not runs:
        return None
    if len(runs) > 1:
        raise Refusal(f"{len(runs)} commands run containers: which trains is unknown")
    command, at = runs[0]
    words = [word.bare for word in command.words]
    if "--ipc=host" in words or ("--ipc" in words and words[words.index("--ipc") + 1] == "host"):
        raise Refusal("`--ipc=host` shares the memory of the host already: enlarge that")
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


def _interface(text: str, _: Fix) -> str | None:
    """Interfaces that reach no other host, out of a list that names them."""

    def better(match: re.Match[str]) -> str:
        return match["head"] + _reaching(match["value"]) + match["tail"]

    return _INTERFACES.sub(better, text)


def _reaching(value: str) -> str:
    """Without what reaches no other host; where nothing is left, all but those.

    >>> _reaching("docker0,bond0"), _reaching("^docker0"), _reaching("lo"), _reaching("=eth0")
    ('bond0', '^docker0,lo', '^docker0,lo', '=eth0')
    """
    sign = value[:1] if value[:1] in ("^", "=") else ""
    names = value.removeprefix(sign).split(",")
    if sign == "^":
        return value if "lo" in names else f"{value},lo"
    kept = [name for name in names if _LOCAL.fullmatch(name.partition(":")[0]) is None]
    return sign + ",".join(kept) if kept else "^docker0,lo"


def _time(text: str, _: Fix) -> str | None:
    """Twice the time."""
    match = _TIME.search(text)
    if match is None:
        return None
    minutes = _minutes(match["value"])
    if minutes is None:
        raise Refusal(f"`--time={match['value']}` is no plain time")
    days, rest = divmod(minutes * 2, 24 * 60)
    new = f"{days}-{rest // 60:02d}:{rest % 60:02d}:00"
    return _put(text, match, new)


def _minutes(text: str) -> int | None:
    """Slurm's minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]]."""
    days, sign, rest = text.rpartition("-")
    try:
        parts = [int(part) for part in rest.split(":")]
        if sign:
            hours, minutes, *_ = [*parts, 0, 0]
            return int(days) * 1_440 + hours * 60 + minutes
        if len(parts) == len(("hours", "minutes", "seconds")):
            return parts[0] * 60 + parts[1]
        return parts[0]
    except ValueError:
        return None


def _host_memory(text: str, _: Fix) -> str | None:
    """All memory of the node."""
    match = _MEMORY.search(text)
    if match is None:
        return None
    if match["value"] == "0":
        raise Refusal("`--mem=0` asks for all memory of the node already")
    return _put(text, match, "0")


def _exclude(text: str, fix: Fix) -> str | None:
    hosts = _HOSTS.search(fix.patch)
    if hosts is None or "#SBATCH" not in text:
        return None
    match = _EXCLUDE.search(text)
    if match is None:
        first = text.index("#SBATCH")
        end = text.find("\n", first)
        newline = "\r\n" if "\r\n" in text else "\n"
        at = len(text) if end < 0 else end - (newline == "\r\n")
        return f"{text[:at]}{newline}#SBATCH --exclude={hosts[1]}{text[at:]}"
    present = match["value"].strip("\"'").split(",")
    new = [host for host in hosts[1].split(",") if host not in present]
    if not new:
        raise Refusal(f"`--exclude` names {hosts[1]} already")
    return _put(text, match, ",".join([*present, *new]))


def _each_task(text: str, _: Fix) -> str | None:
    """Leave the variables of a task to the shell that the task runs."""
    early = list(early_expansions(text)) if "#SBATCH" in text else []
    bare = [e.name for e in early if not e.quoted]
    if bare:
        raise Refusal(
            f"the batch script expands ${bare[0]} for all nodes: start the command by"
            f" srun bash -c '… ${bare[0]} …', so that each node takes its own"
        )
    for found in reversed(early):
        text = f"{text[: found.start]}\\{text[found.start :]}"
    return text if early else None


def _free_port(text: str, _: Fix) -> str | None:
    """One of the job's own; only where Slurm gives every node the same number."""
    match = _PORT.search(text)
    if match is None or "#SBATCH" not in text:
        return None
    return _put(text, match, "$((20000 + SLURM_JOB_ID % 20000))")


def _rendezvous(text: str, _: Fix) -> str | None:
    """Before the script: what follows that is its own."""
    for command in read_commands(text):
        words = [word.bare for word in command.words]
        if "torchrun" not in words or not any("rdzv" in word for word in words):
            continue
        if any(re.match(r"--rdzv[-_]conf", word) for word in words):
            raise Refusal("it sets --rdzv-conf: put join_timeout=1800,read_timeout=300 there")
        at = command.words[words.index("torchrun")].end
        return f"{text[:at]} --rdzv-conf join_timeout=1800,read_timeout=300{text[at:]}"
    return None


def _together(text: str, _: Fix) -> str | None:
    """Slurm ends the whole step when one task fails."""
    found = [c for c in read_commands(text) if c.words[0].bare == "srun"]
    if len(found) != 1:
        return None
    if any("kill-on-bad-exit" in word.bare or word.bare == "-K" for word in found[0].words):
        raise Refusal("srun ends the job with its first rank already")
    at = found[0].words[0].end
    return f"{text[:at]} --kill-on-bad-exit=1{text[at:]}"


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start("value")] + new + text[match.end("value") :]


_EDITS: Mapping[str, Mapping[Language, Edit]] = {
    "more_shm": {Language.YAML: _yaml_shm, Language.SHELL: _docker_shm},
    "interface": {
        Language.SHELL: _interface,
        Language.VARIABLES: _interface,
        Language.YAML: _interface,
        Language.DOCKERFILE: _interface,
    },
    "longer_limit": {Language.SHELL: _time},
    "more_host_memory": {
        Language.SHELL: lambda text, fix: _host_memory(text, fix) or _docker_memory(text, fix),
        Language.YAML: _yaml_memory,
    },
    "set_device": {
        Language.SHELL: _own_device,
        Language.YAML: _own_device_key,
        Language.CODE: _own_device_code,
    },
    "exclude_node": {Language.SHELL: _exclude},
    "one_endpoint": {Language.SHELL: _each_task},
    "free_port": {Language.SHELL: _free_port},
    "longer_rendezvous": {Language.SHELL: _rendezvous},
    "stop_together": {Language.SHELL: _together},
}
"""How the file that starts a job takes a cure, by its language."""
