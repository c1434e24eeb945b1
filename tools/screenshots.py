"""Take the pictures of the docs: `PYTHONPATH=tools:tests python tools/screenshots.py`.

Each is of what a command writes for input that lies in the repository, so that it can be taken
anew after every change (apt-get install chromium chromium-driver). They are kept small: a few
hundred pixels high, and all together less than 300 kB.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

from support.browser import chrome, show
from support.run_folders import AT_S, hanging, run_folder, training
from support.small_dumps import dumps

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 300_000
_WIDTH = 1_000


def main() -> None:
    """Write all pictures, or fail."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unhang-screenshots-") as name:
        folder = Path(name)
        browser = chrome(folder / "profile")
        try:
            _report(browser, folder)
            _serve(browser, folder)
        finally:
            browser.quit()
        _heatmap(folder)
    taken = sum(path.stat().st_size for path in IMAGES.iterdir())
    print(f"{taken / 1000:.0f} kB in {IMAGES.relative_to(ROOT)}")
    raise SystemExit(taken > MOST_BYTES)


def _report(browser: webdriver.Chrome, folder: Path) -> None:
    """The page of a failed job."""
    case, page = ROOT / "tests/cases/stacks-save-on-rank-0/input", folder / "report.html"
    _unhang("diagnose", str(case), "--format", "html", "--lang", "en", "-o", str(page))
    show(browser, page.as_uri(), width=_WIDTH, theme="light")
    _take(browser, IMAGES / "report.webp", height=900)


def _serve(browser: webdriver.Chrome, folder: Path) -> None:
    """The page of a run that hangs."""
    snapshots = [training(AT_S + n) for n in range(20)]
    snapshots += [hanging(AT_S + 20 + n, "tokenise (data.py:88)") for n in range(9)]
    run_folder(folder / "run", snapshots, ended=True)
    command = [sys.executable, "-m", "unhang", "serve", str(folder / "run"), "--port", "0"]
    server = subprocess.Popen([*command, "--lang", "en"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        show(browser, server.stdout.readline().strip(), width=_WIDTH, theme="light")
        browser.implicitly_wait(20)
        browser.find_element("css selector", "#heat svg .h-fault")
        _take(browser, IMAGES / "serve.webp", height=800)
    finally:
        server.terminate()
        server.communicate(timeout=10)


def _heatmap(folder: Path) -> None:
    """What `unhang timeline` draws of the dumps of four ranks."""
    target = IMAGES / "heatmap.svg"
    _unhang("timeline", str(dumps(folder / "dumps", r3=6)), "--lang", "en", "-o", str(target))


def _unhang(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "unhang", *words], check=True, stdout=subprocess.DEVNULL)


def _take(browser: webdriver.Chrome, path: Path, *, height: int) -> None:
    """The upper part of the page."""
    clip = {"x": 0, "y": 0, "width": _WIDTH, "height": height, "scale": 0.8}
    asked = {"format": "webp", "quality": 70, "clip": clip, "captureBeyondViewport": True}
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", asked)
    path.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main()
