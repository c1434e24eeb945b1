"""From the files of one job to settings that contradict each other between them.

Only files that name each other, or that one script names, belong to one job: two configurations
that lie in one folder are two jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from unhang import lazy_re as re
from unhang.linting.conditions import finding, world_product
from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.linting.launches import batch_script, device_counts, nodes_of_one_job, unlisted
from unhang.linting.slurm import multiplied
from unhang.model.lint import LintFinding, SettingPlace, Severity
from unhang.settings import frameworks
from unhang.settings.frameworks import Framework, find_knob
from unhang.settings.knobs import same

_SLOTS = re.compile(r"^[^#\s]\S*\s+slots=(\d{1,6})\b", re.MULTILINE)
_SCHEDULERS = {"WarmupLR": "constant_with_warmup", "WarmupDecayLR": "linear"}
"""DeepSpeed's schedulers, by what the Trainer calls them."""

_COMMENT = re.compile(r"\s*#")
_CONFIG = re.compile(r"(?<![\w./${}~-])[\w./-]{0,255}\w\.(?:json|ya?ml|toml)\b")
_MAKES = re.compile(r">|\b(?:cp|mv|ln|wget|curl|tee|cd|touch|git|tar|unzip|sed)\s")
"""Commands that make a file, or go where another one is."""

_FAMILIES = ("NCCL_", "TORCH_NCCL_", "GLOO_")


def between_files(documents: Sequence[SettingsDocument]) -> Iterator[LintFinding]:
    """Find what contradicts, in the order of the documents."""
    files = [d for d in documents if not d.running]
    yield from nodes_of_one_job(files)
    for document in files:
        named = [o for pair in _pairs(files) if document in pair for o in pair if o is not document]
        yield from batch_script(document, files)
        yield from _near_files(document, files)
        yield from _unlisted(document)
        yield from multiplied(document.name, document.script, _texts(files))
        if document.script:
            configs = [o for o in named if "accelerate-yaml" in o.programs]
            yield from device_counts(document, configs)
    for one, other in _pairs(files):
        for zero, trainer in ((one, other), (other, one)):
            started = {p for d in files if _names(d, trainer) for p in d.programs}
            yield from _must_agree(zero, trainer, started | trainer.programs)
        yield from _variables(one, other)
        for config, launch in ((one, other), (other, one)):
            divided = list(_whole_launch(config, launch))
            yield from divided or _flag_over_file(config, launch)
            if any(tag.endswith("-json") for tag in config.programs) and not launch.dotted:
                yield from world_product(config, _ranks(launch))


def _near_files(
    document: SettingsDocument, files: Sequence[SettingsDocument]
) -> Iterator[LintFinding]:
    """A configuration that a script names, where one of nearly the same name is there instead."""
    names = {_file(other).name for other in files}
    for number, line in enumerate(document.script.splitlines(), start=1):
        if _COMMENT.match(line) or _MAKES.search(line):
            continue
        for word in map(str, _CONFIG.findall(line)):
            name = PurePosixPath(word).name
            near = sorted(n for n in names if n != name and _alike(n) == _alike(name))
            made = any(_MAKES.search(o) and name in o for o in document.script.splitlines())
            here = (Path(document.name).parent / word, Path(word))
            if name in names or len(near) != 1 or made or any(path.exists() for path in here):
                continue
            place = SettingPlace(artifact=document.name, line=number)
            written = Written(name=word, value=None, place=place, kind=SettingKind.OPTION)
            yield finding(written, "near_file", Severity.WARNING, near=near[0])


def _alike(name: str) -> str:
    """A name without what is easily mistaken: case, the sign between words, `.yml` or `.yaml`."""
    return re.sub(r"\.yml$", ".yaml", name.lower().replace("-", "_"))


def _texts(files: Sequence[SettingsDocument]) -> Mapping[str, str]:
    return {PurePosixPath(d.name).name: d.script for d in files if d.script}


def _ranks(launch: SettingsDocument) -> int | None:
    """How many ranks a launch starts; None where it does not tell."""
    told = {n: w.value or "" for n, w in _plain_settings(launch).items()}
    text = _hostfile(launch)
    if "hostfile" in told and not {"include", "exclude", "num_nodes", "num_gpus"} & told.keys():
        return sum(map(int, _SLOTS.findall(text))) or None
    gpus = told.get("num_gpus") or told.get("nproc_per_node") or told.get("nproc-per-node", "")
    nodes = told.get("num_nodes") or told.get("nnodes") or "1"
    return int(gpus) * int(nodes) if gpus.isdigit() and nodes.isdigit() else None


def _hostfile(launch: SettingsDocument) -> str:
    """The list of hosts that a launch names; empty where it is not here."""
    written = _plain_settings(launch).get("hostfile")
    try:
        return (Path(launch.name).parent / ((written and written.value) or "")).read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _unlisted(document: SettingsDocument) -> Iterator[LintFinding]:
    """An address of rank 0 that is none of the hosts on which DeepSpeed starts ranks."""
    options = _plain_settings(document)
    told = {name: written.value or "" for name, written in options.items()}
    host = unlisted(told, _hostfile(document))
    if host is not None:
        address = options["master_addr"]
        yield finding(address, "not_a_host", Severity.WARNING, file=told["hostfile"], host=host)


def _pairs(
    documents: Sequence[SettingsDocument],
) -> Iterator[tuple[SettingsDocument, SettingsDocument]]:
    """Documents of one job: one that names another, and two that one names."""
    seen: set[frozenset[int]] = set()
    for document in documents:
        named = [other for other in documents if other is not document and _names(document, other)]
        named = _unambiguous(document, named) or _by_file_name(document, documents)
        pairs = [(document, other) for other in named]
        pairs += [(a, b) for index, a in enumerate(named) for b in named[index + 1 :]]
        for pair in pairs:
            key = frozenset(map(id, pair))
            if key not in seen:
                seen.add(key)
                yield pair


def _by_file_name(
    document: SettingsDocument, documents: Sequence[SettingsDocument]
) -> list[SettingsDocument]:
    """Files that a script names under folders which are not here, where one has that name."""
    names = [_file(other).name for other in documents]
    mentioned = {PurePosixPath(mention.strip("\"'")).name for mention in document.mentions}
    return [
        other
        for other in documents
        if other is not document
        and document.script
        and document.becomes is other.becomes is None
        and _file(other).name in mentioned
        and names.count(_file(other).name) == 1
    ]


def _unambiguous(
    document: SettingsDocument, named: Sequence[SettingsDocument]
) -> list[SettingsDocument]:
    """Of several files of one name, those nearest to who names them; none where that ties."""
    by_name: dict[str, list[SettingsDocument]] = {}
    for other in named:
        by_name.setdefault(_file(other).name, []).append(other)
    kept = []
    for others in by_name.values():
        near = [o for o in others if Path(o.name).parent == Path(document.name).parent]
        found = others if len(others) == 1 else near
        kept += found if len(found) == 1 else []
    return kept


def _names(document: SettingsDocument, other: SettingsDocument) -> bool:
    if other.becomes is not None and other.name == document.name:
        return document.becomes is None
    if document.becomes is not None:
        return False
    file = _file(other)
    if file.suffix == "" and file.name.endswith("_env"):
        # A launcher's own file of variables: it reads it without being told.
        own = file.name.strip(".").removesuffix("_env")
        return file.parent == _file(document).parent and own in document.programs
    return any(_ends(file, mention) for mention in document.mentions)


def _ends(file: PurePosixPath, mention: str) -> bool:
    """Whether a path ends as a mention says, whose first folders may be variables."""
    parts = [p for p in PurePosixPath(mention.strip("\"'")).parts if p not in (".", "..", "/")]
    while parts and ("$" in parts[0] or "~" in parts[0]):
        parts.pop(0)
    return bool(parts) and "$" not in "".join(parts) and list(file.parts[-len(parts) :]) == parts


def _file(document: SettingsDocument) -> PurePosixPath:
    """The file that a document is, or becomes."""
    path = PurePosixPath(document.name)
    return path if document.becomes is None else path.parent / PurePosixPath(document.becomes).name


def _whole_launch(config: SettingsDocument, launch: SettingsDocument) -> Iterator[LintFinding]:
    """A flag that counts the processes of one machine, where the file counts those of all."""
    ours, theirs = _plain_settings(launch), _plain_settings(config)
    flag, total = ours.get("num_processes"), theirs.get("num_processes")
    machines = ours.get("num_machines") or theirs.get("num_machines")
    if flag is None or total is None or machines is None or not flag.name.startswith("--"):
        return
    numbers = [each.value or "" for each in (flag, total, machines)]
    if not all(number.isdigit() and int(number) for number in numbers):
        return
    one, all_, count = map(int, numbers)
    if count > 1 and one * count == all_:
        yield finding(
            flag,
            "machines_divide",
            Severity.WARNING,
            total=all_,
            machines=count,
            each=one // count,
            file=_file(config).name,
        )


def _flag_over_file(config: SettingsDocument, launch: SettingsDocument) -> Iterator[LintFinding]:
    """A launcher's own file that says otherwise than its command line."""
    ours, theirs = _plain_settings(launch), _plain_settings(config)
    if "accelerate-yaml" not in config.programs or "accelerate-yaml" in launch.programs:
        return
    for name in ("num_processes", "mixed_precision"):
        flag, told = ours.get(name), theirs.get(name)
        if flag is None or told is None or None in (flag.value, told.value):
            continue
        plain = "$" not in str(flag.value) and flag.name.startswith("--")
        if plain and not same(flag.value, str(told.value)):
            yield finding(
                flag, "flag_over_file", Severity.INFO, other=told.value, file=_file(config).name
            )


def _must_agree(
    zero: SettingsDocument, trainer: SettingsDocument, programs: Collection[str]
) -> Iterator[LintFinding]:
    """What the Trainer compares with the configuration below it, and refuses where they differ.

    Args:
        zero: the configuration below it.
        trainer: its settings.
        programs: that read these; without one of the Trainer's family, a loop of the user's own
            may.
    """
    ours = _plain_settings(trainer)
    for framework in frameworks().values():
        if not any(tag.startswith(f"{framework.name}-") for tag in zero.programs):
            continue
        if any(tag.startswith(f"{framework.name}-") for tag in trainer.programs):
            continue
        if not _drives_trainer(trainer, ours, framework):
            continue
        yield from _scheduler(zero, ours)
        known = any(find_knob(name, framework.mirrored_by) is not None for name in programs)
        theirs = zero.dotted or {n: w.value or "" for n, w in _plain_settings(zero).items()}
        for key, name in framework.mirrors.items():
            told, written = theirs.get(key), ours.get(name)
            if told is None or written is None or written.value is None:
                continue
            if "auto" in (told, written.value) or same(written.value, told):
                continue
            yield finding(
                written,
                "must_agree" if known else "should_agree",
                Severity.ERROR if known else Severity.WARNING,
                name=name,
                theirs=key,
                other=told,
                file=_file(zero).name,
            )


def _scheduler(zero: SettingsDocument, ours: Mapping[str, Written]) -> Iterator[LintFinding]:
    """A scheduler in DeepSpeed's configuration: the Trainer then makes none of its own."""
    theirs, written = zero.dotted.get("scheduler.type"), ours.get("lr_scheduler_type")
    if theirs is None or written is None or written.value in (None, _SCHEDULERS.get(theirs)):
        return
    yield finding(written, "key_ignored", Severity.WARNING, other="scheduler.type", beside=theirs)


def _drives_trainer(
    document: SettingsDocument, settings: Mapping[str, Written], below: Framework
) -> bool:
    """Whether the Trainer reads these settings: other loops compare nothing."""
    script = _file(document).suffix not in (".yaml", ".yml", ".json")
    kin = any(find_knob(name, below.mirrored_by) is not None for name in document.programs)
    return kin or below.name in settings or (not script and below.mirrored_by in settings)


def _plain_settings(document: SettingsDocument) -> dict[str, Written]:
    """Options by their plain names, where each stands once."""
    found: dict[str, list[Written]] = {}
    for written in document.settings:
        if written.kind is SettingKind.OPTION:
            found.setdefault(written.name.lstrip("+-").replace("-", "_"), []).append(written)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def _variables(one: SettingsDocument, other: SettingsDocument) -> Iterator[LintFinding]:
    """One variable with different plain values in two files of a job."""
    elsewhere = {written.name: written for written in _certain(other)}
    for written in _certain(one):
        against = elsewhere.get(written.name)
        if against is not None and written.value != against.value:
            yield finding(
                written,
                "set_elsewhere",
                Severity.WARNING,
                other=against.value,
                file=f"{_file(other).name}:{against.place.line}",
            )


def _certain(document: SettingsDocument) -> Iterator[Written]:
    """Variables with a plain value outside of branches."""
    for written in document.settings:
        plain = written.kind is SettingKind.VARIABLE and written.certain and written.value
        if plain and written.name.startswith(_FAMILIES):
            yield written
