"""The terminal screen, driven by Textual's own pilot; pictures of it are kept as SVG."""

from __future__ import annotations

import asyncio
import html
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.widgets import DataTable, RichLog, Static, TabbedContent

from support.chinese import english
from support.run_folders import AT_S, hanging, run_folder, tell_events, training
from unhang.errors import UsageError
from unhang.screens.terminal import Watch

pytestmark = pytest.mark.process

NO_SPACE = "no space left on device"
SNAPSHOTS = Path(__file__).parents[2] / "snapshots"


def drive(app: Watch, steps: Callable[[Pilot[Any]], Awaitable[None]]) -> None:
    """Run the application without a terminal, 110 x 30, and do something with it."""

    app.animation_level = "none"

    async def play() -> None:
        async with app.run_test(size=(110, 30)) as pilot:
            await pilot.pause()
            await steps(pilot)

    asyncio.run(play())


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys, and wait until they are worked off.

    A key may make the footer anew, and the pilot then waits in vain for an answer of the old one.
    """
    with suppress(WaitForScreenTimeout):
        await pilot.press(*keys)
    await pilot.pause()


def words(app: Watch, selector: str) -> str:
    return str(app.query_one(selector, Static).render())


def rows(app: Watch, selector: str) -> list[list[str]]:
    table = app.query_one(selector, DataTable)
    return [[str(cell) for cell in table.get_row_at(n)] for n in range(table.row_count)]


def test_it_follows_a_run(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [training(AT_S)], events=1)
    app = Watch(tmp_path)

    async def steps(pilot: Pilot[Any]) -> None:
        assert "Nothing is suspected." in words(app, "#news")
        assert "live" in words(app, "#head")
        run_folder(tmp_path, [hanging(AT_S + 5)], events=1)
        folder.events.write_text(folder.events.read_text() + '{"kind": "hang_confirmed"}\n')
        app.refresh_views()
        await pilot.pause()
        assert "The job hangs" in words(app, "#news")
        assert rows(app, "#classes")[0][:2] == ["2", "frozen"]
        assert rows(app, "#groups")[0][4:6] == ["0-1,3", "2"]
        assert len(rows(app, "#ranks")) == 4
        app.query_one(TabbedContent).active = "tab-events"
        await pilot.pause()
        lines = [line.text for line in app.query_one("#events", RichLog).lines]
        assert any("hang_confirmed" in line for line in lines)

    drive(app, steps)


def test_two_keys_go_back_and_forth_in_time(tmp_path: Path) -> None:
    run_folder(tmp_path, [training(AT_S + n) for n in range(40)] + [hanging(AT_S + 40)], ended=True)
    app = Watch(tmp_path, replay=True)

    async def steps(pilot: Pilot[Any]) -> None:
        assert "replay" in words(app, "#head")
        assert "Nothing is suspected." in words(app, "#news")
        await press(pilot, "n")
        assert "finished" in words(app, "#head")
        assert "The job hangs" in words(app, "#news")
        await press(pilot, *["comma"] * 12)
        assert "Nothing is suspected." in words(app, "#news")
        await press(pilot, *["full_stop"] * 12)
        assert "finished" in words(app, "#head")

    drive(app, steps)


def test_before_anybody_is_seen(tmp_path: Path) -> None:
    run_folder(tmp_path, [])
    app = Watch(tmp_path, language="zh")

    async def steps(pilot: Pilot[Any]) -> None:
        assert "尚未见到任何训练进程" in words(app, "#news")
        await press(pilot, "comma")
        assert "尚未见到任何训练进程" in words(app, "#news")

    drive(app, steps)


def test_in_chinese_no_tab_holds_an_english_sentence(tmp_path: Path) -> None:
    tell_events(run_folder(tmp_path, [training(AT_S), hanging(AT_S + 5)], ended=True))
    app = Watch(tmp_path, language="zh")
    shown: list[str] = []

    async def steps(pilot: Pilot[Any]) -> None:
        for tab in ("classes", "groups", "heat", "ranks", "events"):
            app.query_one(TabbedContent).active = f"tab-{tab}"
            await pilot.pause()
            await pilot.wait_for_scheduled_animations()
            await pilot.pause(0.2)
            drawn = app.export_screenshot(simplify=True)
            shown.extend(html.unescape(re.sub(r"<[^>]*>", "\n", drawn)).split("\n"))

    drive(app, steps)
    text = " ".join(" ".join(shown).replace("\xa0", " ").split())
    assert "退出" in text
    assert "开始监视 gn1 上的 rank 0-3" in text
    assert "在等其他 rank" in text
    assert not re.search(r"\b(?:quit|palette|earlier)\b", text)
    assert set(english(" ; ".join(shown).replace("\xa0", " "))) <= {"keeps the GIL", NO_SPACE}


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a folder that `unhang run` made"):
        Watch(tmp_path)


@pytest.mark.parametrize("tab", ["classes", "groups", "heat", "ranks"])
def test_pictures(tmp_path: Path, tab: str) -> None:
    """The screen looks as it did: `UNHANG_SNAPSHOTS=write` takes new pictures."""
    samples = [training(AT_S + n) for n in range(30)] + [hanging(AT_S + 30 + n) for n in range(9)]
    run_folder(tmp_path, samples, ended=True)
    app = Watch(tmp_path)
    pictures: list[str] = []

    async def steps(pilot: Pilot[Any]) -> None:
        app.query_one(TabbedContent).active = f"tab-{tab}"
        await pilot.pause()
        await pilot.wait_for_scheduled_animations()
        await pilot.pause(0.2)
        pictures.append(app.export_screenshot(title="unhang watch", simplify=True))

    drive(app, steps)
    kept = SNAPSHOTS / f"watch-{tab}.svg"
    if os.environ.get("UNHANG_SNAPSHOTS") == "write":
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(pictures[0], encoding="utf-8")
    assert _drawing(pictures[0]) == _drawing(kept.read_text(encoding="utf-8"))


def _drawing(svg: str) -> str:
    """Without the numbers that name the picture's own parts."""
    return re.sub(r"terminal-\d+", "terminal", svg)


def test_what_a_check_had_found_of_the_host_that_is_waited_for(tmp_path: Path) -> None:
    run_folder(tmp_path, [hanging(AT_S)], events=1)
    (host,) = {rank.host for rank in hanging(AT_S).ranks if rank.rank == 2}
    suspects = ", ".join(
        f'{{"host": "{name}", "id": "stage.link_lossy", "status": "fail", "why": "{why}"}}'
        for name, why in ((f"{host}.cluster", "3.1 % is sent again"), ("other9", "\\u001b[31mslow"))
    )
    report = f'{{"schema": "unhang.check/1", "hosts": ["a"], "suspects": [{suspects}]}}'
    (tmp_path / "check.json").write_text(report)
    app = Watch(tmp_path)

    async def steps(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert f"Found by an earlier check: {host}.cluster: 3.1 % is sent again" in words(
            app, "#news"
        )
        assert "other9" not in words(app, "#news")
        assert "other9" in words(app, "#lost")
        assert "\x1b" not in words(app, "#lost")

    drive(app, steps)


def test_a_check_that_is_not_there_is_refused(tmp_path: Path) -> None:
    run_folder(tmp_path, [training(AT_S)], events=1)
    with pytest.raises(UsageError, match=r"none\.json cannot be read: No such file"):
        Watch(tmp_path, check=tmp_path / "none.json")
