"""What the text of one file shows to be wrong, whatever its settings mean.

Commands that end earlier than their author meant, options that refuse each other, results that
nobody keeps: each is told by how the text is built.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.linting.conditions import finding
from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.model.lint import LintFinding, SettingPlace, Severity

_CUT = re.compile(
    r"^(?!\s*#)[^\n]*\\\n(?P<comment>[ \t]*#[^\n]*\n)+[ \t]*(?P<flag>--?[A-Za-z][\w-]*)",
    re.MULTILINE,
)
_BLANK = re.compile(
    r"^(?!\s*#)[^\n]*[^\s\\]\s*\\[ \t]+\n[ \t]*(?P<flag>--?[A-Za-z][\w-]*)", re.MULTILINE
)
_OLD = re.compile(r"^(?!\s*#)[^\n]*-m\s+(?P<at>torch\.distributed\.launch)\b", re.MULTILINE)
_COMMAND = re.compile(r"^(?!\s*#)(?:[^\n\\]|\\\r?\n|\\.)+", re.MULTILINE)
_CHOSEN = re.compile(r"\bdeepspeed\s(?=[^|;&]*--(?:include|exclude)\b)[^|;&]*?"
                     r"(?P<flag>--num_(?:gpus|nodes))\b")  # fmt: skip
_MEMORY = re.compile(r"^#SBATCH\s+(?:.*\s)?--mem(?:-per-\w+)?\b", re.MULTILINE)
_CPUS = re.compile(
    r"^#SBATCH\s+(?:.*\s)?(?:--cpus-per-(?:task|gpu)\b|-c\s*\d|--exclusive\b)", re.MULTILINE
)
_GPUS = re.compile(
    r"^#SBATCH\s+(?:.*\s)?(?P<flag>--gres[= ]gpu\b\S*?:?|--gpus(?:-per-node)?[= ]\S*?:?|-G\s*)"
    r"(?P<count>\d+)\s*(?:#.*)?$",
    re.MULTILINE,
)
_STRATEGIES = (("evaluation_strategy", "eval_strategy"), ("save_strategy",))
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ]?[\"']?,?\s*[\"']?(?P<count>\d{1,3})\b")
_OF_POD = re.compile(r"(?:nvidia|amd)\.com/gpu[\"']?\s*:\s*[\"']?(?P<count>\d{1,3})\b")
_KEPT = frozenset({"prepare_model", "prepare_data_loader", "DistributedDataParallel", "DDP"})
"""What returns the object to go on with, and leaves the one that it was given as it is."""

_ON = frozenset({"true", "yes", "1"})


def mistakes(document: SettingsDocument) -> Iterator[LintFinding]:
    """Judge one file."""
    if document.script:
        yield from _commands(document)
        yield from _defaults(document)
    yield from _of_trainer(document)
    yield from _offload(document)
    if document.name.endswith(".py"):
        yield from _program(document)
    elif "containers:" in document.text:
        yield from _pods(document)


def _commands(document: SettingsDocument) -> Iterator[LintFinding]:
    text = document.script
    for pattern, topic in ((_CUT, "comment_cuts"), (_BLANK, "blank_cuts")):
        cuts = (m for m in pattern.finditer(text) if not _quoted(text, text.find("\n", m.start())))
        if (cut := next(cuts, None)) is not None:
            yield _at(document, cut.start("flag"), cut["flag"], topic, Severity.ERROR)
    for old in _OLD.finditer(text):
        name = old["at"]
        yield _at(document, old.start("at"), name, "old_launcher", Severity.INFO, code="CFG104")
    for command in _COMMAND.finditer(text):
        if (chosen := _CHOSEN.search(command.group())) is not None:
            at = command.start() + chosen.start("flag")
            yield _at(document, at, chosen["flag"], "chosen_twice", Severity.ERROR)


def _quoted(text: str, at: int) -> bool:
    """Whether a line is within an array, or in quotes that its command opened before it."""
    closed = [m.start() for m in re.finditer(r"^[^\n#]*\)[ \t]*$", text[:at], re.MULTILINE)]
    if text.rfind("=(", 0, at) > max(closed, default=-1):
        return True
    lines = text[:at].split("\n")
    while len(lines) > 1 and lines[-2].endswith("\\"):
        lines[-2:] = [lines[-2] + lines[-1]]
    return (lines[-1].count('"') + lines[-1].count("'")) % 2 == 1


def _defaults(document: SettingsDocument) -> Iterator[LintFinding]:
    """A batch script that asks for GPUs, and leaves to the site what else their ranks need."""
    text = document.script
    gpus = _GPUS.search(text)
    if gpus is None or int(gpus["count"]) < 2 or _MEMORY.search(text) is not None:
        return
    topic = "no_memory" if _CPUS.search(text) else "no_memory_no_cpus"
    yield _at(document, gpus.start("flag"), "--mem", topic, Severity.INFO)


def _of_trainer(document: SettingsDocument) -> Iterator[LintFinding]:
    """What `TrainingArguments` refuses, wherever its arguments are written."""
    said: dict[str, list[Written]] = {}
    for written in document.settings:
        if written.kind is SettingKind.OPTION:
            said.setdefault(written.name.lstrip("+-").replace("-", "_"), []).append(written)
    once = {name: several[0] for name, several in said.items() if len(several) == 1}
    best = once.get("load_best_model_at_end")
    evaluates, saves = (
        next((once[name] for name in names if name in once), None) for names in _STRATEGIES
    )
    if best is not None and (best.value or "").lower() in _ON:
        evaluated = "no" if evaluates is None else evaluates.value
        saved = "steps" if saves is None else saves.value
        plain = None not in (evaluated, saved) and "$" not in f"{evaluated}{saved}"
        # Some say it by a number of evaluations alone.
        said_otherwise = evaluates is None and any("eval" in name for name in once)
        if plain and saved not in (evaluated, "best") and not said_otherwise:
            yield finding(best, "best_of_nothing", Severity.ERROR, evaluated=evaluated, saved=saved)
    both = [once.get(name) for name in ("fp16", "bf16")]
    if "per_device_train_batch_size" in once and all(
        w is not None and (w.value or "").lower() in _ON for w in both
    ):
        assert both[1] is not None, "it was just looked at"
        yield finding(both[1], "two_precisions", Severity.ERROR)


def _offload(document: SettingsDocument) -> Iterator[LintFinding]:
    """Parameters are offloaded where they are sharded only."""
    device = document.dotted.get("zero_optimization.offload_param.device")
    stage = document.dotted.get("zero_optimization.stage")
    if device in ("cpu", "nvme") and stage in ("0", "1", "2"):
        place = SettingPlace(artifact=document.name)
        name = "zero_optimization.offload_param.device"
        written = Written(name=name, value=device, place=place, kind=SettingKind.OPTION)
        other = "zero_optimization.stage"
        yield finding(written, "key_ignored", Severity.WARNING, other=other, beside=stage)


def _program(document: SettingsDocument) -> Iterator[LintFinding]:
    try:
        tree = ast.parse(document.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Call(func=function)) if _called(function) in _KEPT:
                name = _called(function)
                yield _in_line(document, node.lineno, name, "result_dropped", Severity.WARNING)
            case ast.Call(func=function, keywords=keywords) if _called(function) == "DataLoader":
                given = {k.arg: k.value for k in keywords}
                sampler, shuffle = given.get("sampler"), given.get("shuffle")
                own = isinstance(sampler, ast.Call) and "Sampler" in _called(sampler.func)
                if own and isinstance(shuffle, ast.Constant) and shuffle.value is True:
                    line = shuffle.lineno
                    yield _in_line(document, line, "shuffle", "sampler_shuffles", Severity.ERROR)


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _pods(document: SettingsDocument) -> Iterator[LintFinding]:
    """More processes than GPUs that a manifest gives to each of its pods."""
    started = list(_PROCESSES.finditer(document.text))
    devices = {int(m["count"]) for m in _OF_POD.finditer(document.text)} - {0}
    if len(devices) != 1 or len({m["count"] for m in started}) != 1:
        return
    count, (fit,) = int(started[0]["count"]), devices
    if count > fit:
        at = document.text.count("\n", 0, started[0].start()) + 1
        name = "--nproc_per_node"
        yield _in_line(
            document, at, name, "processes_many", Severity.ERROR, count=count, devices=fit
        )


def _at(
    document: SettingsDocument, at: int, name: str, topic: str, severity: Severity, *,
    code: str = "CFG119", value: str | None = None, **told: object,
) -> LintFinding:  # fmt: skip
    line = document.script.count("\n", 0, at) + 1
    return _in_line(document, line, name, topic, severity, code=code, value=value, **told)


def _in_line(
    document: SettingsDocument, line: int, name: str, topic: str, severity: Severity, *,
    code: str = "CFG119", value: str | None = None, **told: object,
) -> LintFinding:  # fmt: skip
    place = SettingPlace(artifact=document.name, line=line)
    written = Written(name=name, value=value, place=place, kind=SettingKind.OPTION)
    return finding(written, topic, severity, code=code, replacement=None, **told)
