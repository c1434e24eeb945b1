"""Finds secrets by the name before them: `api_key=…`, `"client_secret": "…"`, `--hf-token …`.

Names are looked for as plain texts, and what follows is looked at only there: one pattern over all
would take seconds for a few megabytes of log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

_STEMS = ("api", "access", "private", "secret", "account", "signing", "encryption", "client")
_NAMES: tuple[str, ...] = (
    *("token", "secret", "password", "passwd", "passphrase", "credential", "credentials"),
    *("cookie", "x-amz-signature", "x-amz-credential", "access_key_id", "accesskeyid"),
    *(f"{stem}{joint}key" for stem, joint in product(_STEMS, ("_", "-", ""))),
)
_NO_SECRETS = (
    *("eos_", "bos_", "pad_", "unk_", "sep_", "cls_", "mask_", "image_", "next_", "new_", "last_"),
    *("stop_", "special_", "per_", "first_"),
)
"""Before `token`: words of a tokenizer."""

_BODY = r"[^\s\"'`,;&<>(){}\[\]]{4,4000}"
_ASSIGNED = re.compile(rf"[\"']?\s{{0,3}}(?:=>|=|:)\s{{0,3}}[\"'`]?(?P<value>{_BODY})")
_FOLLOWS = re.compile(rf"\s{{1,3}}[\"']?(?!-)(?P<value>{_BODY})")
_OPTION = re.compile(r"(?:^|[\s\"'])--[\w.-]{0,60}$")
_LONGEST_OPTION = 64


def find_named(text: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield where the values of named secrets stand.

    Args:
        text: anything.
        lower: the same in lower case; texts whose length changes with the case are not searched
            by place, so both must have one length.
    """
    for name in _NAMES:
        place = lower.find(name)
        while place >= 0:
            end = place + len(name)
            match = _value(text, lower, place, end, name)
            if match is not None:
                yield match.span("value")
            place = lower.find(name, end)


def _value(text: str, lower: str, begin: int, end: int, name: str) -> re.Match[str] | None:
    if name == "token" and lower.endswith(_NO_SECRETS, max(0, begin - 8), begin):
        return None
    assigned = _ASSIGNED.match(text, end)
    if assigned is not None:
        return assigned
    if _OPTION.search(text, max(0, begin - _LONGEST_OPTION), begin) is None:
        return None
    return _FOLLOWS.match(text, end)
