"""The events of a run as log records of OpenTelemetry, as its own packages make and send them."""

from __future__ import annotations

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.run_folders import run_folder, training
from unhang.errors import UsageError
from unhang.screens.telemetry import sending

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult

HANG = (
    '{"at": "2026-06-02T15:42:07.250+00:00", "kind": "hang_confirmed", "culprits": [2, 3],'
    ' "phase": "save", "why": "ranks 2-3 save, token=abcdefghijklmnopqrstuvwxyz0123456789"}\n'
)
RESUMED = '{"at": "soon", "kind": "resumed", "why": "it moves on"}\n'


class Kept(LogRecordExporter):
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.records: list[ReadableLogRecord] = []

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        self.records.extend(batch)
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        pass

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


def test_what_happened_and_what_happens(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [training()])
    folder.events.write_text(HANG)
    exporter = Kept()
    with sending(tmp_path, "http://collector:4318", exporter) as ended:
        with folder.events.open("a") as events:
            events.write(RESUMED)
        ended.set()
    hang, resumed = exporter.records
    record = hang.log_record
    assert (record.event_name, record.severity_text) == ("unhang.hang_confirmed", "ERROR")
    assert record.timestamp == 1_780_414_927_250_000_000
    assert dict(record.attributes or {}) == {
        "unhang.number": 1,
        "unhang.ranks": "2,3",
        "unhang.phase": "save",
    }
    assert "abcdefghijklmnopqrstuvwxyz" not in str(record.body)
    assert hang.resource.attributes["service.name"] == "unhang"
    assert hang.resource.attributes["unhang.run"] == tmp_path.name
    assert (resumed.log_record.timestamp, resumed.log_record.severity_text) == (None, "INFO")


@pytest.mark.process
def test_a_collector_on_this_host_is_sent_them(tmp_path: Path) -> None:
    bodies: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            bodies.append((self.path, data))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    folder = run_folder(tmp_path, [training()])
    folder.events.write_text(HANG)
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        Thread(target=collector.serve_forever, daemon=True).start()
        with sending(tmp_path, f"http://127.0.0.1:{collector.server_port}") as ended:
            ended.set()
        collector.shutdown()
    ((path, data),) = bodies
    assert path == "/v1/logs"
    request = ExportLogsServiceRequest.FromString(data)
    (record,) = request.resource_logs[0].scope_logs[0].log_records
    assert record.event_name == "unhang.hang_confirmed"


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(UsageError, match=r"run\.json"),
        sending(tmp_path, "http://collector:4318"),
    ):
        pass
