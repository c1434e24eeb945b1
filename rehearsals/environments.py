"""One virtual environment for each set of pins: built once, kept in the user's cache.

The frameworks of the situations cannot live together (two versions of transformers, two of ray),
and none of them may come near the environment that unhang itself runs in.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unhang.errors import UnhangError

_PINS = Path(__file__).parent / "pins"
_READY = "ready.json"
_COMPILED = "compiled.txt"
_BUILD_LIMIT_S = 1800


class EnvironmentNotBuiltError(UnhangError):
    """The pins of an environment could not be installed, or what they compile did not compile."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """One package in another version, put before the environment's own in `PYTHONPATH`.

    Attributes:
        requirement: what pip is asked for, without its dependencies.
    """

    requirement: str


@dataclass(frozen=True, slots=True)
class Environment:
    """The packages that some situations run in.

    Attributes:
        name: of the pins file and of the folder in the cache.
        overlays: by a short name, packages in a second version.
        compiled: a Python statement that compiles what a package would compile in its first job,
            or None; its result is kept with the environment.
    """

    name: str
    overlays: tuple[tuple[str, Overlay], ...] = ()
    compiled: str | None = None

    @property
    def pins(self) -> tuple[str, ...]:
        """The pinned requirements, sorted, comments gone."""
        lines = (_PINS / f"{self.name}.txt").read_text(encoding="utf-8").splitlines()
        return tuple(sorted(line for line in lines if line and not line.startswith("#")))

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits: other pins or another Python make another environment."""
        overlays = [f"{name}: {overlay.requirement}" for name, overlay in self.overlays]
        python = f"python {sys.version_info.major}.{sys.version_info.minor}"
        told = "\n".join([python, *self.pins, *overlays])
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """Where the environment is, or will be."""
        return cache_folder() / self.name / self.key

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / "bin" / "python"

    @property
    def variables(self) -> dict[str, str]:
        """What its processes need in their environment."""
        return {
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
            "TORCH_EXTENSIONS_DIR": str(self.folder / "extensions"),
        }

    def overlay(self, name: str) -> Path:
        """The folder to put first in `PYTHONPATH` for the overlay `name`."""
        return self.folder / "overlays" / name

    @property
    def is_ready(self) -> bool:
        """Whether it was built to its end."""
        return (self.folder / _READY).is_file()

    @property
    def build_s(self) -> float | None:
        """Seconds that its building took, None before."""
        if not self.is_ready:
            return None
        return float(json.loads((self.folder / _READY).read_text(encoding="utf-8"))["seconds"])

    def version(self, package: str) -> str:
        """The pinned version of one package, `?` when it is not pinned."""
        found = (pin.partition("==") for pin in self.pins)
        return next((version for name, _, version in found if name == package), "?")


def cache_folder() -> Path:
    """The folder of all environments: `$XDG_CACHE_HOME/unhang/drills`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "unhang" / "drills"


def build(environment: Environment) -> float:
    """Build the environment unless it is there; returns the seconds that took (0.0 when it was).

    Raises:
        EnvironmentNotBuiltError: a step failed, with its last lines.
    """
    with _one_at_a_time():
        begun = time.monotonic()
        news = [step(environment) for step in (_install, _compile)]
        return time.monotonic() - begun if any(news) else 0.0


def _install(environment: Environment) -> bool:
    """Install the pins unless they are there; whether there was something to do."""
    if environment.is_ready:
        return False
    begun = time.monotonic()
    shutil.rmtree(environment.folder, ignore_errors=True)
    environment.folder.mkdir(parents=True)
    _call([sys.executable, "-m", "venv", str(environment.folder)], environment)
    _call([*_pip(environment), *environment.pins], environment)
    for name, overlay in environment.overlays:
        target = str(environment.overlay(name))
        wanted = ["--no-deps", "--target", target, overlay.requirement]
        _call([*_pip(environment), *wanted], environment)
    seconds = round(time.monotonic() - begun, 1)
    facts = {"schema": "unhang.environment/1", "seconds": seconds}
    (environment.folder / _READY).write_text(json.dumps(facts), encoding="utf-8")
    return True


def _compile(environment: Environment) -> bool:
    """Compile what is not compiled yet; whether there was something to do.

    A compilation that was killed leaves a lock that the next one would wait for: it begins anew.
    """
    statement, done = environment.compiled, environment.folder / _COMPILED
    if statement is None or (done.is_file() and done.read_text("utf-8") == statement):
        return False
    shutil.rmtree(environment.variables["TORCH_EXTENSIONS_DIR"], ignore_errors=True)
    _call([str(environment.python), "-c", statement], environment)
    done.write_text(statement, encoding="utf-8")
    return True


def _pip(environment: Environment) -> list[str]:
    return [str(environment.python), "-m", "pip", "install", "--quiet", "--no-input"]


def _call(command: list[str], environment: Environment) -> None:
    """Run one step of the build, its words kept in `build.log`."""
    log = environment.folder / "build.log"
    with log.open("a", encoding="utf-8") as words:
        step = subprocess.run(
            command,
            env={**os.environ, **environment.variables},
            stdout=words,
            stderr=subprocess.STDOUT,
            timeout=_BUILD_LIMIT_S,
            check=False,
        )
    if step.returncode != 0:
        last = " / ".join(log.read_text(encoding="utf-8").splitlines()[-3:])
        raise EnvironmentNotBuiltError(
            f"the environment {environment.name!r} could not be built in {environment.folder}: "
            f"`{command[0]}` ended with {step.returncode}: {last}"
        )


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold the lock of the cache: two builds at once would fight for the disk and the network."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


HUGGING_FACE = Environment(
    "huggingface",
    compiled="from deepspeed.accelerator import get_accelerator as it; "
    "it().create_op_builder('ShareMemCommBuilder').load()",
)
"""transformers, PEFT, TRL, accelerate, DeepSpeed."""

OPEN_CLIP = Environment("open_clip", (("2.32.0", Overlay("open_clip_torch==2.32.0")),))
"""open_clip_torch 3.3.0, and 2.32.0 as an overlay."""

RECBOLE = Environment("recbole")
"""RecBole."""

VERL = Environment("verl")
"""verl, Ray, TransferQueue."""

ENVIRONMENTS = (HUGGING_FACE, OPEN_CLIP, RECBOLE, VERL)
