"""Cures that are the same for every framework, in the file that starts the job.

Shared memory, host memory and time belong to the container or the batch job; interfaces, ports and
excluded hosts to its launch. What stands there is changed; what such a file does not say, and no
row can know (the name of an interface, the size of a host), is left to the user.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from unhang.fixing import container_memory, device_maps
from unhang.fixing.config_file import Language
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import read_commands
from unhang.linting.slurm import early_expansions
from unhang.model.diagnosis import Fix

Edit = Callable[[str, Fix], "str | None"]
"""The new text of one file; None where it says nothing of the kind."""

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
_HOSTS = re.compile(r"--exclude=(\S+)")


def edit_launch(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in the file that starts it; None where no file says how.

    Raises:
        Refusal: it already says so, or it is unknown which part is meant.
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
        raise Refusal(f"`--time={match['value']}` is not a plain time")
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
        raise Refusal("`--mem=0` already asks for all memory of the node")
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
        raise Refusal(f"`--exclude` already names {hosts[1]}")
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
        raise Refusal("srun already ends the job when its first rank ends")
    at = found[0].words[0].end
    return f"{text[:at]} --kill-on-bad-exit=1{text[at:]}"


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start("value")] + new + text[match.end("value") :]


_EDITS: Mapping[str, Mapping[Language, Edit]] = {
    "more_shm": {
        Language.YAML: container_memory.share_memory_in_yaml,
        Language.SHELL: container_memory.share_memory_of_docker,
    },
    "interface": {
        Language.SHELL: _interface,
        Language.VARIABLES: _interface,
        Language.YAML: _interface,
        Language.DOCKERFILE: _interface,
    },
    "longer_limit": {Language.SHELL: _time},
    "more_host_memory": {
        Language.SHELL: lambda text, fix: (
            _host_memory(text, fix) or container_memory.more_memory_of_docker(text, fix)
        ),
        Language.YAML: container_memory.more_memory_in_yaml,
    },
    "set_device": {
        Language.SHELL: device_maps.in_shell,
        Language.YAML: device_maps.in_yaml,
        Language.CODE: device_maps.in_python,
    },
    "exclude_node": {Language.SHELL: _exclude},
    "one_endpoint": {Language.SHELL: _each_task},
    "free_port": {Language.SHELL: _free_port},
    "longer_rendezvous": {Language.SHELL: _rendezvous},
    "stop_together": {Language.SHELL: _together},
}
"""How the file that starts a job takes a cure, by its language."""
