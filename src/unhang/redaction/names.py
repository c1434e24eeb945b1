"""Which names are those of secrets: `HF_TOKEN`, `client_secret`, `数据库密码`; not `max_tokens`."""

from __future__ import annotations

import enum
import json
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.toml import load


class Grade(enum.IntEnum):
    """How much a name says of its value.

    `HASHED`: a value that looks random is secret, unless it may be a hash; `RANDOM`: one that looks
    random; `LIKELY`: one of letters with digits or signs, too; `SURE`: any but a switch, a small
    number, a place-holder; `PASSWORD`: a number, too.
    """

    NONE = 0
    HASHED = 1
    RANDOM = 2
    LIKELY = 3
    SURE = 4
    PASSWORD = 5


_DATA = load("unhang.redaction", "words.toml")
NEEDLES = tuple(_DATA["needles"])
"""Lower case; one of them is in every name of a secret that is ASCII."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SHUT = frozenset(_DATA["passwords"])
_SECRET = frozenset(_DATA["secrets"])
_LOOSE = frozenset(_DATA["loose"])
_OWNERS = frozenset(_DATA["owners"])
PASSES = frozenset(_DATA["passes"])
"""Before "pass": one over data."""
_PASS = re.compile(r"(\w*?)(?:pass|pw)")
_FOREIGN: list[str] = _DATA["foreign"]
FOREIGN = re.compile(
    "|".join(re.escape(form) for word in _FOREIGN for form in (word, json.dumps(word)[1:-1])),
    re.IGNORECASE,
)
"""Names of secrets that are not English, as they are and as JSON escapes them."""
_OF_KEYS = frozenset(_DATA["of_keys"])
_TOKENIZER = frozenset(_DATA["tokenizer"])
_ABOUT = frozenset(_DATA["about"])
"""Behind the name of a secret: it is told of, not given."""


_PAIRS = frozenset(
    {("saml", "response"), ("saml", "request"), ("code", "verifier"), ("pass", "phrase")}
)
"""Names whose last word says nothing alone."""


@lru_cache(maxsize=4_096)
def grade(name: str) -> Grade:
    """How much the name of a value says.

    >>> grade("WANDB_API_KEY").name, grade("clientSecret").name, grade("db_password").name
    ('SURE', 'SURE', 'PASSWORD')
    >>> grade("pad_token").name, grade("password_file").name, grade("key").name
    ('NONE', 'NONE', 'HASHED')
    """
    if FOREIGN.search(name):
        return Grade.PASSWORD
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1] in {"data", "value", "json", "base", "b", "string", "str", "prod"}:
        if words[-2:] == ["connection", "string"]:
            return Grade.SURE
        words.pop()
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return Grade.NONE
    if words[-1] == "id" and len(words) > 1:
        if words[-2] == "session" or words[-3:] == ["access", "key", "id"]:
            return Grade.RANDOM if words[-2] == "session" else Grade.SURE
        if words[-2:] == ["key", "id"] and "private" in words:
            return Grade.RANDOM
        return Grade.NONE
    if tuple(words[-2:]) in _PAIRS:
        return Grade.SURE
    if words[-1] in _ABOUT:
        loose = {"webhook", "dsn"} & set(words)
        return Grade.RANDOM if loose and words[-1] in {"url", "uri"} else Grade.NONE
    return max(_of_word(words, place) for place in range(len(words)))


def is_secret_name(name: str) -> bool:
    """Whether the value of a variable of this name is a secret.

    >>> is_secret_name("WANDB_API_KEY"), is_secret_name("TOKENIZERS_PARALLELISM")
    (True, False)
    """
    return name not in {"PWD", "OLDPWD"} and grade(name) > Grade.NONE


def _of_word(words: list[str], place: int) -> Grade:
    word, before, last = words[place], words[:place], place == len(words) - 1
    if word in _SHUT or (word.endswith("password") and last):
        return Grade.PASSWORD
    if word in _SECRET:
        return Grade.SURE
    if last and (told := _PASS.fullmatch(word)) is not None:
        owner = told[1] or (before[-1] if before else "")
        if owner in _OWNERS:
            return Grade.PASSWORD
        return Grade.NONE if told[1] or owner in PASSES else Grade.LIKELY
    if word == "token" or (word.endswith("token") and last):
        return _of_token(word, before, last=last)
    if word == "key" and last:
        return _of_key(before)
    if word in _LOOSE and (last or word in {"jwt", "salt", "auth"}):
        return Grade.RANDOM
    return Grade.NONE


def _of_token(word: str, before: list[str], *, last: bool) -> Grade:
    if not last:
        return Grade.NONE
    if before and _TOKENIZER & set(before):
        return Grade.NONE
    return Grade.SURE if before or word != "token" else Grade.RANDOM


def _of_key(before: list[str]) -> Grade:
    if not before:
        return Grade.HASHED
    if "public" in before:
        return Grade.NONE
    return Grade.SURE if _OF_KEYS & set(before) else Grade.HASHED
