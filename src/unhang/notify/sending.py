"""Sends one alert to one address: without secrets, bounded in time and tries; it never raises.

What went wrong is said without the address: with it anybody could write to the chat.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from unhang.notify.alert import Alert, in_words
from unhang.notify.payloads import Post, build
from unhang.notify.targets import NotifyTarget, TargetKind
from unhang.redaction import Redactor

TRIES = 3
_TIMEOUT_S = 8.0
_PAUSES_S = (1.0, 4.0)
_MOST_PAUSE_S = 20.0
_ANSWER_BYTES = 64 << 10
_TEXT_LIMIT = 200
_BUSY = frozenset({45009, 130101, 660026, 11232, 9499})
"""Codes of WeCom, DingTalk and Feishu for too many messages at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of an alert.

    Attributes:
        target: the name of the address, never the address.
        tries: how often it was sent.
        failure: why it did not arrive, or None when it did.
    """

    target: str
    tries: int
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What one try gave; `again_s` None means that trying again is of no use."""

    failure: str | None
    again_s: float | None = None


def deliver(
    target: NotifyTarget,
    alert: Alert,
    language: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Delivery:
    """Send, at most `TRIES` times. Never raises."""
    tries, answer = 0, _Answer(failure="it was not tried")
    try:
        alert = Redactor([os.environ]).tree(alert)
        text = in_words(alert, language)
        for pause_s in (*_PAUSES_S, None):
            tries += 1
            answer = _try(target, build(target, alert, text, time.time()))
            if answer.failure is None or answer.again_s is None or pause_s is None:
                break
            sleep(min(max(pause_s, answer.again_s), _MOST_PAUSE_S))
    except Exception as error:  # who watches a job must not fall over its mail
        answer = _Answer(failure=type(error).__name__)
    failure = None if answer.failure is None else _without_secrets(answer.failure, target)
    return Delivery(target=target.name, tries=tries, failure=failure)


def _try(target: NotifyTarget, post: Post) -> _Answer:
    request = urllib.request.Request(  # noqa: S310 (only http and https are read)
        post.url,
        data=json.dumps(post.body, ensure_ascii=False).encode(errors="replace"),
        headers={
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "unhang",
            **target.headers,
        },
        method="POST",
    )
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_S) as response:
            return _judge(target.kind, response.read(_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            return _refusal(error)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return _Answer(failure=f"{type(error).__name__}: {reason}"[:_TEXT_LIMIT], again_s=0.0)


def _refusal(error: urllib.error.HTTPError) -> _Answer:
    text = error.read(_TEXT_LIMIT).decode(errors="replace").strip()
    failure = f"HTTP {error.code} {error.reason}{': ' if text else ''}{text}"
    if error.code != 429 and error.code < 500:
        return _Answer(failure=failure)
    wait = error.headers.get("Retry-After", "")
    return _Answer(failure=failure, again_s=float(wait) if wait.isdigit() else 0.0)


def _judge(kind: TargetKind, answer: bytes) -> _Answer:
    """Chats of China and OpenTelemetry answer 200 and say in the text whether they took it."""
    if kind in {TargetKind.WEBHOOK, TargetKind.SLACK} or (
        kind is TargetKind.OTLP and not answer.strip()
    ):
        return _Answer(failure=None)
    try:
        told = json.loads(answer)
    except ValueError:
        return _Answer(failure="its answer is not JSON")
    if not isinstance(told, dict):
        return _Answer(failure="its answer is not an object")
    if kind is TargetKind.OTLP:
        part = told.get("partialSuccess") or {}
        refused = str(part.get("rejectedLogRecords") or "0") != "0"
        why = str(part.get("errorMessage") or "it was rejected")[:_TEXT_LIMIT]
        return _Answer(failure=why if refused else None)
    names = ("code", "StatusCode") if kind is TargetKind.FEISHU else ("errcode",)
    code = next((told[name] for name in names if name in told), None)
    if code == 0:
        return _Answer(failure=None)
    said = str(told.get("msg") or told.get("errmsg") or "no message")[:_TEXT_LIMIT]
    return _Answer(failure=f"code {code}: {said}", again_s=0.0 if code in _BUSY else None)


def _without_secrets(text: str, target: NotifyTarget) -> str:
    """An address may stand in the message of an error, whole or in part."""
    parts = urlsplit(target.url)
    of_url = (target.url, parts.path.strip("/"), parts.query, parts.netloc)
    secrets = (*of_url, target.secret, *target.headers.values())
    for secret in secrets:
        if secret and secret != target.host:
            text = text.replace(secret, "…")
    return text


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An address that sends us elsewhere is not followed: the alert would go to strangers."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


_OPENER = urllib.request.build_opener(_NoRedirect)
