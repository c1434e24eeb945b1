"""From the events of a run to log records of OpenTelemetry, sent by its own packages.

Each line of `events.jsonl` becomes one record, named `unhang.<kind>`, with the time at which the
event happened. Who sends a run again sends its events again: a record's `unhang.number` tells.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from unhang import __version__
from unhang.errors import UsageError
from unhang.notify.payloads import severity_of
from unhang.redaction import Redactor
from unhang.screens.feed import EventTail, Feed, RunEvent

if TYPE_CHECKING:
    from opentelemetry._logs import LogRecord
    from opentelemetry.sdk._logs.export import LogRecordExporter

_PERIOD_S = 1.0


@contextmanager
def sending(
    root: Path, endpoint: str, exporter: LogRecordExporter | None = None
) -> Iterator[threading.Event]:
    """Send what happened in a run, and what happens while the context lasts, in the background.

    Args:
        root: the run folder.
        endpoint: of a collector, for OTLP over HTTP; `/v1/logs` where it names no path. Headers,
            certificates and time limits are those of the environment (`OTEL_EXPORTER_OTLP_…`).
        exporter: what sends instead.

    Yields:
        What ends the sending early; whatever had happened by then is sent.

    Raises:
        UsageError: it is no run folder, or the packages are not installed.
    """
    feed = Feed(root)
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import Resource
    except ImportError as error:
        raise UsageError(
            "--otlp needs OpenTelemetry; install it with: pip install 'unhang[otel]'"
        ) from error
    source = {
        "service.name": "unhang",
        "service.version": __version__,
        "host.name": feed.record().host,
        "unhang.run": root.resolve().name,
    }
    provider = LoggerProvider(resource=Resource.create(source), shutdown_on_exit=False)
    exporter = exporter or OTLPLogExporter(endpoint=_address(endpoint))
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = provider.get_logger("unhang", __version__)
    tail = EventTail(feed.folder.events)
    redactor = Redactor([os.environ])
    ended = threading.Event()

    def send() -> None:
        last = False
        while not last:
            last = ended.wait(_PERIOD_S)
            while fresh := tail.fresh():
                for event in fresh:
                    logger.emit(record_of(redactor.tree(event)))

    sender = threading.Thread(target=send, name="unhang-otlp", daemon=True)
    sender.start()
    try:
        yield ended
    finally:
        ended.set()
        sender.join()
        provider.shutdown()


def record_of(event: RunEvent) -> LogRecord:
    """The log record of an event; what is unknown is left out."""
    from opentelemetry._logs import LogRecord, SeverityNumber

    number, name = severity_of(event.kind)
    facts = {"unhang.ranks": event.ranks, "unhang.phase": event.phase}
    return LogRecord(
        timestamp=_nanoseconds(event.at),
        severity_number=SeverityNumber(number),
        severity_text=name,
        event_name=f"unhang.{event.kind}",
        body=event.why,
        attributes={"unhang.number": event.number, **{k: v for k, v in facts.items() if v}},
    )


def _nanoseconds(at: str) -> int | None:
    try:
        return round(datetime.fromisoformat(at).timestamp() * 1_000) * 1_000_000
    except ValueError:
        return None


def _address(endpoint: str) -> str:
    bare = endpoint.rstrip("/")
    return f"{bare}/v1/logs" if bare.count("/") == len("//") else endpoint
