"""Which names are those of secrets: `HF_TOKEN`, `client_secret`, `数据库密码`; not `max_tokens`."""

from __future__ import annotations

import enum
import json
import re
from functools import lru_cache


class Grade(enum.IntEnum):
    """How much a name says of its value.

    `HASHED`: a value that looks random is secret, unless it may be a hash; `RANDOM`: one that looks
    random; `SURE`: any but a switch, a small number, a place-holder; `PASSWORD`: a number, too.
    """

    NONE = 0
    HASHED = 1
    RANDOM = 2
    SURE = 3
    PASSWORD = 4


NEEDLES = (
    *("pass", "pwd", "pw", "secret", "token", "credential", "creds", "key", "auth", "cookie"),
    *("session", "sid", "salt", "jwt", "dsn", "webhook", "connectionstring", "connection_string"),
    *("bearer", "csrf", "kennwort", "mot de passe", "_pat", "otp", "signature", "assertion"),
    *("samlresponse", "samlrequest", "verifier"),
)
"""Lower case; one of them is in every name of a secret that is ASCII."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_SHUT = frozenset(
    {
        *("password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "pwd"),
        *("sshpass", "pgpassword", "userpass", "userpassword", "dbpassword", "contraseña"),
    }
)
_SECRET = frozenset(
    {
        *("secret", "secrets", "credential", "credentials", "creds", "apikey", "secretkey"),
        *("accesskey", "authtoken", "accesstoken", "privatekey", "connectionstring"),
    }
)
_LOOSE = frozenset(
    {
        *("pass", "pw", "auth", "cookie", "session", "sessionid", "sid", "salt", "jwt", "dsn"),
        *("bearer", "csrf", "csrftoken", "xsrf", "sas", "pat", "webhook", "notify", "otp"),
        *("sig", "signature", "samlresponse", "assertion"),
    }
)
_FOREIGN = (
    *("密码", "口令", "密钥", "秘钥", "令牌", "密碼", "金鑰", "パスワード", "비밀번호", "пароль"),
    *("contraseña", "mot de passe"),
)
FOREIGN = re.compile(
    "|".join(re.escape(form) for word in _FOREIGN for form in (word, json.dumps(word)[1:-1])),
    re.IGNORECASE,
)
"""Names of secrets that are not English, as they are and as JSON escapes them."""
_OF_KEYS = frozenset(
    {
        *("api", "access", "private", "secret", "account", "signing", "encryption", "client"),
        *("master", "storage", "shared", "subscription", "service", "deploy", "encrypt", "auth"),
        *("app", "consumer", "license", "ssl", "tls", "hmac", "jwt", "session", "webhook", "ssh"),
        *(
            "wandb",
            "comet",
            "kaggle",
            "openai",
            "hf",
            "my",
            "sas",
            "admin",
            "write",
            "read",
            "user",
        ),
    }
)
_TOKENIZER = frozenset(
    {
        *("eos", "bos", "pad", "unk", "sep", "cls", "mask", "image", "video", "audio", "next"),
        *("new", "last", "stop", "special", "per", "first", "max", "min", "num", "total", "n"),
        *("prompt", "completion", "input", "output", "expert", "avg", "mean", "draft", "think"),
        *("begin", "end", "start", "current", "each", "every", "any", "top", "vocab", "word"),
        *("sub", "added", "additional", "response", "context", "visual", "loss", "of", "s"),
        *("the", "a", "this", "padding", "unknown", "separator", "tool", "text", "speech"),
    }
)
_ABOUT = frozenset(
    {
        *("file", "path", "dir", "name", "names", "type", "len", "length", "count", "limit", "url"),
        *("uri", "endpoint", "policy", "prompt", "hint", "field", "index", "idx", "ids", "size"),
        *("rate", "budget", "acc", "accuracy", "throughput", "level", "mask", "position", "usage"),
        *("embedding", "embeddings", "dropping", "dispatcher", "logprob", "expires", "expiry"),
        *("ttl", "issuer", "sock", "socket", "method", "mode", "provider", "required", "enabled"),
        *("reward", "loss", "freq", "ratio", "num", "version", "dropout", "layers", "heads", "dim"),
        *("padding", "event", "state", "status", "time", "duration", "timeout", "host", "port"),
        *("ref", "arn", "manager", "store", "helper", "parallelism", "per", "drop", "type"),
    }
)
"""Behind the name of a secret: it is told of, not given."""


_PAIRS = frozenset({("saml", "response"), ("saml", "request"), ("code", "verifier")})
"""Names of single sign-on whose last word says nothing alone."""


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
