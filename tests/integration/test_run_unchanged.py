"""`unhang run -- COMMAND` is COMMAND: bytes, terminal, signals, exit code, and no orphans."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

Command = Sequence[str]


def watched(folder: Path, command: Command) -> list[str]:
    """The command line of the same command, watched."""
    return [sys.executable, "-m", "unhang", "run", "--out", str(folder), "--", *command]


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def piped(command: Command, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, capture_output=True, check=False, timeout=200, **options)  # type: ignore[call-overload, no-any-return]


def without_ours(error: bytes) -> bytes:
    """Standard error without our own lines."""
    return b"".join(
        line for line in error.splitlines(keepends=True) if not line.startswith(b"unhang: ")
    )


def record_of(folder: Path) -> dict[str, object]:
    data = json.loads((folder / "run.json").read_text())
    assert isinstance(data, dict)
    return data


def lost_in(folder: Path) -> set[str]:
    """Codes of what the record says was lost; each comes with a sentence."""
    lost = record_of(folder)["lost"]
    assert isinstance(lost, list)
    assert all(loss["text"] and not loss["text"].startswith("lost.") for loss in lost)
    return {loss["code"] for loss in lost}


def wait_for(condition: Callable[[], object], seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def marked(folder: Path) -> list[int]:
    """Processes of the job of that run that are alive."""
    mark = f"UNHANG_RUN={folder}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
    return found


BOTH = "import os,sys; os.write(1,b'out\\x00\\xff\\n'); os.write(2,b'err\\x80'); sys.exit(3)"


@pytest.mark.parametrize(
    "code",
    [
        BOTH,
        "pass",
        "import os,signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; print('half a line', end='', flush=True); os.abort()",
        "import sys; print(repr(sys.stdin.read()), sys.stdout.isatty(), sys.stderr.isatty())",
    ],
)
def test_bytes_streams_and_exit_code(code: str, tmp_path: Path) -> None:
    alone = piped(python(code), input=b"typed\n")
    run = piped(watched(tmp_path / "run", python(code)), input=b"typed\n")
    assert run.stdout == alone.stdout
    assert without_ours(run.stderr).removesuffix(b"\n") == alone.stderr.removesuffix(b"\n")
    expected = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
    assert run.returncode == expected
    assert record_of(tmp_path / "run")["exit_code"] == expected


def test_ten_megabytes_of_anything_and_their_copy(tmp_path: Path) -> None:
    code = (
        "import random,sys; r=random.Random(7)\n"
        "for _ in range(160): sys.stdout.buffer.write(r.randbytes(65536))"
    )
    alone = piped(python(code))
    run = piped(watched(tmp_path / "run", python(code)))
    assert len(alone.stdout) == 160 * 65536
    assert hashlib.sha256(run.stdout).digest() == hashlib.sha256(alone.stdout).digest()
    copy = next((tmp_path / "run" / "output").glob("*/stdout.log")).read_bytes()
    stamp = len("2026-11-21T07:00:00.123456+00:00 ")
    assert b"\n".join(line[stamp:] for line in copy.split(b"\n")) == alone.stdout
    assert lost_in(tmp_path / "run") == {"nothing_seen"}


def test_one_file_for_both_streams_keeps_their_order(tmp_path: Path) -> None:
    code = "import os\nfor n in range(500): os.write(1 + n % 2, b'%d\\n' % n)"
    together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    run = subprocess.run(  # type: ignore[call-overload]
        watched(tmp_path / "run", python(code)), check=False, timeout=200, **together
    )
    numbers = [line for line in run.stdout.splitlines() if not line.startswith(b"unhang: ")]
    assert numbers == [b"%d" % n for n in range(500)]


def test_output_comes_at_once(tmp_path: Path) -> None:
    code = "import time; print('first', flush=True); time.sleep(30)"
    run = subprocess.Popen(
        watched(tmp_path / "run", python(code)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"first\n"
    run.terminate()
    assert run.wait(200) == 128 + signal.SIGTERM
    run.stdout.close()


def test_a_reader_that_leaves_ends_the_job(tmp_path: Path) -> None:
    run = subprocess.Popen(
        watched(tmp_path / "run", ["yes"]), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    assert run.stdout.read(4) == b"y\ny\n"
    run.stdout.close()
    assert run.wait(200) == 128 + signal.SIGPIPE


def test_a_reader_that_pauses_pauses_the_job_and_nothing_else(tmp_path: Path) -> None:
    run = subprocess.Popen(
        watched(tmp_path / "run", ["yes"]), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )

    def copied() -> int:
        return sum(path.stat().st_size for path in (tmp_path / "run" / "output").rglob("*.log"))

    wait_for(copied)
    time.sleep(1.5)
    size = copied()
    run.terminate()
    assert run.stdout is not None
    while run.stdout.read(1 << 16):
        pass
    run.stdout.close()
    assert run.wait(200) == 128 + signal.SIGTERM
    assert size < 8 << 20, "what nobody read was not carried"


@pytest.mark.parametrize(
    ("number", "to_all"),
    [
        *((n, False) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)),
        (signal.SIGUSR1, False),
        (signal.SIGTERM, True),
        (signal.SIGINT, True),
    ],
)
def test_a_signal_to_us_reaches_the_job_once(number: int, to_all: bool, tmp_path: Path) -> None:
    code = (
        "import signal,sys,time\n"
        "seen=[]\n"
        f"signal.signal({int(number)}, lambda n,f: seen.append(n))\n"
        "print('ready', flush=True)\n"
        "end=time.monotonic()+20\n"
        "while not seen and time.monotonic()<end: time.sleep(0.02)\n"
        "time.sleep(0.6); print(seen, flush=True); sys.exit(7)"
    )

    def prepare() -> None:
        os.setpgid(0, 0)
        # A test run in the background (or under nohup) hands down that some signals are ignored.
        signal.signal(number, signal.SIG_DFL)

    run = subprocess.Popen(
        watched(tmp_path / "run", python(code)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=prepare,  # noqa: PLW1509 (no threads here)
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"ready\n"
    (os.killpg if to_all else os.kill)(run.pid, number)
    assert run.stdout.readline() == b"[%d]\n" % number
    run.stdout.close()
    assert run.wait(200) == 7


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, command: Command, rows: int = 40, columns: int = 117) -> None:
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)  # whatever the caller ignores
            os.execvp(command[0], list(command))
        self.resize(rows, columns)
        self.seen = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def type(self, text: bytes) -> None:
        os.write(self.handle, text)

    def wait_for(self, text: bytes, seconds: float = 200) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            rest = deadline - time.monotonic()
            assert rest > 0, self.seen
            if select.select([self.handle], [], [], rest)[0]:
                self.seen += self._read()

    def finish(self) -> int:
        while data := self._read():
            self.seen += data
        _, status = os.waitpid(self.pid, 0)
        os.close(self.handle)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bytes:
        try:
            return os.read(self.handle, 65536)
        except OSError:
            return b""


SHOW = (
    "import os,sys,time\n"
    "time.sleep(0.3)\n"
    "print([s.isatty() for s in (sys.stdin,sys.stdout,sys.stderr)], flush=True)\n"
    "print(os.get_terminal_size(1), file=sys.stderr, flush=True)\n"
    "print('\\x1b[31mred\\x1b[0m tab\\tend', flush=True)\n"
)


def test_at_a_terminal_it_looks_the_same(tmp_path: Path) -> None:
    alone, run = Terminal(python(SHOW)), Terminal(watched(tmp_path / "run", python(SHOW)))
    codes = alone.finish(), run.finish()
    assert codes == (0, 0)
    ours = [line for line in run.seen.splitlines(keepends=True) if b"unhang: " not in line]
    assert b"".join(ours) == alone.seen
    assert b"[True, True, True]" in alone.seen


def test_ctrl_c_reaches_the_job_once(tmp_path: Path) -> None:
    code = (
        "import signal,sys,time\n"
        "seen=[]\n"
        "signal.signal(2, lambda n,f: seen.append(n))\n"
        "print('ready', flush=True)\n"
        "while not seen: time.sleep(0.02)\n"
        "time.sleep(0.3); print('seen', seen, flush=True); sys.exit(5)"
    )
    run = Terminal(watched(tmp_path / "run", python(code)))
    run.wait_for(b"ready")
    run.type(b"\x03")
    run.wait_for(b"seen [2]")
    assert run.finish() == 5


def test_typed_lines_and_new_sizes_reach_the_job(tmp_path: Path) -> None:
    code = (
        "import os,signal\n"
        "def show(*_): print('size', os.get_terminal_size(1).columns, flush=True)\n"
        "signal.signal(signal.SIGWINCH, show)\n"
        "print('ready', flush=True)\n"
        "print('got', input(), flush=True)\n"
    )
    run = Terminal(watched(tmp_path / "run", python(code)))
    run.wait_for(b"ready")
    run.resize(20, 66)
    run.wait_for(b"size 66")
    run.type(b"a word\n")
    run.wait_for(b"got a word")
    assert run.finish() == 0


def test_ctrl_z_stops_both_and_fg_continues_both(tmp_path: Path) -> None:
    script = tmp_path / "tick.py"
    script.write_text(
        "import time\nfor n in range(400): print('tick', n, flush=True); time.sleep(0.05)\n"
    )
    line = " ".join(watched(tmp_path / "run", [sys.executable, str(script)]))
    shell = Terminal(["bash", "--norc", "--noprofile", "-i"])
    shell.type(line.encode() + b"\n")
    shell.wait_for(b"tick 5\r")
    shell.type(b"\x1a")
    shell.wait_for(b"Stopped")
    (job,) = marked(tmp_path / "run")
    wait_for(lambda: Path(f"/proc/{job}/stat").read_text().split()[2] == "T")
    shell.seen = b""
    shell.type(b"fg\n")
    # The shell prints the command line before it gives the terminal back: only what the job itself
    # prints tells that Ctrl-C is for it again.
    shell.wait_for(b"\ntick ")
    shell.type(b"\x03")
    shell.wait_for(b"KeyboardInterrupt")
    shell.type(b"exit\n")
    shell.finish()
    wait_for(lambda: not marked(tmp_path / "run"))


def test_a_killed_agent_is_replaced_and_the_job_does_not_notice(tmp_path: Path) -> None:
    code = "import time\nfor n in range(60): print(n, flush=True); time.sleep(0.1)"
    folder = tmp_path / "run"
    run = subprocess.Popen(
        watched(folder, python(code)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: list((folder / "agents").glob("*.json")))
    (agent,) = agents_of(run.pid)
    os.kill(agent, signal.SIGKILL)
    wait_for(lambda: agents_of(run.pid) not in ([], [agent]))
    assert run.stdout is not None
    assert run.stdout.read() == b"".join(b"%d\n" % n for n in range(60))
    run.stdout.close()
    assert run.wait(200) == 0
    assert "agent_died" in lost_in(folder)


def test_when_we_are_killed_the_job_does_not_stay_behind(tmp_path: Path) -> None:
    code = (
        "import os,signal,subprocess,sys,time\n"
        "signal.signal(15, signal.SIG_IGN)\n"
        "child = [sys.executable, '-c', 'import time; time.sleep(99)']\n"
        "subprocess.Popen(child, start_new_session=True)\n"
        "print('ready', flush=True); time.sleep(99)"
    )
    folder = tmp_path / "run"
    run = subprocess.Popen(
        watched(folder, python(code)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"ready\n"
    wait_for(lambda: list((folder / "agents").glob("*.json")))
    assert len(marked(folder)) == 2
    run.kill()
    run.wait()
    run.stdout.close()
    wait_for(lambda: not marked(folder))
    wait_for(lambda: "ended" in record_of(folder))
    assert "relay_killed" in lost_in(folder)


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = piped(watched(folder, python("print(1)")))
    before = (folder / "run.json").read_bytes()
    second = piped(watched(folder, python("print(2)")))
    assert (first.stdout, second.stdout) == (b"1\n", b"2\n")
    assert (folder / "run.json").read_bytes() == before
    assert f"{folder / 'run-2'}".encode() in second.stderr
    assert record_of(folder / "run-2")["exit_code"] == 0


def test_a_command_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    run = piped(watched(tmp_path / "run", ["no-such-launcher", "--x"]))
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"unhang: there is no command 'no-such-launcher'")
    assert run.stderr.count(b"\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_full_disk_costs_the_copies_and_not_the_job(full_disk: Path) -> None:
    code = "import sys\nfor n in range(40): sys.stdout.write('x' * 99999 + '\\n')"
    run = piped(watched(full_disk / "run", python(code)))
    assert run.returncode == 0
    assert len(run.stdout) == 40 * 100000


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def agents_of(relay: int) -> list[int]:
    children = Path(f"/proc/{relay}/task/{relay}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"unhang.live.agent.agent" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def test_modules_in_the_working_folder_are_not_ours(tmp_path: Path) -> None:
    for name in ("queue", "select", "json", "signal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the user')")
    unhang = Path(sys.executable).with_name("unhang")
    run = piped([str(unhang), "run", "--out", "run", "--", "sleep", "1"], cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert lost_in(tmp_path / "run") == {"nothing_seen"}
    assert list((tmp_path / "run" / "agents").glob("*.json")), "the agent came up"


def test_ranks_that_a_script_leaves_in_the_background_are_waited_for(tmp_path: Path) -> None:
    late = f"RANK=0 WORLD_SIZE=1 {sys.executable} -c 'import time; time.sleep(5); print(7)' &"
    run = piped(watched(tmp_path / "run", ["bash", "-c", f"{late} sleep 2"]))
    assert (run.returncode, run.stdout) == (0, b"7\n")


def test_a_reader_that_is_slow_at_the_end_gets_everything(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('x' * 120_000)"
    run = subprocess.Popen(
        watched(tmp_path / "run", python(code)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    events = tmp_path / "run" / "events.jsonl"
    wait_for(lambda: events.exists() and "ended" in events.read_text())
    time.sleep(1)
    before = cpu_s(run.pid)
    time.sleep(1)
    assert cpu_s(run.pid) - before < 0.1, "it sleeps while it waits"
    assert run.stdout is not None
    assert len(run.stdout.read()) == 120_000
    run.stdout.close()
    assert run.wait(200) == 0


def test_closed_streams_are_no_trouble(tmp_path: Path) -> None:
    line = " ".join(watched(tmp_path / "run", ["true"]))
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        assert piped(["bash", "-c", f"{line} {closed}"]).returncode == 0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
