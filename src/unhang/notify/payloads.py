"""From an alert in words to what each kind of address takes. Pure: the time is given.

Texts of jobs are put where they are shown as they stand, so that no log line can call a channel
together or hide a link. A title always says `unhang`: bots that demand a keyword can be given that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from unhang.model.ids import format_ranks
from unhang.notify.alert import Alert, Text
from unhang.notify.targets import NotifyTarget, TargetKind
from unhang.reporters.printable import one_line

SCHEMA = "unhang.alert/1"

_SLACK_LIMIT = 2_800
"""Characters; a section of Slack takes 3,000."""
_WECOM_LIMIT = 2_000
"""Bytes; a text of WeCom takes 2,048."""
_DINGTALK_LIMIT = 16_000
"""Bytes; a message of DingTalk takes 20,000."""
_INFO = (9, "INFO")
_SEVERITIES = {
    "stall_suspected": (13, "WARN"),
    "hang_confirmed": (17, "ERROR"),
    "aborted": (17, "ERROR"),
    "jobs_failed": (17, "ERROR"),
}
_CALM = frozenset({"resumed", "captured", "test"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What to send, and where; the address is a secret."""

    url: str = field(repr=False)
    body: Mapping[str, object]


def build(target: NotifyTarget, alert: Alert, text: Text, now_s: float) -> Post:
    """Return what the target takes.

    Args:
        target: whom to tell.
        alert: the facts.
        text: the same in words.
        now_s: seconds since the epoch; signatures hold for an hour.
    """
    match target.kind:
        case TargetKind.WEBHOOK:
            return Post(url=target.url, body=_webhook(alert, text))
        case TargetKind.SLACK:
            return Post(url=target.url, body=_slack(text))
        case TargetKind.FEISHU:
            stamp = _feishu_stamp(target, now_s)
            return Post(url=target.url, body={**stamp, **_feishu(alert, text)})
        case TargetKind.DINGTALK:
            content = _within(f"{text.title}\n{text.plain}", _DINGTALK_LIMIT)
            return Post(
                url=_dingtalk_url(target, now_s),
                body={"msgtype": "text", "text": {"content": content}},
            )
        case TargetKind.WECOM:
            content = _within(f"{text.title}\n{text.plain}", _WECOM_LIMIT)
            return Post(url=target.url, body={"msgtype": "text", "text": {"content": content}})
        case TargetKind.OTLP:
            return Post(url=target.url, body=_otlp(alert, text, now_s))


def _webhook(alert: Alert, text: Text) -> Mapping[str, object]:
    return {
        "schema": SCHEMA,
        "kind": alert.kind,
        "at": alert.at,
        "run": alert.run,
        "host": alert.host,
        "culprits": sorted(alert.culprits),
        "phase": alert.phase,
        "since_s": alert.since_s,
        "cause": alert.cause,
        "summary": alert.summary,
        "folder": alert.folder,
        "failures": list(alert.failures),
        "exclude": list(alert.exclude),
        "title": text.title,
        "text": text.plain,
    }


def _otlp(alert: Alert, text: Text, now_s: float) -> Mapping[str, object]:
    """One log record in the JSON of OTLP; times are those of the sending, in nanoseconds."""
    number, name = severity_of(alert.kind)
    facts = {
        "unhang.at": alert.at,
        "unhang.culprits": format_ranks(alert.culprits),
        "unhang.phase": alert.phase,
        "unhang.since_s": alert.since_s,
        "unhang.cause": alert.cause,
        "unhang.folder": alert.folder,
        "unhang.exclude": ",".join(alert.exclude),
    }
    record = {
        "timeUnixNano": str(int(now_s * 1_000_000_000)),
        "severityNumber": number,
        "severityText": name,
        "eventName": f"unhang.{alert.kind}",
        "body": {"stringValue": f"{text.title}\n{text.plain}"},
        "attributes": _attributes(facts),
    }
    source = {"service.name": "unhang", "host.name": alert.host, "unhang.run": alert.run}
    scope = {"scope": {"name": "unhang"}, "logRecords": [record]}
    resource = {"attributes": _attributes(source)}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def severity_of(kind: str) -> tuple[int, str]:
    """How severe an event is, by the numbers and names of OpenTelemetry."""
    return _SEVERITIES.get(kind, _INFO)


def _attributes(facts: Mapping[str, str | float | None]) -> list[Mapping[str, object]]:
    return [
        {
            "key": key,
            "value": {"stringValue": one_line(value)}
            if isinstance(value, str)
            else {"doubleValue": value},
        }
        for key, value in facts.items()
        if value is not None and value != ""
    ]


def _slack(text: Text) -> Mapping[str, object]:
    lines = [f"*{_escaped(text.title)}*", _escaped(text.summary)]
    lines.extend(f"• {_escaped(label)}: {_escaped(value)}" for label, value in text.facts)
    section = {"type": "mrkdwn", "text": "\n".join(lines)[:_SLACK_LIMIT], "verbatim": True}
    return {"text": _escaped(text.title), "blocks": [{"type": "section", "text": section}]}


def _escaped(text: str) -> str:
    """Slack's three special characters; without them `<!channel>` is only text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _feishu(alert: Alert, text: Text) -> Mapping[str, object]:
    color = "green" if alert.kind in _CALM else "red"
    return {
        "msg_type": "interactive",
        "card": {
            "header": {"title": _feishu_text(text.title), "template": color},
            "elements": [{"tag": "div", "text": _feishu_text(text.plain)}],
        },
    }


def _feishu_text(content: str) -> Mapping[str, str]:
    return {"tag": "plain_text", "content": content}


def _feishu_stamp(target: NotifyTarget, now_s: float) -> Mapping[str, str]:
    """Time and secret are the key; what is signed is empty."""
    if target.secret is None:
        return {}
    stamp = str(int(now_s))
    return {"timestamp": stamp, "sign": _signature(f"{stamp}\n{target.secret}", "")}


def _dingtalk_url(target: NotifyTarget, now_s: float) -> str:
    """The secret is the key; what is signed are time and secret."""
    if target.secret is None:
        return target.url
    stamp = str(int(now_s * 1_000))
    sign = quote_plus(_signature(target.secret, f"{stamp}\n{target.secret}"))
    joint = "&" if "?" in target.url else "?"
    return f"{target.url}{joint}timestamp={stamp}&sign={sign}"


def _signature(key: str, text: str) -> str:
    digest = hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _within(text: str, limit: int) -> str:
    """The beginning that fits into so many bytes."""
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore") + "…"
