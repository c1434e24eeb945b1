"""Prometheus itself reads the alerts, and fires those that a run in trouble earns, no others."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.run_folders import hanging, run_folder
from unhang.redaction import Redactor
from unhang.screens.feed import Feed
from unhang.screens.metrics import metrics

RULES = Path(__file__).parents[3] / "ops" / "prometheus" / "unhang.rules.yml"
PROMTOOL = shutil.which("promtool")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(PROMTOOL is None, reason="needs promtool (Debian's package prometheus)"),
]

LIVE = "unhang_live", "1x90"
STEPS = 'unhang_rank_steps_total{rank="0"}', "0+60x90"
# Each alert: the series of a run in trouble, one sample a minute, and the minute it has to fire by.
TROUBLES: dict[str, tuple[list[tuple[str, str]], str]] = {
    "TrainingHangs": ([LIVE, ('unhang_suspicions{stage="confirmed"}', "0x9 1x80")], "11m"),
    "TrainingStallSuspected": ([LIVE, ('unhang_suspicions{stage="suspected"}', "0x9 1x80")], "14m"),
    "TrainingWithoutSteps": ([LIVE, ('unhang_rank_steps_total{rank="0"}', "50x90")], "50m"),
    "TrainingRestarts": ([LIVE, ("unhang_restarts_total", "0 1 2 3 4 5x80")], "30m"),
    "TrainingHostSilent": ([('unhang_host_report_age_seconds{host="gn1"}', "2x9 90x80")], "11m"),
    "UnhangGoneQuiet": ([("unhang_live", "1x9 0x80")], "20m"),
}
HEALTHY = [
    LIVE,
    STEPS,
    ('unhang_suspicions{stage="confirmed"}', "0x90"),
    ('unhang_suspicions{stage="suspected"}', "0 0 1 0 0x86"),  # over within two minutes
    ("unhang_restarts_total", "0x90"),
    ('unhang_host_report_age_seconds{host="gn1"}', "2x90"),
]


def test_every_alert_has_a_run_that_fires_it() -> None:
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == set(TROUBLES)


@pytest.mark.parametrize("alert", sorted(TROUBLES))
def test_fires_for_a_run_in_trouble(alert: str, tmp_path: Path) -> None:
    series, by = TROUBLES[alert]
    firing = promtool_test(tmp_path, series, [(alert, by)])
    assert firing.returncode, "promtool was told that nothing fires, and agreed"
    assert f"alertname: {alert}" in firing.stdout + firing.stderr or (
        f'alertname="{alert}"' in firing.stdout + firing.stderr
    )


def test_a_healthy_run_fires_none(tmp_path: Path) -> None:
    when = [(alert, minute) for alert in TROUBLES for minute in ("5m", "45m", "80m")]
    quiet = promtool_test(tmp_path, HEALTHY, when)
    assert not quiet.returncode, quiet.stdout + quiet.stderr


def test_the_exposition_is_as_prometheus_wants_it(tmp_path: Path) -> None:
    run_folder(tmp_path, [hanging()])
    text = metrics(Feed(tmp_path), Redactor())
    assert PROMTOOL is not None
    read = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False
    )
    assert not read.returncode, (read.stdout + read.stderr).decode()


@pytest.mark.process
@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs Prometheus")
def test_the_server_loads_the_rules_scrapes_a_run_and_fires(tmp_path: Path) -> None:
    run_folder(tmp_path / "run", [hanging()])
    exposed = metrics(Feed(tmp_path / "run"), Redactor())

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(exposed)

        def log_message(self, *_: object) -> None:
            pass

    page = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    target = f"127.0.0.1:{page.server_port}"
    scraped = {"job_name": "unhang", "static_configs": [{"targets": [target]}]}
    often = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config = tmp_path / "prometheus.yml"
    config.write_text(
        yaml.safe_dump({"global": often, "rule_files": [str(RULES)], "scrape_configs": [scraped]})
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = ["prometheus", f"--config.file={config}", f"--web.listen-address={address}"]
    command.append(f"--storage.tsdb.path={tmp_path / 'data'}")
    with (
        (tmp_path / "server.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as server,
    ):
        try:
            firing: set[str] = set()
            while "TrainingHangs" not in firing:
                assert server.poll() is None, (tmp_path / "server.log").read_text()
                time.sleep(0.3)  # the guard of all tests ends what never fires
                firing = _firing(address)
        finally:
            server.terminate()
            page.shutdown()
            page.server_close()
    assert "UnhangGoneQuiet" not in firing


def _firing(address: str) -> set[str]:
    """Names of the alerts that fire; none as long as the server is not up."""
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/alerts", timeout=5) as answer:
            alerts = json.load(answer)["data"]["alerts"]
    except OSError:
        return set()
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def promtool_test(
    folder: Path, series: list[tuple[str, str]], quiet_at: list[tuple[str, str]]
) -> subprocess.CompletedProcess[str]:
    """Ask promtool whether none of these alerts fires at its minute."""
    expectation: dict[str, Any] = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series],
                "alert_rule_test": [
                    {"eval_time": at, "alertname": alert, "exp_alerts": []}
                    for alert, at in quiet_at
                ],
            }
        ],
    }
    path = folder / "expected.yml"
    path.write_text(yaml.safe_dump(expectation))
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
