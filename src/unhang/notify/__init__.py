"""Tells people where they are: webhook, Slack, Feishu (Lark), DingTalk, WeCom, OpenTelemetry.

    targets = read_targets(["https://hooks.slack.com/services/…"])
    tell(targets, alert, language="zh", report=print)

Nothing here raises into its caller once the addresses have been read, and no address or secret is
ever printed: an address of a chat *is* a secret.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from unhang.notify.alert import Alert
from unhang.notify.sending import Delivery, deliver
from unhang.notify.targets import VARIABLE, NotifyTarget, TargetKind, read_targets

__all__ = [
    "VARIABLE",
    "Alert",
    "Delivery",
    "NotifyTarget",
    "TargetKind",
    "read_targets",
    "send",
    "tell",
]


def send(
    targets: Sequence[NotifyTarget], alert: Alert, *, language: str = "en"
) -> tuple[Delivery, ...]:
    """Send an alert everywhere, one after the other, and say what became of each. Never raises."""
    return tuple(deliver(target, alert, language) for target in targets)


def tell(
    targets: Sequence[NotifyTarget],
    alert: Alert,
    *,
    language: str = "en",
    report: Callable[[Delivery], None] | None = None,
) -> None:
    """Send an alert everywhere at once, in the background; returns immediately.

    Args:
        targets: whom to tell.
        alert: what happened.
        language: of the text, `en` or `zh`.
        report: is told what became of each, from another thread.
    """
    for target in targets:
        threading.Thread(
            target=_tell_one,
            args=(target, alert, language, report),
            name=f"unhang-notify-{target.kind.value}",
            daemon=True,
        ).start()


def _tell_one(
    target: NotifyTarget, alert: Alert, language: str, report: Callable[[Delivery], None] | None
) -> None:
    delivery = deliver(target, alert, language)
    if report is not None:
        report(delivery)
