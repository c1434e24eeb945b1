"""The words of a judgement on a setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from unhang.model.lint import Severity
from unhang.model.provenance import Message
from unhang.settings.lookup import bare


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingContext:
    """What a judgement may depend on; everything may be unknown.

    Attributes:
        nccl, torch: releases.
        framework, framework_version: whose configuration it is.
        frameworks: every framework at work.
        expired_ms: the timeout that ran out, where a failure is being judged.
        nodes: number of hosts.
        torchrun: the job is started by torchrun (or accelerate, which uses it); None: unknown.
        others: the other settings in force, by bare name.
        read_by_code: names that the project's own code reads.
        plugin: nccl-rdma-sharp-plugins is installed; None = not looked.
    """

    nccl: str | None = None
    torch: str | None = None
    framework: str | None = None
    framework_version: str | None = None
    frameworks: frozenset[str] = frozenset()
    expired_ms: int | None = None
    nodes: int | None = None
    torchrun: bool | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    read_by_code: frozenset[str] = frozenset()
    plugin: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingVerdict:
    """What is wrong with one setting.

    Attributes:
        code: stable, `CFG101` and up; below are the codes of rules.
        reason: the sentence for the user.
        replacement: what to write in its place, or None: drop it.
        futile: it does not do what it was put there for: advice to reject.
        mechanical: the replacement means what stands there: a new name, a word that is understood.
    """

    code: str
    severity: Severity
    reason: Message
    replacement: str | None = None
    futile: bool = False
    mechanical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A setting as somebody wrote it.

    Attributes:
        written: with Hydra's `+` or the dashes of a flag; `name` without them.
    """

    written: str
    value: str
    context: SettingContext

    @property
    def name(self) -> str:
        """The name as tables know it."""
        return bare(self.written)

    @property
    def number(self) -> float | None:
        """The value as a finite number, where it is one."""
        try:
            number = float(self.value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


Check: TypeAlias = Callable[[Given], Iterator[SettingVerdict]]
"""Yields what is wrong; nothing for a setting that is right or not its own."""


def say(
    given: Given,
    code: str,
    severity: Severity,
    topic: str,
    *,
    replacement: str | None = None,
    futile: bool = False,
    mechanical: bool = False,
    **values: object,
) -> SettingVerdict:
    """A verdict whose sentence is `advice.<topic>`."""
    return SettingVerdict(
        code=code,
        severity=severity,
        reason=Message(
            key=f"advice.{topic}", values={"name": given.name, "value": given.value, **values}
        ),
        replacement=replacement,
        futile=futile,
        mechanical=mechanical,
    )
