"""Whether anybody reads a name at all, in the release at hand."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.lint import Severity
from unhang.settings.lookup import find_other, find_setting
from unhang.settings.tables import Library, NameKind, OtherName, Setting
from unhang.settings.verdicts.base import Given, SettingVerdict, say
from unhang.settings.versions import at_least, at_most, covers


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge a name that is unknown, gone, renamed, too new or somebody else's."""
    setting = find_setting(given.name)
    if setting is not None:
        yield from _known(given, setting)
        return
    other = find_other(given.written)
    if other is not None:
        yield from _other(given, other)


def _other(given: Given, other: OtherName) -> Iterator[SettingVerdict]:
    if given.name in given.context.read_by_code or other.advice is None:
        return
    if given.written.startswith("--") and given.context.framework != other.framework:
        return  # A flag is a program's own: only beside that program is it the one meant.
    match other.kind:
        case NameKind.MYTH:
            yield say(
                given,
                "CFG101",
                Severity.WARNING,
                other.advice,
                replacement=other.use,
                futile=True,
                use=other.use,
            )
        case NameKind.MISSPELLING:
            yield say(
                given,
                "CFG102",
                Severity.WARNING,
                other.advice,
                replacement=other.use,
                futile=True,
                use=other.use,
            )
        case NameKind.OBSOLETE:
            yield say(
                given,
                "CFG103",
                Severity.WARNING,
                other.advice,
                replacement=other.use,
                futile=True,
            )
        case NameKind.PLUGIN:
            missing = given.context.plugin is False
            yield say(
                given,
                "CFG107",
                Severity.WARNING if missing else Severity.INFO,
                other.advice,
                reader=other.reader,
                about=other.about,
                futile=True,
            )
        case NameKind.FRAMEWORK | NameKind.ADVICE:
            pass


def _known(given: Given, setting: Setting) -> Iterator[SettingVerdict]:
    version = _version(given, setting)
    if setting.last is not None and at_most(version, setting.last) is not True:
        yield _gone(given, setting)
    elif setting.since is not None and at_least(version, setting.since) is False:
        yield say(
            given,
            "CFG106",
            Severity.WARNING,
            "too_new",
            library=_library(setting),
            since=setting.since,
            version=version,
            futile=True,
        )
    elif setting.ignored_since is not None and covers(version, setting.ignored_since, None) in (
        True,
        None,
    ):
        yield say(
            given,
            "CFG105",
            Severity.INFO,
            "declared_only",
            since=setting.ignored_since,
            futile=True,
        )
    elif setting.renamed_to is not None:
        yield from _renamed(given, setting)


def _gone(given: Given, setting: Setting) -> SettingVerdict:
    # Where the release is unknown it is almost surely newer than one that lost the name years ago.
    return say(
        given,
        "CFG103",
        Severity.WARNING,
        "obsolete" if setting.renamed_to is None else "obsolete_use",
        library=_library(setting),
        last=setting.last,
        use=setting.renamed_to,
        replacement=setting.renamed_to,
        futile=True,
    )


def _renamed(given: Given, setting: Setting) -> Iterator[SettingVerdict]:
    new = find_setting(setting.renamed_to or "")
    if new is not None and at_least(_version(given, setting), new.since) is False:
        return
    if setting.name == "NCCL_ASYNC_ERROR_HANDLING" and given.context.torchrun:
        yield say(
            given,
            "CFG104",
            Severity.WARNING,
            "overridden_by_torchrun",
            use=setting.renamed_to,
            replacement=setting.renamed_to,
            futile=True,
        )
        return
    if setting.name == "TORCH_NCCL_TRACE_BUFFER_SIZE":
        return  # Releases 2.8 to 2.10 need both names: the recorder's own check speaks of it.
    yield say(
        given,
        "CFG104",
        Severity.INFO,
        "renamed",
        use=setting.renamed_to,
        replacement=setting.renamed_to,
        mechanical=_same_meaning(setting),
    )


def _same_meaning(setting: Setting) -> bool:
    """Whether the new name takes the old one's values; of some the unit changed."""
    old, new = setting.name, setting.renamed_to or ""
    channels = old.endswith(("NRINGS", "NCHANNELS")) and new.endswith("CTAS")
    return new == f"TORCH_{old}" or channels


def _version(given: Given, setting: Setting) -> str | None:
    return given.context.nccl if setting.library is Library.NCCL else given.context.torch


def _library(setting: Setting) -> str:
    return "NCCL" if setting.library is Library.NCCL else "PyTorch"
