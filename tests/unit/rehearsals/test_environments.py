"""Environments are built once, and a failure of pip is one sentence."""

from pathlib import Path

import pytest
from rehearsals import environments
from rehearsals.environments import HUGGING_FACE, OPEN_CLIP, EnvironmentNotBuiltError, build


def test_what_is_built_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    called: list[list[str]] = []
    monkeypatch.setattr(environments, "_call", lambda command, _: called.append(command))
    build(OPEN_CLIP)
    venv, pins, overlay = called
    assert venv[-1] == str(OPEN_CLIP.folder)
    assert "torch==2.13.0" in pins
    assert overlay[-2:] == [str(OPEN_CLIP.overlay("2.32.0")), "open_clip_torch==2.32.0"]
    assert OPEN_CLIP.is_ready
    assert OPEN_CLIP.build_s is not None
    assert build(OPEN_CLIP) == 0.0
    assert len(called) == 3


def test_what_a_first_job_would_compile_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    called: list[list[str]] = []
    monkeypatch.setattr(environments, "_call", lambda command, _: called.append(command))
    build(HUGGING_FACE)
    compilation = [str(HUGGING_FACE.python), "-c", HUGGING_FACE.compiled]
    assert called[-1] == compilation
    assert HUGGING_FACE.variables["TORCH_EXTENSIONS_DIR"].startswith(str(HUGGING_FACE.folder))
    assert build(HUGGING_FACE) == 0.0
    (HUGGING_FACE.folder / "compiled.txt").unlink()
    called.clear()
    assert build(HUGGING_FACE) > 0.0
    assert called == [compilation]


def test_what_was_begun_and_not_finished_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environments, "_call", lambda *_: None)
    OPEN_CLIP.folder.mkdir(parents=True)
    (OPEN_CLIP.folder / "half").touch()
    build(OPEN_CLIP)
    assert not (OPEN_CLIP.folder / "half").exists()


@pytest.mark.process
def test_the_last_words_of_a_step_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    OPEN_CLIP.folder.mkdir(parents=True)
    with pytest.raises(EnvironmentNotBuiltError, match=r"'open_clip'.*ended with 3: no such pin"):
        environments._call(["sh", "-c", "echo no such pin; exit 3"], OPEN_CLIP)
