"""Pages show what was seen, and nothing of the machine it was seen on."""

import re
from dataclasses import replace
from pathlib import Path

from rehearsals import page as page_module
from rehearsals.page import in_chinese, patches_of, write_page
from rehearsals.record import AttemptEnd, Live, Rehearsal
from rehearsals.registry import SITUATIONS
from rehearsals.summary import write_summary
from rehearsals.watching import Said
from rehearsals.workplace import SCRIPTS

from unhang.lab.scoring import Judged, Mark
from unhang.model.toml import loads

PRINTED = """step 1 loss 6.2
\x1b[36mWriting model shards:   0%|\x1b[0m
[rank1]: RuntimeError: [/__w/pytorch/gloo/unbound_buffer.cc:129] Timed out waiting 10000ms for send
"""


def rehearsal(*, live: Live | None = None) -> Rehearsal:
    verdict = Judged(
        sources="logs",
        mark=Mark.RIGHT,
        said="checkpoint_slow",
        culprits="0",
        phase="save",
        confidence=0.8,
        fired=("SLO001",),
    )
    frame = 'File "/home/me/.cache/x/lib/python3.11/site-packages/trl/trainer.py", line 9'
    shown = {"logs": "ROOT CAUSE", "everything": frame, "lint": "Nothing is wrong", "fix": "+++ b"}
    return Rehearsal(
        name="trl-slow-save",
        versions={"trl": "1.16.0"},
        before=AttemptEnd(finished=False, seconds=18.2, exit_code=1),
        judged=(verdict,),
        shown=shown,
        after=AttemptEnd(finished=True, seconds=41.0, exit_code=0),
        live=live,
        patient=None if live is None else live,
    )


def page(tmp_path: Path, found: Rehearsal) -> str:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "merged.log").write_text(PRINTED, encoding="utf-8")
    path = write_page(SITUATIONS["trl-slow-save"], found, tmp_path, tmp_path / "pages")
    return path.read_text(encoding="utf-8")


def test_a_page_without_paths_and_colours(tmp_path: Path) -> None:
    text = page(tmp_path, rehearsal())
    assert 'File "site-packages/trl/trainer.py"' in text
    assert "/home/me" not in text
    assert "\x1b" not in text
    assert "Under `unhang run`" not in text


def test_the_places_of_faults_are_short(tmp_path: Path) -> None:
    found = rehearsal()
    found.shown["logs"] = f'File "{SCRIPTS}/site/situation_site/storage.py", line 20'
    assert 'File "situation_site/storage.py", line 20' in page(tmp_path, found)


def test_each_language_shows_what_the_commands_print_in_it(tmp_path: Path) -> None:
    found = rehearsal()
    found.shown["lint.zh"] = "没有问题"
    text = page(tmp_path, found)
    chinese = (tmp_path / "pages" / "trl-slow-save.zh.md").read_text(encoding="utf-8")
    assert ("Nothing is wrong" in text, "没有问题" in text) == (True, False)
    assert ("Nothing is wrong" in chinese, "没有问题" in chinese) == (False, True)
    assert "ROOT CAUSE" in chinese  # a record of before Chinese was kept


def test_a_path_in_brackets_keeps_them(tmp_path: Path) -> None:
    found = rehearsal()
    found.shown["logs"] = "Cure the OSError of rank 1 (/x/site-packages/torch/serialization.py:14)"
    assert "of rank 1 (site-packages/torch/serialization.py:14)" in page(tmp_path, found)


def test_a_program_of_the_rehearsals_has_no_path(tmp_path: Path) -> None:
    found = rehearsal()
    path = Path(page_module.__file__).parent / "scripts" / "site" / "situation_site"
    assert (path / "storage.py").is_file()
    found.shown["logs"] = f'File "{path}/storage.py", line 20'
    assert 'File "situation_site/storage.py", line 20' in page(tmp_path, found)


def test_a_path_that_the_report_broke_is_whole(tmp_path: Path) -> None:
    found = rehearsal()
    first = "  stacks/stack_0.txt:9  /home/me/.cache/lib/python3.11/site-packages/torch/"
    filled = first.ljust(100, "x")
    found.shown["logs"] = f"{filled}\n{'y.py, line 4':>36}\nnext"
    text = page(tmp_path, found)
    assert f"site-packages/torch/{filled.removeprefix(first)}y.py, line 4\nnext" in text


def test_the_words_of_the_failure_and_what_came_before(tmp_path: Path) -> None:
    text = page(tmp_path, rehearsal())
    assert "Writing model shards:   0%|\n" in text
    assert "Timed out waiting 10000ms" in text
    assert "the job finishes: after 41 s, exit code 0" in text


def test_what_the_watch_saw(tmp_path: Path) -> None:
    ending = AttemptEnd(finished=True, seconds=50.0, exit_code=0)
    live = Live(said=Said(named_after_s=6.5, kind="hang_confirmed"), ending=ending)
    text = page(tmp_path, rehearsal(live=live))
    assert "rank 0 is named 6.5 s after the fault" in text
    assert "the job finishes, after 50 s" in text


def test_the_table_has_a_row_for_each(tmp_path: Path) -> None:
    text = write_summary([rehearsal()], tmp_path).read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if "trl-slow-save" in line]
    assert "right: checkpoint_slow of rank 0 (80%)" in row
    assert "finishes, 41 s" in row


def test_success_needs_right_verdicts_and_a_finished_job() -> None:
    assert rehearsal().succeeded


def test_no_success_with_a_false_word_or_with_leftovers() -> None:
    ending = AttemptEnd(finished=False, seconds=9.0, exit_code=1)
    falsely = Live(said=Said(accused=(1,)), ending=ending)
    assert not rehearsal(live=falsely).succeeded
    assert not replace(rehearsal(), left=("process 77",)).succeeded
    wrong = replace(rehearsal().judged[0], mark=Mark.WRONG)
    assert not replace(rehearsal(), judged=(wrong,)).succeeded


def test_a_false_word_is_shown_as_one(tmp_path: Path) -> None:
    ending = AttemptEnd(finished=False, seconds=9.0, exit_code=1)
    found = rehearsal(live=Live(said=Said(accused=(1,)), ending=ending))
    assert "rank 1 is accused, which is wrong" in page(tmp_path, found)
    assert "wrong: rank 1" in write_summary([found], tmp_path).read_text("utf-8")


def test_what_was_left_behind_is_told(tmp_path: Path) -> None:
    found = replace(rehearsal(), left=("port 4711 9",))
    text = write_summary([found], tmp_path).read_text("utf-8")
    assert "Left behind: port 4711 9." in text


def test_both_languages_tell_each_situation(tmp_path: Path) -> None:
    """No sentence lacks its Chinese, both show the same output, and each leads to the other."""
    said = Said(named_after_s=5.0, kind="waiting", accused=())
    live = Live(said=said, ending=AttemptEnd(finished=True, seconds=41.0, exit_code=None))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "merged.log").write_text(PRINTED, encoding="utf-8")
    for name, situation in SITUATIONS.items():
        path = write_page(situation, replace(rehearsal(live=live), name=name), tmp_path, tmp_path)
        english = path.read_text(encoding="utf-8")
        chinese = path.with_suffix(".zh.md").read_text(encoding="utf-8")
        assert f"({name}.zh.md)" in english
        assert f"({name}.md)" in chinese
        assert english.count("```") == chinese.count("```")
        assert english.count("\n## ") == chinese.count("\n## ")
        assert in_chinese(situation.remedy.says) in chinese.split("```")[2]
        assert "{" not in chinese.replace("+++ b", "")


def test_no_chinese_is_left_over_and_values_are_the_same() -> None:
    source = (Path(page_module.__file__)).read_text(encoding="utf-8")
    told = {
        text
        for each in SITUATIONS.values()
        for text in (each.summary, each.remedy.says, each.real, each.played, each.logs_lack)
    }
    told |= {text for each in SITUATIONS.values() for text in patches_of(each).values()}
    words = {"finishes", "fails", "is ended as a hang"}
    table = loads((Path(page_module.__file__).parent / "chinese.toml").read_text("utf-8"))
    for english, chinese in table.items():
        assert english in told | words or english in source
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese))
