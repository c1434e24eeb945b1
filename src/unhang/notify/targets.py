"""From what the user wrote to whom to tell: `--notify URL` and the variable UNHANG_NOTIFY.

A chat is known by its host; `slack+https://…`, `feishu+http://…` say it outright, for gateways.
The secret with which DingTalk and Feishu sign stands behind `#` and is sent to nobody. To a
receiver of OpenTelemetry go the headers that its exporters send, by the same variable.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from unhang.errors import UsageError

VARIABLE = "UNHANG_NOTIFY"
"""Addresses, separated by blanks; for who does not want them in a command line."""

SECRET_VARIABLE = "UNHANG_NOTIFY_SECRET"  # noqa: S105 (the name of a variable)
"""The secret of those that sign and have none behind `#`."""


class TargetKind(enum.Enum):
    """What is at an address."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    FEISHU = "feishu"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    OTLP = "otlp"


_HOSTS = {
    "hooks.slack.com": TargetKind.SLACK,
    "open.feishu.cn": TargetKind.FEISHU,
    "open.larksuite.com": TargetKind.FEISHU,
    "oapi.dingtalk.com": TargetKind.DINGTALK,
    "qyapi.weixin.qq.com": TargetKind.WECOM,
}
_WORDS = {
    **{kind.value: kind for kind in TargetKind},
    "lark": TargetKind.FEISHU,
    "wechat": TargetKind.WECOM,
}
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""Pairs `name=value` between commas, percent-encoded, as OpenTelemetry defines them."""
_LOGS = "/v1/logs"
_SIGNED = frozenset({TargetKind.FEISHU, TargetKind.DINGTALK})


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyTarget:
    """Whom to tell. Its address is a secret: only `name` may be shown.

    Attributes:
        secret: signs what is sent; None = it is not signed.
        headers: are sent with it.
    """

    kind: TargetKind
    host: str
    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What it is called in logs."""
        return f"{self.kind.value} ({self.host})"


def read_targets(
    addresses: Sequence[str], environment: Mapping[str, str] | None = None
) -> tuple[NotifyTarget, ...]:
    """Read what the user wrote, and what the environment adds; equal addresses count once.

    Args:
        addresses: of `--notify`.
        environment: None = of this process.

    Raises:
        UsageError: one is no address; the message does not repeat it.
    """
    environment = os.environ if environment is None else environment
    secret = environment.get(SECRET_VARIABLE) or None
    written = [
        *((f"--notify number {n}", text) for n, text in enumerate(addresses, 1)),
        *((VARIABLE, text) for text in environment.get(VARIABLE, "").split()),
    ]
    targets = [_read(text, where, secret) for where, text in written]
    headers = _headers(environment.get(_HEADERS, ""))
    targets = [replace(t, headers=headers) if t.kind is TargetKind.OTLP else t for t in targets]
    return tuple({target.url: target for target in targets}.values())


def _read(text: str, where: str, secret: str | None) -> NotifyTarget:
    word, plus, rest = text.strip().partition("+")
    named = _WORDS.get(word.lower()) if plus else None
    parts = _split(rest if named is not None else text.strip())
    if parts is None or parts.hostname is None:
        raise UsageError(
            f"{where} is not an address; expected https://…, or a kind before it, such as"
            f" slack+https://… ({', '.join(sorted(_WORDS))})"
        )
    kind = named or _HOSTS.get(parts.hostname, TargetKind.WEBHOOK)
    lacks_path = kind is TargetKind.OTLP and parts.path in {"", "/"}
    path = _LOGS if lacks_path else parts.path
    own = parts.fragment.removeprefix("secret=") or secret
    return NotifyTarget(
        kind=kind,
        host=parts.hostname,
        url=urlunsplit(parts._replace(fragment="", path=path)),
        secret=own if kind in _SIGNED else None,
    )


def _headers(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(","))
    read = {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}
    return {n: v for n, v in read.items() if n and f"{n}{v}".isascii() and f"{n}{v}".isprintable()}


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 (it is checked when it is asked for)
    except ValueError:
        return None
    return parts if parts.scheme in {"http", "https"} else None
