"""Slurm batch scripts in which each task gets what belongs to another, or too many are started.

`srun` starts one command on every node. What the batch script expands before that is the same on
all of them; and a launcher that starts a process for each GPU is started once a node, not once a
GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.model.lint import LintFinding, SettingPlace, Severity
from unhang.model.provenance import Message

_SRUN = re.compile(r"^[ \t]*(?:exec[ \t]+|time[ \t]+)?srun\b", re.MULTILINE)
_OF_TASK = re.compile(r"\$\{?(SLURM_(?:PROCID|NODEID|LOCALID))\b\}?")
_NODES = re.compile(r"^#SBATCH\s+(?:.*\s)?(?:--nodes[= ]|-N\s*)(\d{1,6})\b", re.MULTILINE)
_TASKS = re.compile(r"^#SBATCH\s+(?:.*\s)?--n?tasks-per-node[= ](\d{1,6})\b", re.MULTILINE)
_OWN_TASKS = re.compile(r"\s(?:--n?tasks(?:-per-node)?\b|-n\s*[\d$])")
_DYNAMIC = re.compile(r"--rdzv[-_]backend[= ]c10d")
"""The rendezvous numbers the nodes itself: nobody reads what they are told."""

_TORCHRUN = re.compile(r"\b(?:torchrun|torch\.distributed\.(?:run|launch))[\"']?\s+(.*)", re.DOTALL)
_ONE_NODE = re.compile(r"\s(?:--nodes[= ]|-N\s*|--n?tasks[= ]|-n\s*)1\b")
_TOLD = re.compile(r"--nnodes\b|--standalone\b|(?<!\S)[\"']?\$")
"""It is told how many nodes there are, or gets words that only the shell knows."""

_LAUNCHER = re.compile(
    r"\b(?:torchrun|torch\.distributed\.(?:run|launch))\b.*?"
    r"--nproc[-_]per[-_]node[= ][\"']?(\d{1,6}\b|gpu|auto|\$\{?\w+)",
    re.DOTALL,
)


_SCRIPT = re.compile(r"[\w./-]+\.sh\b")
_HEAD = re.compile(r"(?:[ \t]*(?:#.*)?\n)*")
"""What sbatch reads for its options: up to the first command."""
_DIRECTIVE = re.compile(
    r"^#SBATCH[ \t]+(--?[A-Za-z][\w-]*)(?:[= \t]*)(.*?)(?:[ \t]#.*)?$", re.MULTILINE
)
_VARIABLE = re.compile(r"\$(?:(\w+|\([^)]*\))|\{(\w+))")
_NAMES = frozenset({"--output", "-o", "--error", "-e", "--job-name", "-J"})
"""Options that take any text."""


@dataclass(frozen=True, slots=True)
class EarlyExpansion:
    """A variable of a task that the batch script expands.

    Attributes:
        start: where its `$` stands in the text.
        quoted: within double quotes, so that a backslash leaves it to the task's own shell.
    """

    name: str
    start: int
    quoted: bool


def early_expansions(text: str) -> Iterator[EarlyExpansion]:
    r"""Find variables of a task that are expanded before `srun` starts it.

    >>> [e.name for e in early_expansions('srun bash -c "run --node_rank $SLURM_NODEID"')]
    ['SLURM_NODEID']
    >>> [e.name for e in early_expansions("srun bash -c 'run --node_rank $SLURM_NODEID'")]
    []
    """
    for start, command in _commands(text):
        if _DYNAMIC.search(command):
            continue
        quote = ""
        skip = False
        for at, sign in enumerate(command):
            if skip:
                skip = False
            elif sign == "\\" and quote != "'":
                skip = True
            elif quote == "" and sign in "\"'":
                quote = sign
            elif sign == quote:
                quote = ""
            elif sign == "$" and quote != "'" and (found := _OF_TASK.match(command, at)):
                yield EarlyExpansion(found[1], start + at, quoted=quote == '"')


def slurm(name: str, text: str) -> Iterator[LintFinding]:
    """Judge a batch script; nothing for any other text."""
    if "#SBATCH" not in text:
        return
    yield from _verbatim(name, text)
    told, tasks = _NODES.search(text), _TASKS.search(text)
    nodes = 1 if told is None else int(told[1])
    each = 1 if tasks is None else int(tasks[1])
    for found in early_expansions(text):
        if nodes > 1 or (each > 1 and found.name != "SLURM_NODEID"):
            yield _finding(name, text, found.start, found.name, "expanded_early")
    for start, command in _commands(text):
        if nodes > 1 and "PET_NNODES" not in text and _alone(command):
            yield _finding(name, text, start, "--nnodes", "launchers_alone", nodes=nodes)
        launcher = _LAUNCHER.search(command)
        if each < 2 or launcher is None or _OWN_TASKS.search(command[: launcher.start()]):
            continue
        if launcher[1] != "1":
            yield _finding(name, text, start, "--ntasks-per-node", "launchers_multiply", tasks=each)


def multiplied(name: str, text: str, scripts: Mapping[str, str]) -> Iterator[LintFinding]:
    """Find tasks that each start a script with a launcher for every GPU of the node.

    Args:
        name: the batch script's.
        text: of the batch script.
        scripts: texts of the other files of the job, by file name.
    """
    tasks = _TASKS.search(text)
    if "#SBATCH" not in text or tasks is None or int(tasks[1]) < 2:
        return
    for start, command in _commands(text):
        if _OWN_TASKS.search(command):
            continue
        for word in _SCRIPT.findall(command):
            launcher = _LAUNCHER.search(scripts.get(word.rpartition("/")[2], ""))
            if launcher is not None and launcher[1] != "1":
                count = int(tasks[1])
                yield _finding(
                    name, text, start, "--ntasks-per-node", "launchers_multiply", tasks=count
                )


def _verbatim(name: str, text: str) -> Iterator[LintFinding]:
    """Variables in the lines that sbatch itself reads; no shell has seen these."""
    for line in _DIRECTIVE.finditer(text, 0, _HEAD.match(text).end()):  # type: ignore[union-attr]
        if (found := _VARIABLE.search(line[2])) is not None:
            variable = found[1] or found[2]
            at = line.start()
            severity = Severity.WARNING if line[1] in _NAMES else Severity.ERROR
            yield replace(
                _finding(name, text, at, line[1], "directive_verbatim", variable=variable),
                severity=severity,
            )


def _alone(command: str) -> bool:
    """Whether `srun` starts torchrun on several nodes without telling it so."""
    found = _TORCHRUN.search(command)
    if found is None or _ONE_NODE.search(command[: found.start()]):
        return False
    # A `$` right behind an option is its value.
    return _TOLD.search(re.sub(r"(--[\w-]+)[ =][\"']?\$\S+", r"\1", found[1])) is None


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Each command that begins with `srun`, with the place where it begins."""
    for match in _SRUN.finditer(text):
        quote = ""
        end = match.end()
        while end < len(text):
            sign = text[end]
            if sign == "\\" and quote != "'":
                end += 1
            elif quote == "" and sign in "\"'":
                quote = sign
            elif sign == quote:
                quote = ""
            elif quote == "" and sign in "\n;|&":
                break
            end += 1
        yield match.start(), text[match.start() : end]


def _finding(  # shown at the line of the place
    name: str, text: str, at: int, setting: str, topic: str, **values: object
) -> LintFinding:
    line = text.count("\n", 0, at) + 1 + text[at : at + 1].count("\n")
    return LintFinding(
        code="CFG119",
        severity=Severity.ERROR,
        setting=setting,
        value=None,
        where=SettingPlace(artifact=name, line=line),
        reason=Message(key=f"advice.{topic}", values={"name": setting, **values}),
    )
