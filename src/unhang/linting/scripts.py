"""What a script says to nobody: an option that sbatch skips, a variable that stays in its shell.

The text decides, not the settings in it: whether a variable is exported, and before which command
it stands, is lost once a reader has taken it out.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.linting.conditions import finding
from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.model.lint import LintFinding, SettingPlace, Severity

_SHELL = re.compile(r"\.(?:ba|z)?sh$|\.slurm$|\.sbatch$|\.pbs$")
_GLUED = re.compile(r"^#SBATCH(--?[A-Za-z][\w-]*)", re.MULTILINE)
_KEPT = re.compile(
    r"^[ \t]*(CUDA_VISIBLE_DEVICES|(?:TORCH_)?NCCL_\w+|GLOO_\w+|PYTORCH_(?:CUDA_)?ALLOC_CONF"
    r"|OMP_NUM_THREADS)=(\S+)[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_LAUNCHED = re.compile(
    r"^(?P<before>(?:[^\n#\\]|\\\r?\n|\\.)*?)"
    r"\b(?:torchrun|torch\.distributed\.(?:run|launch))\b(?P<after>(?:[^\n\\]|\\\r?\n|\\.)*)",
    re.MULTILINE,
)
_OWN_STORE = re.compile(
    r"(--rdzv[-_]endpoint|--standalone)\b|(--rdzv[-_]backend)[= ][\"']?(?:c10d|etcd)"
)
_STATIC = re.compile(r"(?<!\S)(--master[-_](?:addr|port))(?=[= ])")
_OF_TORCHRUN = re.compile(r"(?<!\S)(?:export\s+)?((?:LOCAL_)?RANK|WORLD_SIZE)=(\d+)(?=\s)")


def scripts(document: SettingsDocument) -> Iterator[LintFinding]:
    """Judge the text of a shell script; nothing for any other file."""
    text = document.script
    if not text or not (_SHELL.search(document.name) or text.startswith("#!")):
        return
    for found in _GLUED.finditer(text):
        yield _at(document, found.start(), found[1], None, "directive_glued", option=found[1])
    yield from _not_exported(document, text)
    for launch in _LAUNCHED.finditer(text):
        own = _OWN_STORE.search(launch["after"])
        static = _STATIC.search(launch["after"])
        if own is not None and static is not None:
            at = launch.start("after") + static.start()
            other = own[1] or own[2]
            yield _at(document, at, static[1], None, "store_ignored", other=other)
        for given in _OF_TORCHRUN.finditer(launch["before"]):
            at = launch.start("before") + given.start(1)
            yield _at(document, at, given[1], given[2], "torchrun_sets")


def _not_exported(document: SettingsDocument, text: str) -> Iterator[LintFinding]:
    """A variable that a library reads, assigned in the script's own shell and left there."""
    if re.search(r"^\s*set\s+(?:-\w*a|-o\s+allexport)|\bdeclare\s+-\w*x", text, re.MULTILINE):
        return
    for found in _KEPT.finditer(text):
        name = found[1]
        before = text[: found.start()].rstrip(" \t")
        used = re.search(rf"\bexport\b[^\n]*\b{name}\b|\$\{{?{name}\b|\benv\b[^\n]*{name}", text)
        if used is None and not before.endswith("\\\n") and before.count('"') % 2 == 0:
            yield _at(document, found.start(1), name, found[2], "not_exported")


def _at(
    document: SettingsDocument, at: int, name: str, value: str | None, topic: str, **told: str
) -> LintFinding:
    line = document.script.count("\n", 0, at) + 1
    kind = SettingKind.OPTION if name.startswith("-") else SettingKind.VARIABLE
    place = SettingPlace(artifact=document.name, line=line)
    written = Written(name=name, value=value, place=place, kind=kind)
    return finding(written, topic, Severity.WARNING, code="CFG119", replacement=None, **told)
