"""Finds secrets in text: by their shape, by the name before them, and those that were seen before.

A secret is replaced by `[redacted KIND]`. Shapes are tried only where a literal part of them
occurs, so that megabytes of log cost little. A rule errs on the side of redacting: a word too many
costs a reader less than a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from unhang.collect.redaction.named import find_named

_SHORTEST_VALUE = 6
"""A known secret shorter than this is not looked for in other texts: it would hit half of them."""

_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|ACCOUNT_?KEY|SIGNING_?KEY"
    r"|ENCRYPTION_?KEY|(?:^|_)KEY$|(?:^|_)PWD$|CREDENTIAL|COOKIE|(?:^|_)AUTH$|(?:^|_)DSN$|WEBHOOK"
    r"|CONNECTION_?STRING|(?:^|_)SAS$|LICENSE|NOTIFY",
    re.IGNORECASE,
)
_HARMLESS_NAME = re.compile(r"^(?:OLD)?PWD$|^TOKENIZERS_|TOKENIZER|_TOKENS$|^SSH_AUTH_SOCK$")
_HARMLESS_VALUE = re.compile(
    r"(?:true|false|yes|no|on|off|none|null|auto|default|\d{1,6}|\[redacted.*)?", re.IGNORECASE
)
_ID = r"[A-Za-z0-9_-]{16,300}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kind of secret looks like.

    Attributes:
        kind: as the manifest counts it.
        needles: literal texts, lower case; one of them is in every such secret.
        pattern: the secret, or its group `value` where only a part is secret.
    """

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, needles: str | tuple[str, ...], pattern: str, flags: int = 0) -> Shape:
    listed = (needles,) if isinstance(needles, str) else needles
    return Shape(kind, listed, re.compile(pattern, flags))


SHAPES: tuple[Shape, ...] = (
    _shape(
        "private key",
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.{0,20000}?"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        re.DOTALL,
    ),
    _shape("webhook", "hooks.slack.com", r"hooks\.slack\.com/(?P<value>[\w/-]{8,200})"),
    _shape("webhook", "/bot/v2/hook/", r"/open-apis/bot/v2/hook/(?P<value>[\w-]{8,100})"),
    _shape("webhook", "webhook/send?key=", r"webhook/send\?key=(?P<value>[\w-]{8,100})"),
    _shape(
        "URL credentials",
        "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://(?P<value>[^\s/@\"'<>]{1,400})@(?=[\w\[])",
    ),
    _shape("Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{16,100}"),
    _shape("API key", "sk-", r"\bsk-[A-Za-z0-9_-]{16,300}"),
    _shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"\bgh[pousr]_{_ID}"),
    _shape("GitHub token", "github_pat_", rf"\bgithub_pat_{_ID}"),
    _shape("GitLab token", "glpat-", rf"\bglpat-{_ID}"),
    _shape("Slack token", "xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,300}"),
    _shape("AWS key", ("akia", "asia"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _shape("Google key", "aiza", rf"\bAIza{_ID}"),
    _shape("Google key", "ya29.", r"\bya29\.[A-Za-z0-9_-]{20,2000}"),
    _shape("cloud key", "ltai", r"\bLTAI[A-Za-z0-9]{12,30}\b"),
    _shape("cloud key", ("akid", "aklt"), r"\bAK(?:ID|LT)[A-Za-z0-9]{20,60}\b"),
    _shape("NVIDIA key", "nvapi-", rf"\bnvapi-{_ID}"),
    _shape("package index token", ("pypi-", "npm_"), rf"\b(?:pypi-|npm_){_ID}"),
    _shape(
        "JSON web token",
        "eyj",
        r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{4,4000}",
    ),
    _shape("bearer token", "bearer", r"(?i)\bbearer\s+(?P<value>[A-Za-z0-9._~+/=-]{8,4000})"),
    _shape(
        "authorization",
        "authorization",
        r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|digest|token)\s+"
        r"(?P<value>[^\s\"']{4,2000})",
    ),
    _shape(
        "WandB key", "wandb", r"(?i)wandb[^\n]{0,80}?\b(?P<value>[0-9a-f]{40}|wandb_v\d_\w{20,})\b"
    ),
    _shape("password", "password", r"(?i)\blogin\s+\S{1,200}\s+password\s+(?P<value>\S{3,400})"),
    _shape("signed URL", "sig=", r"[?&]sig=(?P<value>[A-Za-z0-9%/+=_-]{16,400})"),
)
"""Every shape; the widest come last."""


def is_secret_name(name: str) -> bool:
    """Whether the value of a variable of this name is a secret.

    >>> is_secret_name("WANDB_API_KEY"), is_secret_name("TOKENIZERS_PARALLELISM")
    (True, False)
    """
    return _NAME.search(name) is not None and _HARMLESS_NAME.search(name) is None


def is_harmless(value: str) -> bool:
    """Whether a value is a switch or a small number, whatever its name says."""
    return _HARMLESS_VALUE.fullmatch(value) is not None


def find_values(environments: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The secrets in environments that are worth looking for in other texts."""
    return frozenset(
        value.strip()
        for environment in environments
        for name, value in environment.items()
        if is_secret_name(name)
        and not is_harmless(value.strip())
        and len(value.strip()) >= _SHORTEST_VALUE
    )


def known(values: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern of all known secrets, also as a URL writes them; None where there are none."""
    texts = {form for value in values for form in (value, quote(value, safe=""))}
    if not texts:
        return None
    return re.compile(
        "|".join(re.escape(text) for text in sorted(texts, key=lambda t: (-len(t), t)))
    )


def replace_secrets(text: str, values: re.Pattern[str] | None, count: Callable[[str], None]) -> str:
    """Return `text` without secrets.

    Args:
        text: anything.
        values: known secrets, or None.
        count: is told the kind of each that was replaced.
    """

    def hide(kind: str, match: re.Match[str]) -> str:
        whole = match[0]
        part = match.groupdict().get("value")
        secret = whole if part is None else part
        if is_harmless(secret):
            return whole
        count(kind)
        mark = f"[redacted {kind}]"
        if part is None:
            return mark
        begin, end = match.start("value") - match.start(), match.end("value") - match.start()
        return whole[:begin] + mark + whole[end:]

    if values is not None:
        text = values.sub(lambda match: hide("known secret", match), text)
    text = _without_named(text, count)
    lower = text.lower()
    for shape in SHAPES:
        if any(needle in lower for needle in shape.needles):
            kind = shape.kind
            text = shape.pattern.sub(lambda match, kind=kind: hide(kind, match), text)  # type: ignore[misc]
    return text


def _without_named(text: str, count: Callable[[str], None]) -> str:
    """Replace what stands behind the name of a secret."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have longer small ones
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    parts: list[str] = []
    done = 0
    for begin, end in sorted(find_named(text, lower)):
        if begin < done or is_harmless(text[begin:end]):
            continue
        count("named secret")
        parts.extend((text[done:begin], "[redacted named secret]"))
        done = end
    return "".join((*parts, text[done:]))
