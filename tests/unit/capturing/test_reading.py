"""A read that never ends costs itself only; so does a program, which goes with its children."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from unhang.capturing import reading
from unhang.capturing.bounded import find_program, run
from unhang.capturing.reading import ReadRequest, kept_readers, read

pytestmark = pytest.mark.process

STUCK = """
import marshal, sys, time
def say(head, data):
    frame = marshal.dumps((head, data))
    sys.stdout.buffer.write(len(frame).to_bytes(8, "little") + frame)
    sys.stdout.flush()
for number, (action, path, limit) in enumerate(marshal.load(sys.stdin.buffer)):
    say({"begins": number}, b"")
    if path.startswith("stuck"):
        time.sleep(600)
    say({"number": number}, b"ok")
"""
"""Stands in for the reader where a read hangs in the kernel, which no test can make happen."""


def test_files_folders_and_links_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0123456789")
    (tmp_path / "b").symlink_to("a")
    one, two, three, names, links, space, none = read(
        [
            ReadRequest(f"{tmp_path}/a"),
            ReadRequest(f"{tmp_path}/a", "head", 4),
            ReadRequest(f"{tmp_path}/a", "tail", 4),
            ReadRequest(str(tmp_path), "list", 10),
            ReadRequest(str(tmp_path), "links", 10),
            ReadRequest(str(tmp_path), "space"),
            ReadRequest(f"{tmp_path}/none"),
        ],
        limit_s=20,
    )
    assert (one.text, one.cut, one.size_bytes) == ("0123456789", False, 10)
    assert (two.text, two.cut) == ("0123", True)
    assert (three.text, three.cut) == ("6789", True)
    assert names.names == ["a", "b"]
    assert links.links == {"b": "a"}
    assert space.space["f_bavail"] > 0
    assert none.gone
    assert none.error == "No such file or directory"


def test_a_pipe_is_not_read_for_its_bytes_belong_to_others(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (answer,) = read([ReadRequest(f"{tmp_path}/pipe")], limit_s=20)
    assert answer.error == "it is not a regular file"


def test_a_read_that_hangs_costs_itself_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(STUCK)
    monkeypatch.setattr(reading, "_CHILD", str(child))
    paths = ("a", "stuck1", "b", "stuck2", "c")
    begun = time.monotonic()
    answers = list(read([ReadRequest(path) for path in paths], limit_s=60, stall_s=2))
    assert time.monotonic() - begun < 30
    assert [a.text for a in answers] == ["ok", "", "ok", "", "ok"]
    assert [a.stalled for a in answers] == [False, True, False, True, False]


def test_when_the_time_is_up_the_rest_is_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(STUCK)
    monkeypatch.setattr(reading, "_CHILD", str(child))
    begun = time.monotonic()
    answers = list(
        read([ReadRequest("stuck"), ReadRequest("a"), ReadRequest("b")], limit_s=1.0, stall_s=60)
    )
    assert time.monotonic() - begun < 40
    assert [a.stalled for a in answers] == [True, True, True]


def test_a_reader_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = tmp_path / "child.py"
    child.write_text("import sys; sys.stdin.read(1); sys.exit(1)")
    monkeypatch.setattr(reading, "_CHILD", str(child))
    answers = list(read([ReadRequest("a"), ReadRequest("b")], limit_s=20))
    assert [a.error for a in answers] == ["its reader ended"] * 2


def test_one_reader_serves_all_who_ask_within_and_none_is_left() -> None:
    own = [ReadRequest("/proc/self/stat")]
    with kept_readers():
        (first,), (second,) = (list(read(own, limit_s=20)) for _ in range(2))
        pid = int(first.text.split()[0])
        assert int(second.text.split()[0]) == pid
        assert _is_running(pid)
    assert not _is_running(pid)


def test_a_reader_that_hangs_is_asked_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(STUCK)
    monkeypatch.setattr(reading, "_CHILD", str(child))
    with kept_readers():
        (answer,) = read([ReadRequest("stuck")], limit_s=60, stall_s=2)
        assert answer.stalled
        (answer,) = read([ReadRequest("a")], limit_s=60, stall_s=2)
    assert answer.text == "ok"


def test_a_program_is_ended_with_its_children_and_what_it_said_is_kept() -> None:
    program = (
        "import os, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print(child.pid, flush=True);"
        "time.sleep(600)"
    )
    begun = time.monotonic()
    ran = run((sys.executable, "-c", program), limit_s=10.0, limit_bytes=1_000)
    assert time.monotonic() - begun < 40
    assert (ran.code, ran.timed_out) == (None, True)
    assert not _is_running(int(ran.out))


def _is_running(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def test_a_program_that_says_too_much_is_cut() -> None:
    ran = run((sys.executable, "-c", "print('x' * 300_000)"), limit_s=20, limit_bytes=1_000)
    assert (ran.code, len(ran.out), ran.cut) == (0, 1_000, True)


def test_a_program_that_closes_its_output_and_stays_is_ended() -> None:
    program = "import os, time; os.close(1); os.close(2); time.sleep(600)"
    ran = run((sys.executable, "-c", program), limit_s=2.0, limit_bytes=10)
    assert ran.timed_out


def test_programs_are_found_beside_the_interpreter() -> None:
    assert find_program("python") is not None
    assert find_program("no-such-program-anywhere") is None


def test_the_reader_imports_nothing_of_ours() -> None:
    program = (
        "import sys, json; sys.argv=['x']; import runpy; "
        f"runpy.run_path({reading._CHILD!r}, run_name='x'); "
        "print(json.dumps([m for m in sys.modules if m.startswith('unhang')]))"
    )
    ran = run((sys.executable, "-I", "-S", "-c", program), limit_s=20, limit_bytes=10_000)
    assert json.loads(ran.out) == []
