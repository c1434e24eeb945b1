"""The launch of a job against what its node has, and against the scripts of its other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from unhang import lazy_re as re
from unhang.linting.conditions import finding
from unhang.linting.device_counts import granted, started, visible
from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.model.lint import LintFinding, SettingPlace, Severity

_RANK = ("NODE_RANK", "--node_rank", "--node-rank", "--machine_rank")
_NODES = ("NNODES", "--nnodes", "--num_machines")
_HOST = re.compile(r"^[ \t]*([^#\s]\S*)[ \t]+slots=", re.MULTILINE)
_NUMBERS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_ONE_STORE = ("MASTER_ADDR", "MASTER_PORT", "--master_addr", "--master_port")
_TESTED = re.compile(
    r"\[\[?\s+[\"']?\$\{?([A-Z][A-Z0-9_]{2,})\}?[\"']?\s+-(?:lt|le|gt|ge|eq|ne)\s", re.MULTILINE
)
_OWN_ADDRESS = re.compile(
    r"^\s*(?:export\s+)?(MASTER_ADDR|main_process_ip)=[\"']?(?:\$\(|`)hostname\s+-i\b", re.MULTILINE
)
_GIVEN = (
    "SLURM",
    "PBS",
    "LSB",
    "OMPI",
    "PMI",
    "CUDA",
    "HOSTNAME",
    "RANDOM",
    "SECONDS",
    "UID",
    "EUID",
)
"""Prefixes of variables that a scheduler, a launcher or the shell itself sets."""


def device_counts(
    launch: SettingsDocument, configs: Sequence[SettingsDocument] = ()
) -> Iterator[LintFinding]:
    """More processes on a node than GPUs that they can see, or fewer.

    Args:
        launch: the script that starts them.
        configs: the files of a launcher that it names.
    """
    told = [*launch.settings, *(w for config in configs for w in config.settings)]
    once = _once(told)
    counted = started(lambda key: None if key not in once else once[key].value)
    masks = [w for w in launch.settings if w.name == "CUDA_VISIBLE_DEVICES"]
    mask = visible(masks[0].value) if len(masks) == 1 and masks[0].certain else None
    devices = mask if masks else granted(launch.script)
    if counted is None or devices is None:
        return
    key, count, nodes = counted
    fit = devices * nodes
    # Fewer may be meant where nobody wrote the devices down.
    if count == fit or (count < fit and mask is None):
        return
    yield finding(
        once[key],
        "processes_many" if count > fit else "processes_few",
        Severity.ERROR if count > fit else Severity.INFO,
        count=count,
        devices=fit,
    )


def _once(written: Sequence[Written]) -> Mapping[str, Written]:
    """Options by their plain names, where all that say them say the same."""
    found: dict[str, list[Written]] = {}
    for each in written:
        if each.kind is SettingKind.OPTION:
            found.setdefault(each.name.lstrip("+-").replace("-", "_"), []).append(each)
    return {name: all_[0] for name, all_ in found.items() if len({w.value for w in all_}) == 1}


def nodes_of_one_job(documents: Sequence[SettingsDocument]) -> Iterator[LintFinding]:
    """Scripts of several nodes, each with its own rank, that name different stores."""
    ranked: dict[tuple[str, frozenset[str]], dict[str, SettingsDocument]] = {}
    for document in documents:
        rank, count = _first(document, _RANK), _first(document, _NODES)
        several = count is None or count.value is None or count.value not in ("", "0", "1")
        if rank is not None and rank.value is not None and several:
            folder = document.name.rpartition("/")[0]
            same = ranked.setdefault((folder, frozenset(document.programs)), {})
            same.setdefault(rank.value, document)
    for same in ranked.values():
        first = same.get("0")
        for other in same.values() if first is not None else ():
            if other is not first and first is not None:
                yield from _one_store(first, other)


def _one_store(first: SettingsDocument, other: SettingsDocument) -> Iterator[LintFinding]:
    for name in _ONE_STORE:
        ours, theirs = _first(first, (name,)), _first(other, (name,))
        if ours is None or theirs is None or None in (ours.value, theirs.value):
            continue
        if ours.value != theirs.value:
            yield finding(
                ours,
                "node_differs",
                Severity.WARNING,
                other=theirs.value,
                file=f"{other.name.rpartition('/')[2]}:{theirs.place.line}",
            )


def _first(document: SettingsDocument, names: Sequence[str]) -> Written | None:
    found = [w for w in document.settings if w.name in names]
    return found[0] if len({w.value for w in found}) == 1 else None


def batch_script(
    document: SettingsDocument, documents: Sequence[SettingsDocument]
) -> Iterator[LintFinding]:
    """What a batch script compares or takes as an address, and nobody has set or can reach."""
    text = document.script
    if "#SBATCH" not in text:
        return
    if (document.nodes or 1) > 1 and (found := _OWN_ADDRESS.search(text)) is not None:
        yield _at(document, found.start(1), found[1], "own_address")
    for found in _TESTED.finditer(text):
        name = found[1]
        used = re.compile(
            rf"(?<![\w$]){name}\+?=|\$\{{{name}:?[-=]|\b(?:read|for|getopts\s+\S+)\s+{name}\b"
        )
        if name.startswith(_GIVEN) or any(used.search(d.script) for d in documents):
            continue
        if "source " in text or re.search(r"^\s*\.\s", text, re.MULTILINE):
            return  # Another file may set it.
        yield _at(document, found.start(1), name, "never_set")
        return


def _at(document: SettingsDocument, at: int, name: str, topic: str) -> LintFinding:
    line = document.script.count("\n", 0, at) + 1
    place = SettingPlace(artifact=document.name, line=line)
    written = Written(name=name, value=None, place=place, kind=SettingKind.VARIABLE)
    return finding(written, topic, Severity.WARNING)


def unlisted(told: Mapping[str, str], hostfile: str) -> str | None:
    """The first host of a list, where the address of rank 0 is none of its hosts; else None.

    Only numbers are compared: a host has several names, and an interface of its own may have one.

    Args:
        told: options of DeepSpeed's launcher by their plain names.
        hostfile: the text of the list.
    """
    address, hosts = told.get("master_addr", ""), _HOST.findall(hostfile)
    chosen = {"include", "exclude"} & told.keys()
    numbers = all(_NUMBERS.fullmatch(each) for each in (address, *hosts))
    return hosts[0] if hosts and numbers and not chosen and address not in hosts else None
