"""From documents to findings: each setting by itself, those beside it, and those of other ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from unhang.linting.between_files import between_files
from unhang.linting.conditions import conditions, finding
from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.linting.mistakes import mistakes
from unhang.linting.scripts import scripts
from unhang.linting.slurm import slurm
from unhang.model.lint import LintFinding, SettingPlace, Severity
from unhang.settings import SettingContext, find_other, find_setting, frameworks, judge, suggest
from unhang.settings.binary import NcclBinary
from unhang.settings.versions import at_least

_LAST_SEGMENT = frozenset({"ddp_timeout", "distributed_timeout_minutes"})
"""Keys that mean the same wherever they are nested."""

SAME_ON_ALL = frozenset(
    {
        "NCCL_ALGO",
        "NCCL_PROTO",
        "NCCL_NET",
        "NCCL_NET_PLUGIN",
        "NCCL_COMM_ID",
        "NCCL_SOCKET_MAGIC",
        "NCCL_IB_DISABLE",
        "NCCL_P2P_DISABLE",
        "NCCL_SHM_DISABLE",
        "NCCL_BUFFSIZE",
        "NCCL_MIN_CTAS",
        "NCCL_MAX_CTAS",
        "MASTER_ADDR",
        "MASTER_PORT",
        "WORLD_SIZE",
        "USE_LIBUV",
        "TORCH_DISTRIBUTED_DEBUG",
    }
)
_OF_NAMES = frozenset({"CFG101", "CFG102", "CFG103", "CFG104", "CFG106", "CFG120"})
"""Findings on a name: a row that knows it says more than a list that lacks it."""

_FAMILIES = ("NCCL_", "TORCH_NCCL_", "GLOO_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """What is installed, or what the user says is.

    Attributes:
        framework: name and version; either may be None.
        binary: the installed libnccl, the judge of names that no table knows.
    """

    nccl: str | None = None
    torch: str | None = None
    framework: tuple[str | None, str | None] = (None, None)
    binary: NcclBinary | None = None


def check(documents: Iterable[SettingsDocument], releases: Releases) -> tuple[LintFinding, ...]:
    """Find what is wrong, in the order of the documents and their lines."""
    documents = list(documents)
    reads = frozenset(name for document in documents for name in document.reads)
    findings: list[LintFinding] = []
    for document in documents:
        each = list(_each(document, releases, reads))
        told = {(f.setting.lstrip("-"), f.where.line) for f in each if f.code in _OF_NAMES}
        beside = conditions(document, *_framework(document, releases))
        findings += [*each, *_together(document, releases)]
        findings += slurm(document.name, document.script)
        findings += [*scripts(document), *mistakes(document)]
        findings += [
            f
            for f in beside
            if f.code not in _OF_NAMES or (f.setting.lstrip("-"), f.where.line) not in told
        ]
    findings.extend(between_files(documents))
    findings.extend(_between_ranks(documents))
    unique = {(f.code, f.setting, f.value, f.where, f.reason.key): f for f in findings}
    return tuple(unique.values())


def _each(
    document: SettingsDocument, releases: Releases, reads: frozenset[str]
) -> Iterator[LintFinding]:
    context = _context(document, releases, reads)
    for written in document.settings:
        name = _name(written)
        verdicts = judge(name, written.value, context)
        for verdict in verdicts:
            yield LintFinding(
                code=verdict.code,
                severity=verdict.severity,
                setting=name,
                value=written.value,
                where=written.place,
                reason=verdict.reason,
                replacement=verdict.replacement,
                mechanical=verdict.mechanical,
            )
        if not verdicts and written.kind is SettingKind.VARIABLE and name not in reads:
            yield from _unknown(written, releases)


def _name(written: Written) -> str:
    """The name that the tables know: of a nested key sometimes only the last part."""
    last = written.name.rpartition(".")[2]
    return last if written.kind is SettingKind.OPTION and last in _LAST_SEGMENT else written.name


def _framework(document: SettingsDocument, releases: Releases) -> tuple[str | None, str | None]:
    """Whose settings a document holds, and of which release."""
    framework, version = releases.framework
    if framework is None:
        framework = next((name for name in frameworks() if name in document.programs), None)
    return framework, version


def _context(
    document: SettingsDocument, releases: Releases, reads: frozenset[str]
) -> SettingContext:
    framework, version = _framework(document, releases)
    return SettingContext(
        nccl=releases.nccl,
        torch=releases.torch,
        framework=framework,
        framework_version=version,
        frameworks=frozenset(document.programs),
        nodes=document.nodes,
        torchrun=document.torchrun,
        others={w.name: w.value for w in document.settings if w.value is not None},
        read_by_code=reads,
    )


def _unknown(written: Written, releases: Releases) -> Iterator[LintFinding]:
    """A name that no table knows: the library itself decides; a table alone only suggests."""
    name = written.name
    if not name.startswith(_FAMILIES) or find_setting(name) or find_other(name):
        return
    near = suggest(name)
    binary = releases.binary
    if binary is not None and name.startswith("NCCL_") and not binary.reads(name):
        topic, severity = ("not_in_binary", Severity.WARNING)
    elif near and binary is None:
        topic, severity = ("unknown_near", Severity.INFO)
    else:
        return
    yield finding(
        written,
        topic,
        severity,
        code="CFG124",
        replacement=near[0] if near else None,
        near=near[0] if near else None,
        version=None if binary is None else binary.version,
    )


def _together(document: SettingsDocument, releases: Releases) -> Iterator[LintFinding]:
    yield from _contradictions(document)
    yield from _repeated(document)
    if document.running:
        yield from _no_recorder(document, releases)


def _contradictions(document: SettingsDocument) -> Iterator[LintFinding]:
    """One variable with two plain values: the later one wins, and nobody sees it."""
    first: dict[str, Written] = {}
    for written in document.settings:
        plain = (
            written.kind is SettingKind.VARIABLE and written.certain and written.value is not None
        )
        known = written.name.startswith(_FAMILIES) and find_setting(written.name) is not None
        if not plain or not known or written.place.line is None:
            continue
        before = first.setdefault(written.name, written)
        if before.value != written.value:
            first[written.name] = written
            yield finding(
                written,
                "set_twice",
                Severity.WARNING,
                before=before.value,
                line=before.place.line,
            )


def _repeated(document: SettingsDocument) -> Iterator[LintFinding]:
    """A key that stands twice in one mapping: of the first nobody sees that it is dropped."""
    for twice in document.repeated:
        place = SettingPlace(artifact=document.name, line=twice.line)
        written = Written(name=twice.key, value=twice.value, place=place, kind=SettingKind.OPTION)
        severity = Severity.INFO if twice.same else Severity.WARNING
        yield finding(written, "key_twice", severity, line=twice.first)


def _no_recorder(document: SettingsDocument, releases: Releases) -> Iterator[LintFinding]:
    """A rank without Flight Recorder leaves no evidence, where it is off by default."""
    if document.rank is None or at_least(releases.torch, "2.11") is not False:
        return
    if at_least(releases.torch, "2.2") is False:
        return
    values = {written.name: written.value for written in document.settings}
    sizes = (values.get(n) for n in ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"))
    if any(size not in (None, "", "0") for size in sizes):
        return
    yield finding(
        _unset("TORCH_NCCL_TRACE_BUFFER_SIZE", document.name),
        "recorder_off",
        Severity.WARNING,
        code="CFG112",
        replacement="TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
        version=releases.torch,
    )


def _unset(name: str, artifact: str, value: str | None = None) -> Written:
    """A variable of a process, which stands in no line."""
    place = SettingPlace(artifact=artifact)
    return Written(name=name, value=value, place=place, kind=SettingKind.VARIABLE)


def _between_ranks(documents: Iterable[SettingsDocument]) -> Iterator[LintFinding]:
    """Variables that every rank must have the same, and that differ."""
    ranks = [d for d in documents if d.running and d.rank is not None]
    seen: dict[str, dict[str | None, str]] = {}
    for document in ranks:
        values = {w.name: w.value for w in document.settings if w.kind is SettingKind.VARIABLE}
        for name in SAME_ON_ALL:
            seen.setdefault(name, {}).setdefault(values.get(name), document.rank or "")
    for name, ranks_by_value in sorted(seen.items()):
        if len(ranks_by_value) < 2:
            continue
        (one, first), (other, second), *_ = ranks_by_value.items()
        yield finding(
            _unset(name, f"rank {second}", other),
            "differs",
            Severity.ERROR,
            code="CFG118",
            one="unset" if one is None else one,
            first=first,
            other="unset" if other is None else other,
            second=second,
        )
