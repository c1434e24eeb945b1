"""The HTML report in a real browser: small and wide, light and dark, by keyboard, on paper."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from support.browser import axe, chrome, complaints, needs_browser, overflow, show, violations
from support.diagnoses import hostile, large
from support.pages import check_report, fleet
from support.run_folders import AT_S, hanging, run_folder, training
from support.small_dumps import dumps
from unhang import diagnose, plan
from unhang.comparing import compare_runs
from unhang.model.comparison import RunFacts
from unhang.model.diagnosis import Diagnosis, Excerpt
from unhang.model.provenance import Provenance, say
from unhang.reporters.check import render_check
from unhang.reporters.compare import render_comparison
from unhang.reporters.fleet import render_fleet
from unhang.reporters.html import render
from unhang.reporters.plan import render_plan
from unhang.reporters.style import Style
from unhang.reporters.timeline import render_heatmap
from unhang.tracing import activity_of, make_trace

pytestmark = [pytest.mark.integration, needs_browser]

CASES = Path(__file__).parents[1] / "cases"
LINE = "<script>document.title = 'owned'</script> <img src=x onerror=alert(1)> \x1b[31m\u202e "
LONG = LINE + "x" * (1 << 20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    driver = chrome(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def evil() -> Diagnosis:
    """Hostile text in every field, and around the evidence lines of a megabyte."""
    told = hostile()
    leading = told.candidates[0]
    source = Provenance(artifact="a.log", line=2, text=LINE)
    return replace(
        told,
        candidates=(replace(leading, evidence=(source,)), *told.candidates[1:]),
        excerpts={("a.log", 2): Excerpt(1, f"one\n{LONG}\n![x](http://evil/x.png)")},
    )


def waits() -> str:
    """What `unhang timeline -o FILE.html` writes."""
    with TemporaryDirectory() as folder:
        trace = make_trace([str(dumps(Path(folder) / "dumps", r3=6))])
    return render_heatmap(trace, activity_of(trace))


def comparison() -> str:
    before = [RunFacts(name=str(i), hours=4.0, failed=True) for i in range(6)]
    after = [RunFacts(name=LINE, hours=72.0, failed=True)]
    return render_comparison(compare_runs(before, after), "html")


def planned() -> str:
    made = plan(
        "llama-3-8b", world=8, gpu_memory="24GB", seq=4096, write_speed="1GB/s", eval_s="2h",
        framework="trl",
    )  # fmt: skip
    return render_plan(replace(made, notes=(say("plan.unread", "{file}", file=LINE),)), "html")


def run() -> str:
    """What `unhang diagnose RUN --format html` writes."""
    with TemporaryDirectory() as folder:
        run_folder(Path(folder), [training(AT_S), hanging(AT_S + 60)], ended=True, events=3)
        return render(diagnose(folder))


PAGES: dict[str, Callable[[], str]] = {
    "hostile": lambda: render(evil()),
    "large": lambda: render(large(1_024)),
    "huge": lambda: render(large(16_384)),
    "fleet": lambda: render_fleet(fleet(600), "html"),
    "check": lambda: render_check(check_report(), "html"),
    "compare": comparison,
    "plan": planned,
    "timeline": waits,
    "run": run,
}


@pytest.fixture(scope="module", params=[*PAGES, "demo", "stacks-save-on-rank-0"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report."""
    path = tmp_path_factory.mktemp("pages") / "report.html"
    if request.param in PAGES:
        path.write_text(PAGES[request.param](), encoding="utf-8")
    else:
        case = str(CASES / request.param / "input")
        command = [
            sys.executable,
            "-m",
            "unhang",
            "diagnose",
            case,
            "--format",
            "html",
            "-o",
            str(path),
        ]
        subprocess.run(command, check=True)
    assert path.stat().st_size < 3 << 20
    return path.as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1_440, 2_560])
def test_it_fits_says_nothing_to_the_console_and_can_be_read_by_all(
    page: str, browser: webdriver.Chrome, width: int, theme: str, pytestconfig: pytest.Config
) -> None:
    show(browser, page, width=width, theme=theme)
    assert "unhang" in browser.title
    assert overflow(browser) <= 0
    for closed in browser.find_elements(By.CSS_SELECTOR, "details:not([open]) > summary"):
        browser.execute_script("arguments[0].parentElement.open = true", closed)
    assert overflow(browser) <= 0
    assert complaints(browser) == []
    assert violations(browser, axe(pytestconfig)) == []


def test_whatever_a_log_holds_is_text(tmp_path: Path, browser: webdriver.Chrome) -> None:
    path = tmp_path / "report.html"
    path.write_text(render(evil()), encoding="utf-8")
    show(browser, path.as_uri(), width=1_200, theme="light")
    assert browser.find_elements(By.TAG_NAME, "img") == []
    body = browser.execute_script("return document.body.textContent")
    assert isinstance(body, str)
    assert "<img src=x onerror=alert(1)>" in body
    assert "![x](http://evil/x.png)" in body
    assert browser.title != "owned"
    assert complaints(browser) == []


def test_by_keyboard_and_on_paper(tmp_path: Path, browser: webdriver.Chrome) -> None:
    path = tmp_path / "report.html"
    told = large(64)
    source = told.candidates[0].evidence[0]
    assert source.line is not None
    excerpt = Excerpt(source.line - 1, f"before\n{source.text}\nafter")
    told = replace(told, excerpts={(source.artifact, source.line): excerpt})
    path.write_text(render(told, Style(language="zh")), encoding="utf-8")
    show(browser, path.as_uri(), width=1_200, theme="light")
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("class") == "skip"

    heat = browser.find_element(By.CSS_SELECTOR, "svg[data-cells=heat-ranks]")
    heat.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    cell = browser.find_element(By.ID, "heat-ranks-at").text
    assert cell.startswith("1 · ")
    assert cell.endswith("工作中")

    summary = browser.find_element(By.CSS_SELECTOR, "#why summary")
    opened = summary.find_element(By.XPATH, "..")
    before = opened.get_attribute("open")
    summary.send_keys(Keys.ENTER)
    assert opened.get_attribute("open") != before

    button = browser.find_element(By.CSS_SELECTOR, "button[data-copy]")
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button
    )
    button.click()
    WebDriverWait(browser, 20, 0.1).until(lambda _: button.text == "已复制")
    area = "const a = document.createElement('textarea'); document.body.append(a); a.focus();"
    browser.execute_script(area)
    browser.switch_to.active_element.send_keys(Keys.CONTROL, "v")
    pasted = browser.switch_to.active_element.get_attribute("value")
    assert pasted is not None
    assert pasted.startswith("dist.init_process_group(\n    timeout=")

    paper = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(paper)
    browser.find_element(By.ID, "theme").click()
    assert browser.execute_script(paper) != light
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.find_elements(By.CSS_SELECTOR, "details:not([open])") == []
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})
    assert len(printed["data"]) > 10_000
    assert complaints(browser) == []
