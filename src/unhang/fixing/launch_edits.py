"""Cures that are the same for every framework, in the file that starts the job.

Shared memory, host memory and time belong to the container or the batch job; interfaces, ports and
excluded hosts to its launch. What stands there is changed; what such a file does not say, and no
row can know (the name of an interface, the size of a host), is left to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from unhang import lazy_re as re
from unhang.fixing import (
    batch_scripts,
    container_memory,
    device_maps,
    ports,
    process_counts,
    rewording,
)
from unhang.fixing.config_file import Language
from unhang.fixing.editors import pods as pods_editor
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import read_commands
from unhang.linting.launches import unlisted
from unhang.model.diagnosis import Fix

Edit = Callable[[str, Fix], "str | None"]
"""The new text of one file; None where it says nothing of the kind."""

_INTERFACES = re.compile(
    r"^(?P<head>\s*(?:export\s+|-\s+)?(?:NCCL|GLOO)_SOCKET_IFNAME\s*[=:]\s*[\"']?)"
    r"(?P<value>[\^=]?[\w.,:-]+)(?P<tail>[\"']?\s*(?:#.*)?)$",
    re.MULTILINE,
)
_LOCAL = re.compile(r"(?:docker|lo|veth|virbr|br-|cni|flannel|cali|tunl)\w*")
_VIRTUAL = frozenset({"vmnet", "vboxnet", "tap", "tun", "cali", "tailscale", "podman", "lxc"})
_IFNAME = "NCCL_SOCKET_IFNAME"
_BRIDGES = "^docker0,lo"
_SAID = re.compile(rf"^(?![ \t]*#).*\b{_IFNAME}", re.MULTILINE)
_ASTRAY = re.compile(r"^# NCCL meets at (?:docker0|lo),", re.MULTILINE)
_LIST = re.compile(r"""^[ \t]*\w+=["']((?:[ \t]*NCCL_\w+=[^\s"']+)+)(?=[ \t]*["'])""", re.MULTILINE)
_MISSING = re.compile(r"^# No interface is called (\S+)\.$", re.MULTILINE)
_NODE_ADDRESS = re.compile(
    r"^(?P<indent>[ \t]*)(?:export[ \t]+)?(?P<name>VLLM_HOST_IP|(?:HOST|NODE|LOCAL)_IP)=[^\r\n]*",
    re.MULTILINE,
)
_MACHINE = "machine_rank"
_SAME_ON_MACHINES = ("main_process_ip", "main_process_port", "num_machines", "num_processes")
"""What `accelerate launch` reads from the file of each machine, and must be one for all."""


def edit_launch(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in the file that starts it; None where no file says how.

    Raises:
        Refusal: it already says so, or it is unknown which part is meant.
    """
    if fix.remedy == "one_endpoint" and (agreed := _one_address(job)) is not None:
        return agreed
    if fix.remedy == "one_endpoint" and (listed := _listed_address(job)) is not None:
        return listed
    if fix.remedy == "fewer_processes":
        return process_counts.fewer(job)
    edits = _EDITS.get(fix.remedy, {})
    changed = job
    reasons: list[str] = []
    for held in job.documents:
        edit = edits.get(held.file.language)
        everywhere = fix.remedy in _EVERYWHERE
        if edit is None or held.owner is None or (everywhere and held.within is not None):
            continue
        try:
            text = edit(held.file.text, fix)
        except Refusal as refusal:
            reasons.append(f"{held.file.path}: {refusal}")
            continue
        if text is not None and text != held.file.text:
            changed = changed.with_text(held, text)
            if not everywhere:
                return changed
    if changed is not job:
        return changed
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


def _listed_address(job: Job) -> Job | None:
    """Give DeepSpeed's launcher the first host of the list, where its address is none of them."""
    lists = {target.file_name: target.text for target in job.targets}
    for held in job.documents:
        if held.owner is None or held.file.language is not Language.SHELL:
            continue
        told = held.settings
        host = unlisted(told, lists.get(Path(told.get("hostfile", "")).name, ""))
        if host is not None:
            text = shell_editor.set_flag(held.file.text, "master_addr", host, "")
            return job.with_text(held, text)
    return None


def _interface(text: str, fix: Fix) -> str | None:
    """Interfaces that reach no other host, or do not exist, out of a list that names them.

    Gloo, which found none by itself, is told the one that has the address that a script gives to
    its node.
    """
    told = _MISSING.search(fix.patch)
    missing = None if told is None else told[1]

    def better(match: re.Match[str]) -> str:
        return match["head"] + _reaching(match["value"], missing) + match["tail"]

    if _ASTRAY.search(fix.patch) is not None and _SAID.search(text) is None:
        return _without_bridges(text)
    text = _INTERFACES.sub(better, text)
    own = _NODE_ADDRESS.search(text)
    if "# Gloo could not resolve" in fix.patch and own and "GLOO_SOCKET_IFNAME" not in text:
        by_address = f"""awk -v a="${own["name"]}/" 'index($4, a) == 1 {{print $2}}'"""
        line = f"export GLOO_SOCKET_IFNAME=$(ip -o -4 address | {by_address})"
        newline = "\r\n" if "\r\n" in text else "\n"
        text = f"{text[: own.end()]}{newline}{own['indent']}{line}{text[own.end() :]}"
    return text


def _without_bridges(text: str) -> str:
    """A script that tells NCCL of no interface, with those left out that lead nowhere.

    It stands beside the other variables of NCCL: a text of them may be a list for a command.
    """
    listed = _LIST.search(text)
    if listed is not None:
        return f"{text[: listed.end(1)]} {_IFNAME}={_BRIDGES}{text[listed.end(1) :]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    return shell_editor.set_variable(text, _IFNAME, _BRIDGES, newline=newline)


def _interface_of_pods(text: str, fix: Fix) -> str | None:
    """The same in a manifest; other YAML exports nothing."""
    if _ASTRAY.search(fix.patch) is None or _SAID.search(text) is not None:
        return _interface(text, fix)
    if re.search(r"^\s*(?:- )?(?:containers|services|envs|env_vars):", text, re.MULTILINE) is None:
        return None
    return pods_editor.set_variable(text, _IFNAME, _BRIDGES)


def _reaching(value: str, missing: str | None = None) -> str:
    """Without what reaches no other host; where nothing is left, all but those.

    >>> _reaching("docker0,bond0"), _reaching("^docker0"), _reaching("lo"), _reaching("=eth0")
    ('bond0', '^docker0,lo', '^docker0,lo', '=eth0')
    """
    sign = value[:1] if value[:1] in ("^", "=") else ""
    names = value.removeprefix(sign).split(",")
    if value == missing and sign == "^":
        # NCCL found none: what is left out reaches the others after all.
        kept = [name for name in names if _LOCAL.fullmatch(name) or name in _VIRTUAL]
        return f"^{','.join(kept)}" if kept else _BRIDGES
    if sign == "^":
        return value if "lo" in names else f"{value},lo"
    if value == missing:
        return _BRIDGES
    kept = [name for name in names if _LOCAL.fullmatch(name.partition(":")[0]) is None]
    return sign + ",".join(kept) if kept else _BRIDGES


def _endpoint(text: str, fix: Fix) -> str | None:
    """The port that torchrun is told beside an endpoint, or an address that all nodes reach."""
    return ports.of_endpoint(text) or batch_scripts.first_host(text, fix)


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


_EVERYWHERE = frozenset({"interface"})
"""What every script of a job must say: each node runs its own."""

_EDITS: Mapping[str, Mapping[Language, Edit]] = {
    "more_shm": {
        Language.YAML: container_memory.share_memory_in_yaml,
        Language.SHELL: container_memory.share_memory_of_docker,
    },
    "interface": {
        Language.SHELL: _interface,
        Language.VARIABLES: _interface,
        Language.YAML: _interface_of_pods,
        Language.DOCKERFILE: _interface,
    },
    "longer_limit": {Language.SHELL: batch_scripts.time},
    "requeue": {Language.SHELL: batch_scripts.requeue},
    "unused_parameters": {
        Language.SHELL: rewording.reworded,
        Language.YAML: rewording.reworded,
    },
    "more_host_memory": {
        Language.SHELL: lambda text, fix: (
            batch_scripts.host_memory(text, fix)
            or container_memory.more_memory_of_docker(text, fix)
        ),
        Language.YAML: container_memory.more_memory_in_yaml,
    },
    "set_device": {
        Language.SHELL: device_maps.in_shell,
        Language.YAML: device_maps.in_yaml,
        Language.CODE: device_maps.in_python,
    },
    "exclude_node": {Language.SHELL: batch_scripts.exclude},
    "one_endpoint": {Language.SHELL: _endpoint},
    "free_port": {
        Language.SHELL: ports.in_shell,
        Language.YAML: ports.in_yaml,
        Language.CODE: ports.in_code,
    },
    "longer_rendezvous": {Language.SHELL: _rendezvous},
    "stop_together": {Language.SHELL: _together},
}
"""How the file that starts a job takes a cure, by its language."""
