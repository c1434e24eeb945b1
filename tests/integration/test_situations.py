"""A situation that is ended in its middle leaves nothing behind; its job is a stand-in."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rehearsals.environments import RECBOLE
from rehearsals.rehearsal import rehearse
from rehearsals.situation import Situation, SituationRemedy

from unhang.lab.leftovers import LeftBehind
from unhang.model.causes import Cause

pytestmark = pytest.mark.integration

JOB = """
import os, pathlib, socket, subprocess, sys, tempfile, time
tempfile.mkdtemp()
pathlib.Path(f"/dev/shm/torch_{os.getpid()}_1").touch()
listening = socket.create_server(("127.0.0.1", 0))
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
pathlib.Path("ready").write_text(os.environ["TMPDIR"])
print("up", flush=True)
time.sleep(120)
"""


def stand_in(folder: Path) -> Situation:
    """A job that has a child, a port, shared memory and temporary files, and does not end."""
    (folder / "train.py").write_text(JOB, encoding="utf-8")
    (folder / "train.sh").write_text("#!/bin/sh\nexec python train.py\n", encoding="utf-8")
    return Situation(
        name="stand-in",
        summary="it does not end",
        environment=RECBOLE,
        packages=(),
        job=str(folder),
        fault={"slow_torch_save": {"seconds": 1}},
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        phase=None,
        fails_with="never",
        finishes_with="never",
        remedy=SituationRemedy(says="none", files=("train.sh",), healed=True),
        real="nothing",
        played="everything",
    )


def built(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that counts as built and holds this interpreter."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    RECBOLE.python.parent.mkdir(parents=True)
    RECBOLE.python.symlink_to(sys.executable)
    (RECBOLE.folder / "ready.json").write_text('{"seconds": 1.0}', encoding="utf-8")


def end_when_up(printed: Path, number: signal.Signals) -> None:
    """Send a signal to this process once it reads what the job prints."""
    while not printed.is_file() or "up" not in printed.read_text():
        time.sleep(0.05)
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_ended_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    built(tmp_path / "cache", monkeypatch)
    (tmp_path / "job").mkdir()
    out = tmp_path / "out"
    ready = out / "job" / "ready"
    threading.Thread(
        target=end_when_up, args=(out / "logs" / "merged.log", number), daemon=True
    ).start()
    with LeftBehind(out) as left, pytest.raises(SystemExit):
        rehearse(stand_in(tmp_path / "job"), out, live=False, tell=print)
    assert left.names() == []
    assert not Path(ready.read_text()).exists()
