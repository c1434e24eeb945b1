"""From a name to what is known of it: the setting, who reads it, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache

from unhang.settings.frameworks import find_knob, frameworks
from unhang.settings.tables import (
    Library,
    NameKind,
    OtherName,
    Setting,
    TimeoutKnob,
    other_names,
    variables,
)
from unhang.settings.versions import covers

_UNREAD = frozenset({NameKind.MYTH, NameKind.MISSPELLING, NameKind.OBSOLETE})

_CLOSE = 0.84
"""Similarity from which a name is worth a "did you mean"."""


def find_setting(name: str) -> Setting | None:
    """The environment variable of that name, read by NCCL or PyTorch in some release.

    >>> find_setting("NCCL_IB_TIMEOUT").default
    '20'
    """
    for library in Library:
        found = variables(library).get(name)
        if found is not None:
            return found
    return None


def find_other(name: str) -> OtherName | None:
    """What is known of a name that neither NCCL nor PyTorch reads.

    Leading `+` (Hydra) and `--` (command line) do not count.
    """
    return other_names().get(name) or other_names().get(bare(name))


def is_myth(name: str) -> bool:
    """Whether nobody reads that name: neither NCCL nor PyTorch nor a plugin or framework.

    >>> is_myth("NCCL_TIMEOUT"), is_myth("NCCL_IB_TIMEOUT")
    (True, False)
    """
    other = find_other(name)
    return other is not None and other.kind in _UNREAD


def suggest(name: str) -> tuple[str, ...]:
    """Known names that were probably meant, the best first; empty where nothing is near.

    >>> suggest("NCCL_IB_RETRY_COUNT")[0]
    'NCCL_IB_RETRY_CNT'
    """
    if find_setting(name) is not None:
        return ()
    other = find_other(name)
    known = _known_names()
    if other is not None:
        # What was meant is known; a similar name would be a new error (NCCL_IB_TIMEOUT).
        use = "" if other.use is None else other.use.split("=")[0]
        return (use,) if use in known else ()
    return tuple(difflib.get_close_matches(name.upper(), known, n=3, cutoff=_CLOSE))


def key_in(framework: str, key: str, versions: Mapping[str, str]) -> str | None:
    """How the releases at hand call a setting: the key itself, its older name, or None.

    Args:
        framework: whose configuration it is written in.
        key: its present name.
        versions: releases by framework, as far as they are known.
    """
    knob = find_knob(framework, key)
    if knob is None or knob.known_in(versions.get(knob.framework)) is not False:
        return key
    for older in frameworks()[knob.framework].knobs.values():
        if older.renamed_to == key:
            return older.key
    return None


def timeout_knobs(framework: str, version: str | None = None) -> tuple[TimeoutKnob, ...]:
    """The knobs for a framework's collective timeout in that release, the preferred one first.

    Args:
        framework: as `--framework` takes it.
        version: of the framework; None = those of all releases.
    """
    return tuple(
        knob
        for knob in (frameworks()[framework].timeouts if framework in frameworks() else ())
        if covers(version, knob.since, knob.last) is not False
    )


def bare(name: str) -> str:
    """The name without what Hydra or a command line puts before it.

    >>> bare("++trainer.dist_backend"), bare("--ddp_timeout")
    ('trainer.dist_backend', 'ddp_timeout')
    """
    return name.lstrip("+").removeprefix("--")


@cache
def _known_names() -> tuple[str, ...]:
    readers = (n for n, o in other_names().items() if o.reader is not None)
    return tuple(dict.fromkeys([*(n for library in Library for n in variables(library)), *readers]))
