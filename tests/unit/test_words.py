"""The words of logs: of letters, from lines that differ, of all logs together."""

from pathlib import Path

import pytest

from unhang.engine.gather import gather
from unhang.engine.words import words_of_text
from unhang.sources.discover import discover


def counted(text: str) -> dict[str, int]:
    return {word: told.lines for word, told in words_of_text(text, "log").items()}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/opt/run/x.py: OutOfMemoryError 0x7f", {"out", "memory", "error"}),
        ("[rank3]: CUDA_VISIBLE_DEVICES=0,1", {"rank", "cuda", "visible", "devices"}),
        ("see /data/alice/secret/project for it", {"see", "for"}),
        (
            "File trainer.py, line 3, in _save_checkpoint",
            {"file", "trainer", "line", "save", "checkpoint"},
        ),
    ],
)
def test_words_are_of_letters_and_not_of_folders(line: str, words: set[str]) -> None:
    assert words <= set(counted(line)) <= words | {"file"}


def test_lines_that_differ_in_numbers_count_once() -> None:
    assert counted("step 1 loss 2.5\nstep 2 loss 2.4\nloss is nan\n")["loss"] == 2
    assert counted("step 1 loss 2.5\nstep 2 loss 2.4\n")["step"] == 1


def test_words_of_several_logs_are_added_and_keep_their_first_place(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1\nwaiting for peers\n")
    (tmp_path / "b.log").write_text("still waiting\n")
    gathered = gather(discover([str(tmp_path)]))
    names = [artifact.name for artifact in gathered.artifacts]
    found = gathered.words_in(names)["waiting"]
    assert (found.lines, found.source.line) == (2, 2)
    assert "peers" not in gathered.words_in(names[1:])
    assert gathered.words_in([]) == {}
