"""Which values may be secrets, and which cannot be: switches, numbers, places, code."""

from __future__ import annotations

import math
from collections import Counter

from unhang import lazy_re as re

_SWITCH = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|nil|auto|default|undefined|unset|empty|\[redacted.*"
    r"|\d{1,6}|\*{3,}|[xX.]{3,}|<[^>]{0,80}>|\$\{?[\w.:-]+\}?\}?|\$\(.*|\{\{.*|%[\w(]+\)?s?%?)?",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(
    r"[-+]?[\d][\d_,.]*(?:e[-+]?\d+)?\s*(?:[kmbtg]|%|ms|s|us|tok/s)?", re.IGNORECASE
)
_PROSE = frozenset(
    {
        *("not", "required", "missing", "optional", "invalid", "expired", "incorrect"),
        *("wrong", "found", "provided", "given", "needed", "set", "unset", "must"),
        *("should", "is", "was", "has", "have", "will", "can", "cannot", "may", "the", "a"),
        *("an", "and", "or", "of", "for", "to", "in", "with", "enabled", "disabled"),
        *("empty", "denied", "failed", "failure", "error", "unknown", "unavailable", "str"),
        *("string", "bytes", "int", "bool", "optional[str]", "secretstr", "any", "dict"),
        *("list", "type", "object", "authentication", "auth", "prompt", "read", "return"),
        *("returned", "value", "values", "name", "names", "store", "manager", "granted"),
        *("rejected", "accepted", "ok"),
    }
)
_CODE = re.compile(
    r"(?:os\.environ|os\.getenv|getpass|environ|self|args|config|cfg|settings|kwargs|opts|options"
    r"|params|env|secrets|vault|ctx|request)\b[.\[(].*"
    r"|[A-Za-z_][\w.]*\([^)]*\)?.*|[a-z_]+(?:\.[a-z_]+){1,8}",
    re.DOTALL,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@+=~%/-]*|[A-Za-z]:\\.*|file://.*")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_MIXED = re.compile(r"(?=\S*[A-Za-z])(?=\S{0,80}?(?:[A-Za-z]{3}\d|\d[A-Za-z]{3}|\w[@#$&!]))\S{6,}")
_OF_A_JOB = re.compile(
    r"(?:(?:rank|step|stage|layer|node|shard|train|val|test|expert|gpu|epoch|(?:micro)?batch|part"
    r"|chunk|iter|phase|fold)s?[-_/]?\d{0,6}[-_/]?)+(?:of|/)?\d{0,6}"
)
_JOINTS = re.compile(r"[-_./:+ ]+")

_RANDOM_BITS = 3.0
"""Bits per character: English words have less, random letters and digits more."""


def is_harmless(value: str) -> bool:
    """Whether a value is a switch, a small number or a place-holder, whatever its name says.

    >>> is_harmless("${HF_TOKEN}"), is_harmless("12"), is_harmless("hunter2")
    (True, True, False)
    """
    return _SWITCH.fullmatch(value) is not None


def is_number(value: str) -> bool:
    """Whether a value is a measure: `2.3`, `10_000`, `41.2%`."""
    return _NUMBER.fullmatch(value) is not None


def is_place(value: str) -> bool:
    """Whether a value names a file."""
    return _PATH.fullmatch(value) is not None


def is_code(value: str) -> bool:
    """Whether an unquoted value is an expression that gives the secret, not the secret."""
    return _CODE.fullmatch(value) is not None


def is_prose(value: str) -> bool:
    """Whether a sentence goes on here: `password is required`."""
    return value.lower().rstrip(".,;:!?)") in _PROSE


def is_hex(value: str) -> bool:
    """Whether it may be a hash."""
    return _HEX.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """Whether letters stand among digits or signs, as where a person thinks of a password.

    >>> is_mixed("hunter2"), is_mixed("fwd_bwd"), is_mixed("bf16"), is_mixed("step-12")
    (True, False, False, False)
    """
    told = _MIXED.fullmatch(value) is not None and _OF_A_JOB.fullmatch(value) is None
    return told and not (is_number(value) or is_place(value))


def looks_random(value: str) -> bool:
    """Whether a value looks made by a generator, not by a person who names things.

    >>> looks_random("s3cr3tV4lue"), looks_random("train_llama_8b"), looks_random("lm_head.weight")
    (True, False, False)
    """
    if len(value) < 8 or is_number(value) or is_place(value):
        return False
    words = [word for word in _JOINTS.split(value) if word]
    if all(_is_word(word) for word in words):
        return False
    letters = any(c.isalpha() for c in value)
    digits = any(c.isdigit() for c in value)
    mixed = value != value.lower() and value != value.upper()
    told = (letters and digits) or (mixed and len(value) >= 16) or len(value) >= 32
    return told and entropy(value) >= min(_RANDOM_BITS, math.log2(len(value)) - 0.6)


def entropy(value: str) -> float:
    """Bits per character of a text.

    >>> entropy("aaaa"), entropy("abcd")
    (0.0, 2.0)
    """
    total = len(value)
    return sum(-n / total * math.log2(n / total) for n in Counter(value).values()) + 0.0


def _is_word(word: str) -> bool:
    """Letters of one case (or a capital first), a number, or both in a short word (`8b`, `v2`)."""
    if len(word) <= 3:
        return True
    if word.isalpha():
        return word[1:] == word[1:].lower() or word == word.upper()
    stem = word.rstrip("0123456789")
    return word.isdigit() or (len(word) <= 12 and stem.isalpha() and len(word) - len(stem) <= 3)
