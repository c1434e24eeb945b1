"""Cures that a Slurm batch script holds: time, memory, nodes, the address and port of the job."""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.linting.slurm import early_expansions
from unhang.model.diagnosis import Fix

_TIME = re.compile(
    r"^(?P<head>#SBATCH\s+(?:.*\s)?(?:--time[= ]|-t\s*))(?P<value>[\d:-]+)", re.MULTILINE
)
_MEMORY = re.compile(r"^(?P<head>#SBATCH\s+(?:.*\s)?--mem[= ])(?P<value>\w+)", re.MULTILINE)
_MEMORY_EACH = re.compile(
    r"^(?P<head>#SBATCH\s+(?:.*\s)?--mem-per-(?:cpu|gpu)[= ])(?P<value>\d+)", re.MULTILINE
)
_EXCLUDE = re.compile(
    r"^(?P<head>#SBATCH\s+(?:.*\s)?(?:--exclude[= ]|-x\s*))(?P<value>\S+)", re.MULTILINE
)
_OWN_ADDRESS = re.compile(
    r"""^(?P<head>\s*(?:export\s+)?\w*(?:ADDR|IP|HOST)\w*=["']?)
        (?P<value>\$\(hostname\s+-[iI](?:\s*\|[^)\n]*)?\)|`hostname\s+-[iI](?:\s*\|[^`\n]*)?`)""",
    re.MULTILINE | re.VERBOSE,
)
_FIRST_HOST = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
_HOSTS = re.compile(r"--exclude=(\S+)")


def time(text: str, _: Fix) -> str | None:
    """Twice the time."""
    match = _TIME.search(text)
    if match is None and "#SBATCH" in text:
        raise Refusal(
            "it asks for no `--time`: the partition's own limit, or that of sbatch, ran out"
        )
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


def host_memory(text: str, _: Fix) -> str | None:
    """All memory of the node; of a limit for each CPU or GPU, twice as much."""
    match = _MEMORY.search(text)
    if match is None and "#SBATCH" not in text:
        return None
    if (each := _MEMORY_EACH.search(text)) is not None:
        return _put(text, each, str(int(each["value"]) * 2))
    if match is None:
        # Without the line, a site's default counts: often a share of the node for each CPU.
        return _with_directive(text, "--mem=0")
    if match["value"] == "0":
        raise Refusal("`--mem=0` already asks for all memory of the node")
    return _put(text, match, "0")


def exclude(text: str, fix: Fix) -> str | None:
    """Run without the nodes that the evidence names."""
    hosts = _HOSTS.search(fix.patch)
    if hosts is None or "#SBATCH" not in text:
        return None
    match = _EXCLUDE.search(text)
    if match is None:
        return _with_directive(text, f"--exclude={hosts[1]}")
    present = match["value"].strip("\"'").split(",")
    new = [host for host in hosts[1].split(",") if host not in present]
    if not new:
        raise Refusal(f"`--exclude` already names {hosts[1]}")
    return _put(text, match, ",".join([*present, *new]))


def each_task(text: str, _: Fix) -> str | None:
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


def first_host(text: str, fix: Fix) -> str | None:
    """Name the first node in place of an address that only means something on it."""
    if "#SBATCH" in text and (match := _OWN_ADDRESS.search(text)) is not None:
        host = _FIRST_HOST.replace('"', "") if '"' in match["head"] else _FIRST_HOST
        return _put(text, match, host)
    return each_task(text, fix)


def requeue(text: str, _: Fix) -> str | None:
    """Back into the queue, with one log."""
    if "#SBATCH" not in text:
        return None
    if re.search(r"^#SBATCH\s+(?:.*\s)?--(?:no-)?requeue\b", text, re.MULTILINE):
        raise Refusal("it already says whether Slurm puts it back into the queue")
    if not re.search(r"^#SBATCH\s+(?:.*\s)?--open-mode\b", text, re.MULTILINE):
        text = _with_directive(text, "--open-mode=append")
    return _with_directive(text, "--requeue")


def _with_directive(text: str, option: str) -> str:
    """One option more, below the first."""
    first = re.search(r"^#SBATCH\b.*$", text, re.MULTILINE)
    assert first is not None, "it is a batch script"
    newline = "\r\n" if "\r\n" in text else "\n"
    at = first.end() - first.group().endswith("\r")
    return f"{text[:at]}{newline}#SBATCH {option}{text[at:]}"


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start("value")] + new + text[match.end("value") :]
