"""One attempt at a situation's job: its folder, its environment variables, its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import unhang.lab
from rehearsals.environments import Environment, build
from rehearsals.situation import Patches, Situation
from unhang.errors import UsageError
from unhang.lab.faults.declared import FOLDER_VARIABLE
from unhang.lab.folder import DrillFolder
from unhang.lab.job import Console, Launcher, end_processes, is_alive, send
from unhang.lab.leftovers import control_groups
from unhang.lab.surroundings import KernelLog, remove_control_groups

SCRIPTS = Path(__file__).parent / "scripts"
_KIT_SITE = Path(unhang.lab.__file__).parent / "site"
_STACK_SIGNAL = signal.SIGUSR2  # as the kit's guest answers
_PREPARE_LIMIT_S = 120
_TICK_S = 0.1
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - names of dead processes alone are removed
_OWNED = re.compile(r"(?:sem\.loky-|torch_)(?P<pid>\d+)[-_]")
"""Names that joblib and torch give: their process is dead, and nobody else will remove them."""
_INHERITED = ("LANG", "LC_ALL", "SSL_CERT_FILE", "XDG_CACHE_HOME", "TERM")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How an attempt went.

    Attributes:
        exit_code: of the launcher; None when it was ended from here.
        seconds: it took.
        moments: ISO times of the faults, the earliest first; none when it never came to one.
        printed: all that the job printed.
    """

    exit_code: int | None
    seconds: float
    moments: tuple[str, ...]
    printed: str


class Workplace:
    """The folder of one attempt, and what its processes are told.

    Args:
        situation: whose job it is.
        root: a new or empty folder.
    """

    def __init__(self, situation: Situation, root: Path) -> None:
        self.situation = situation
        self.folder = DrillFolder(root.resolve())
        self.job = self.folder.root / "job"

    def prepare(self) -> None:
        """Build the environment, lay out the job, make its model and data.

        Raises:
            UsageError: the folder is in use, or the preparation failed.
        """
        build(self.situation.environment)
        self.folder.make()
        self.folder.work.rmdir()
        shutil.copytree(SCRIPTS / self.situation.job, self.job)
        if (self.job / "prepare.py").is_file():
            self.call("python", "prepare.py")

    def call(self, *command: str, patched: bool = False) -> None:
        """Run a command of the job's owner, without faults.

        Args:
            command: its words.
            patched: whether it needs the patches of the situation.

        Raises:
            UsageError: it failed, with its last line.
        """
        with self._variables(self.situation.patches if patched else None) as variables:
            printed = self.folder.root / "prepared.log"
            with printed.open("wb") as words:
                process = subprocess.Popen(
                    command,
                    cwd=self.job,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                code = _end_of(process, _PREPARE_LIMIT_S)
        if code != 0:
            told = printed.read_text("utf-8", "replace").strip().rpartition("\n")[2]
            raise UsageError(f"`{' '.join(command)}` of {self.situation.name} failed: {told}")

    def run(
        self,
        *,
        faults: bool = True,
        evidence: bool = False,
        watched: Sequence[str] | None = None,
    ) -> Attempt:
        """Run the job to its end.

        Args:
            faults: whether it goes wrong.
            evidence: whether dumps and stacks are taken while it hangs. A process that is about to
                end well would not survive the question.
            watched: options of `unhang run`, under which it runs; None = without.
        """
        wanted = dict(self.situation.patches) | (dict(self.situation.fault) if faults else {})
        began = time.monotonic()
        with self._variables(wanted) as variables:
            command = _command(self.situation, self.folder, watched)
            code = self._attend(command, variables, evidence=evidence)
        return Attempt(
            exit_code=code,
            seconds=round(time.monotonic() - began, 1),
            moments=tuple(str(act["at"]) for act in self.folder.acts()),
            printed=(self.folder.logs / "merged.log").read_text("utf-8", "replace"),
        )

    def tidy(self) -> None:
        """Remove what tells nothing."""
        shutil.rmtree(self.folder.kit, ignore_errors=True)
        for path in self.folder.stacks.iterdir():
            if "most recent call first" not in path.read_text("utf-8", "replace"):
                path.unlink()

    def _attend(
        self, command: Sequence[str], variables: dict[str, str], *, evidence: bool
    ) -> int | None:
        console = Console(self.folder.logs, nodes=1, per_node=self.situation.world)
        launcher = code = None
        kernel = KernelLog()
        try:
            launcher = Launcher(command, environment=variables, folder=self.job, logs=console)
            ended = self._wait(launcher, evidence=evidence)
        finally:  # a signal may come before the launcher is known here
            end_processes(FOLDER_VARIABLE, str(self.folder.root))
            if launcher is not None:
                code = launcher.close()
            kernel.save(self.folder.logs / "kernel.log", self.folder.ranks().values())
            _remove_orphans()
            console.close()
        return code if ended else None

    def _wait(self, launcher: Launcher, *, evidence: bool) -> bool:
        """Wait for the end, at most the time of the situation; whether it came."""
        end = time.monotonic() + self.situation.within_s
        taken_at = None if evidence else float("inf")
        while time.monotonic() < end:
            if launcher.ended():
                return True
            if taken_at is None and self.folder.acts():
                taken_at = time.monotonic() + self.situation.settle_s
            elif taken_at is not None and time.monotonic() >= taken_at:
                self._take_evidence()
                taken_at = float("inf")
            time.sleep(_TICK_S)
        return False

    def _take_evidence(self) -> None:
        """Order the dumps, and ask all ranks for their stacks: both show the same moment."""
        self.folder.order.touch()
        for pid in self.folder.ranks().values():
            if is_alive(pid):
                send(pid, _STACK_SIGNAL)

    @contextlib.contextmanager
    def _variables(self, patches: Patches | None) -> Iterator[dict[str, str]]:
        """What the processes find in their environment; without patches nothing is hooked in.

        Launchers that are killed leave their temporary files, so they get a folder for them, which
        is removed. Ray puts sockets into its own there, whose path must be short.
        """
        environment = self.situation.environment
        with tempfile.TemporaryDirectory(prefix="uh", ignore_cleanup_errors=True) as short:
            variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
            variables |= {
                **environment.variables,
                "HOME": str(self.job),
                "PYTHONPATH": ":".join(map(str, self._python_path(environment))),
                "PYTHONUNBUFFERED": "1",
                "OMP_NUM_THREADS": "1",
                "TORCH_FR_BUFFER_SIZE": "2000",
                "HF_HUB_OFFLINE": "1",
                "TOKENIZERS_PARALLELISM": "false",
                "RAY_TMPDIR": short,
                "TMPDIR": short,
            }
            if patches is not None:
                variables[FOLDER_VARIABLE] = str(self.folder.root)
                variables["UNHANG_SITUATION"] = json.dumps(patches)
            yield variables

    def _python_path(self, environment: Environment) -> list[Path]:
        path = [_KIT_SITE, SCRIPTS / "site"]
        if self.situation.overlay is not None:
            path.append(environment.overlay(self.situation.overlay))
        return [*path, self.job]


def _remove_orphans() -> None:
    """Remove shared memory and control groups that killed processes could not remove."""
    for path in _SHARED_MEMORY.glob("*"):
        owner = _OWNED.match(path.name)
        if owner is not None and not is_alive(int(owner["pid"])):
            with contextlib.suppress(OSError):
                path.unlink()
    makers = (path.rpartition("-")[2] for path in control_groups())
    remove_control_groups(pid for pid in map(int, makers) if not is_alive(pid))


def _end_of(process: subprocess.Popen[bytes], limit_s: float) -> int | None:
    """Its exit code; None when it had to be killed, with all that it started."""
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def _command(
    situation: Situation, folder: DrillFolder, watched: Sequence[str] | None
) -> Sequence[str]:
    if watched is None:
        return situation.command
    run = (sys.executable, "-m", "unhang", "run", "--out", str(folder.run), *watched, "--")
    return (*run, *situation.command)
