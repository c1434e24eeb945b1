"""Another port for a job whose own is taken, wherever its files say it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_programs import launchers, programs_of
from unhang.fixing.shell_words import Command, read_commands
from unhang.model.diagnosis import Fix

_TAKEN = re.compile(r"^# Port (\d+) was taken", re.MULTILINE)
_OWN = "$((20000 + SLURM_JOB_ID % 20000))"
_TORCHRUN = "torchrun"
_LAUNCH = "launch"
_APART = 11
"""The next ports are those of the same program, started once more."""

_DEFAULT = 29_500
_MOST = 65_535
_SHELL = (
    r"""^\s*(?:export\s+)?{name}=["']?(?P<value>{port})["']?(?=\s|;|$)""",
    r"""--(?:master|main_process)[-_]port[= ]["']?(?P<value>{port})(?=[\s"']|$)""",
    r"""--rdzv[-_]endpoint[= ]["']?[^\s:"']+:(?P<value>{port})(?=[\s"']|$)""",
)
_YAML = (r"^\s*main_process_port:\s*(?P<value>{port})\s*(?:#.*)?$",)
_CODE = (
    r"""MASTER_PORT["']\s*(?:\]\s*=|,)\s*["'](?P<value>{port})["']""",
    r"""tcp://(?:localhost|127\.0\.0\.1):(?P<value>{port})["']""",
)
_FLAG = {True: "--main_process_port", False: "--master_port"}
"""What a launcher calls the port, by whether it starts a job by a command of its own."""

_MASTER_PORT = re.compile(r"--master[-_]port=\"?([$\w{}]+)\"?")
_ENDPOINT = re.compile(r"--rdzv[-_]endpoint=\"?([$\w.{}-]+)\"?")
"""An endpoint without a port."""

_MEETS = re.compile(r"--(?:rdzv|master|standalone|node)[-_]?\w*")
_SEVERAL = re.compile(r"hostfile|num_machines|num_nodes")
_ONE = re.compile(r"--nnodes[= ]+[\"']?1(?!\S*\d)")


def of_endpoint(text: str) -> str | None:
    """The port that torchrun is told beside an endpoint, which it reads there only."""
    for command in read_commands(text):
        words = [word.bare for word in command.words]
        ports = [m[1] for m in map(_MASTER_PORT.fullmatch, words) if m is not None]
        ends = [
            word
            for word, bare in zip(command.words, words, strict=True)
            if _ENDPOINT.fullmatch(bare) is not None
        ]
        if _TORCHRUN in words and len(ports) == len(ends) == 1:
            at = ends[0].end - ends[0].text.endswith('"')
            return f"{text[:at]}:{ports[0]}{text[at:]}"
    return None


def in_shell(text: str, fix: Fix) -> str | None:
    """One of the job's own where Slurm gives every node the same number; else another."""
    if (told := of_endpoint(text)) is not None:
        return told
    found = _said(text, fix, _SHELL)
    if found is not None:
        new = _OWN if "#SBATCH" in text else _another(found["value"])
        quoted = text[found.start("value") - 1 : found.start("value")] == "'"
        if quoted and new == _OWN:
            raise Refusal(f"the port is in single quotes: put {_OWN} there without them")
        return f"{text[: found.start('value')]}{new}{text[found.end('value') :]}"
    return _added(text, fix)


def in_yaml(text: str, fix: Fix) -> str | None:
    """Another in the configuration of `accelerate launch`."""
    return _replaced(text, fix, _YAML)


def in_code(text: str, fix: Fix) -> str | None:
    """Another where a program of one host sets it itself."""
    return _replaced(text, fix, _CODE)


def _replaced(text: str, fix: Fix, forms: tuple[str, ...]) -> str | None:
    found = _said(text, fix, forms)
    if found is None:
        return None
    start, end = found.span("value")
    return f"{text[:start]}{_another(found['value'])}{text[end:]}"


def _said(text: str, fix: Fix, forms: tuple[str, ...]) -> re.Match[str] | None:
    """The one place that says the port, or any that is called so where none is known as taken."""
    taken = _TAKEN.search(fix.patch)
    name, port = ("MASTER_PORT", r"\d{2,5}") if taken is None else (r"\w+", taken[1])
    for form in forms:
        pattern = re.compile(form.format(name=name, port=port), re.MULTILINE)
        found = [m for m in pattern.finditer(text) if not _in_comment(text, m.start("value"))]
        if found:
            return found[0]
    return None


def _in_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _another(port: str) -> str:
    new = int(port) + _APART
    return str(new if new <= _MOST else new - 20_000)


def _added(text: str, fix: Fix) -> str | None:
    """A port for the one launcher that takes its default; torchrun finds a free one by itself."""
    taken = _TAKEN.search(fix.patch)
    if taken is not None and int(taken[1]) != _DEFAULT:
        return None
    found = list(_launches(text))
    if len(found) != 1:
        return None
    command, launcher = found[0]
    words = [word.bare for word in command.words]
    said = text[command.start : command.end]
    start = words.index(launcher)
    script = next((i for i, w in enumerate(words) if i > start and w.endswith(".py")), None)
    options = words[start:script]
    # A bare variable may hold options, those of several nodes above all.
    bare = any(w.startswith("$") and "nproc" not in o for o, w in pairwise(options))
    if _MEETS.search(said) or _SEVERAL.search(said) or bare or words[0] == "srun":
        return None
    if launcher != _TORCHRUN:
        by_command = words[start + 1 :][:1] == [_LAUNCH]
        at = command.words[start + by_command].end
        port = _OWN if "#SBATCH" in text else _another(str(_DEFAULT))
        return f"{text[:at]} {_FLAG[by_command]} {port}{text[at:]}"
    if "nnodes" in said and _ONE.search(said) is None:
        return None
    at = command.words[start].end
    return f"{text[:at]} --standalone{text[at:]}"


def _launches(text: str) -> Iterator[tuple[Command, str]]:
    for command in read_commands(text):
        words = [word.bare for word in command.words]
        launcher = next((n for n in (_TORCHRUN, *sorted(launchers())) if n in words), None)
        if launcher is None or not programs_of(text, command)[1]:
            continue
        if launcher == _TORCHRUN or _LAUNCH in words or words[0].endswith(launcher):
            yield command, launcher
