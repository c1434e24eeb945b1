"""A real browser without a window (Debian's chromium and chromedriver), and axe-core."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

needs_browser = pytest.mark.skipif(
    shutil.which("chromedriver") is None or shutil.which("chromium") is None,
    reason="needs a browser: apt-get install chromium chromium-driver",
)

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1200,1600",
)
_AXE = "axe-core@4"


def chrome(profile: Path) -> webdriver.Chrome:
    """A browser with a profile of its own, which keeps what pages say to their console."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=str(shutil.which("chromedriver")))
    return webdriver.Chrome(options=options, service=service)


def complaints(browser: webdriver.Chrome) -> list[Any]:
    """What the console holds of errors since the last call."""
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry for entry in log if entry["level"] == "SEVERE"]


def show(browser: webdriver.Chrome, url: str, *, width: int, theme: str) -> None:
    """Open a page as a screen of this width and theme shows it."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False},
    )
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(url)


def overflow(browser: webdriver.Chrome) -> int:
    """How many pixels the page is wider than the screen."""
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    found = browser.execute_script(script)
    assert isinstance(found, int)
    return found


def axe(config: pytest.Config) -> str:
    """The script of axe-core, fetched once with npm; without it the test is skipped."""
    kept: pytest.Cache | None = getattr(config, "cache", None)
    cache = kept.mkdir("axe-core") if kept else Path(tempfile.gettempdir())
    script = cache / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("needs axe-core: install npm")
        done = subprocess.run(
            [npm, "pack", "--silent", _AXE], cwd=cache, capture_output=True, text=True, check=False
        )
        packed = sorted(cache.glob("axe-core-*.tgz"))
        if done.returncode != 0 or not packed:
            pytest.skip("needs axe-core: npm could not fetch it")
        with tarfile.open(packed[-1]) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            script.write_bytes(member.read())
    return script.read_text(encoding="utf-8")


def violations(browser: webdriver.Chrome, script: str) -> list[str]:
    """What axe-core finds of serious or critical faults: rule, and where."""
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.execute_script(script)
    browser.set_script_timeout(240)
    found = browser.execute_async_script(
        "const done = arguments[0];"
        "axe.run().then((result) => done(result.violations), (error) => done(String(error)))"
    )
    assert isinstance(found, list), found
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:160]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"][:4]
    ]
