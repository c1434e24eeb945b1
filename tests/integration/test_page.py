"""The page of `unhang serve` in a real browser (Debian's chromium and chromedriver)."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from support.browser import axe, chrome, complaints, needs_browser, overflow, show, violations
from support.chinese import english
from support.run_folders import AT_S, hanging, run_folder, tell_events, training
from unhang.live.run_folder.layout import RunFolder

pytestmark = [pytest.mark.integration, needs_browser]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    driver = chrome(tmp_path / "profile")
    yield driver
    driver.quit()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts the command on a run folder, and gives the address that it prints."""
    started: list[subprocess.Popen[str]] = []

    def serve(root: Path, *options: str) -> str:
        command = [sys.executable, "-m", "unhang", "serve", str(root), "--port", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip()

    yield serve
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


@pytest.fixture
def agent() -> Iterator[Callable[[RunFolder], None]]:
    """Plays the agent of a run: the view of now is written again and again."""
    over = threading.Event()
    threads: list[threading.Thread] = []

    def replace(folder: RunFolder) -> None:
        while not over.wait(0.5):
            folder.standing.touch()

    def watch(folder: RunFolder) -> None:
        threads.append(threading.Thread(target=replace, args=(folder,)))
        threads[-1].start()

    yield watch
    over.set()
    for thread in threads:
        thread.join()


def see(browser: webdriver.Chrome, identity: str, text: str) -> None:
    """Wait until an element shows a text."""
    WebDriverWait(browser, 60).until(
        lambda driver: text in driver.find_element(By.ID, identity).text
    )


def hear(browser: webdriver.Chrome, identity: str, text: str) -> None:
    """Wait until an element tells a text to who listens to it."""
    WebDriverWait(browser, 60).until(
        lambda driver: (
            text in str(driver.find_element(By.ID, identity).get_attribute("textContent"))
        )
    )


def test_a_run_as_it_happens_light_and_dark(
    tmp_path: Path,
    browser: webdriver.Chrome,
    page: Callable[..., str],
    agent: Callable[[RunFolder], None],
    pytestconfig: pytest.Config,
) -> None:
    root = tmp_path / "run"
    folder = run_folder(root, [training(AT_S)], events=1)
    agent(folder)
    browser.get(page(root, "--lang", "en"))
    see(browser, "news", "Nothing is suspected.")
    see(browser, "state", "live")
    see(browser, "command", "torchrun --nproc-per-node 4 train.py")

    run_folder(root, [hanging(AT_S + 7)], events=1)
    folder.events.write_text(
        folder.events.read_text() + '{"at": "2026-09-21T13:47:10+00:00", "kind": "hang_confirmed",'
        ' "culprits": [2], "why": "rank 2 keeps the GIL <script>alert(1)</script>"}\n'
    )
    see(browser, "news", "The job hangs")
    see(browser, "classes", "frozen")
    see(browser, "classes", "tokenise <b>(x)</b>")  # what ranks say is text, never markup
    see(browser, "events", "<script>alert(1)</script>")
    hear(browser, "edges", "ranks 0-1,3 wait for rank 2 (all_reduce #41 default_pg")
    see(browser, "lost", "no space left on device")

    paper = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(paper)
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(paper) != before

    WebDriverWait(browser, 60).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "#heat svg .h-fault")
    )
    heat = browser.find_element(By.CSS_SELECTOR, "#heat svg")
    heat.send_keys(Keys.ARROW_DOWN)
    assert browser.find_element(By.ID, "heat-ranks-at").text.startswith("1 · ")
    assert complaints(browser) == []
    for width, theme in product((420, 1_440, 2_560), ("light", "dark")):
        show(browser, browser.current_url, width=width, theme=theme)
        see(browser, "news", "The job hangs")
        hear(browser, "edges", "ranks 0-1,3 wait for rank 2")
        assert overflow(browser) <= 0
        assert violations(browser, axe(pytestconfig)) == []


def test_before_anything_was_seen_nothing_is_called_well(
    tmp_path: Path, browser: webdriver.Chrome, page: Callable[..., str]
) -> None:
    root = tmp_path / "run"
    run_folder(root, [])
    browser.get(page(root, "--lang", "en"))
    see(browser, "state", "no agent reports any longer")
    assert browser.find_element(By.ID, "news").get_attribute("class") == ""
    assert not browser.find_element(By.ID, "waits").is_displayed()


def test_a_finished_run_in_chinese_can_be_replayed(
    tmp_path: Path, browser: webdriver.Chrome, page: Callable[..., str]
) -> None:
    root = tmp_path / "run"
    standings = [training(AT_S + n) for n in range(20)] + [hanging(AT_S + 20)]
    tell_events(run_folder(root, standings, ended=True))
    browser.get(page(root, "--lang", "zh"))
    see(browser, "state", "已结束")
    see(browser, "news", "作业已卡住")
    see(browser, "events", "开始监视 gn1 上的 rank 0-3")
    hear(browser, "heat", "在等其他 rank")
    shown = browser.find_element(By.TAG_NAME, "body").text
    assert "6.5 秒" in shown
    found = {run for line in shown.split("\n") for run in english(line)}
    assert found == {"keeps the GIL", "no space left on device"}  # said word by word
    browser.execute_script(
        "const at = document.getElementById('at'); at.value = 0;"
        "at.dispatchEvent(new Event('input'));"
    )
    see(browser, "news", "没有可疑之处")


def test_a_page_for_others_needs_its_token(
    tmp_path: Path,
    browser: webdriver.Chrome,
    page: Callable[..., str],
    agent: Callable[[RunFolder], None],
) -> None:
    root = tmp_path / "run"
    agent(run_folder(root, [training(AT_S)]))
    address = page(root, "--host", "0.0.0.0", "--lang", "en").replace("0.0.0.0", "127.0.0.1")
    browser.get(address.partition("?")[0])
    assert "?token=" in browser.find_element(By.TAG_NAME, "body").text
    browser.get(address)
    see(browser, "news", "Nothing is suspected.")
    assert "token" not in browser.current_url
    time.sleep(1.5)
    see(browser, "state", "live")
