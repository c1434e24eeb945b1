"""What a fact may see of a host: files below a root, the environment, and short programs.

Each fact runs in a process of its own with a hard limit (`checking.asking`), so that reading is
plain: what hangs costs only that fact. Nothing here changes the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from unhang.capturing.bounded import Ran, find_program, run
from unhang.model.preflight import Stage, Status
from unhang.model.provenance import Message

_MOST_BYTES, _PIECE = 4 << 20, 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRequest:
    """What is asked of one host.

    Attributes:
        ranks: of the job on this host.
        cores: that the ranks of this host may use together, where each has its own; 0 = unknown.
        hosts: of the job.
        backend: `nccl` or `gloo`, where it is known.
        checkpoint: the folder that checkpoints go to; "" = not told.
        job: the configuration or verdict of the job that is about to start; "" = not told.
        first: facts to look at first.
        measure: whether the storage may be measured by writing to it.
        scratch: the folder in that of the checkpoints in which it is measured; who asks gives the
            name, to remove it where the fact was ended.
    """

    ranks: int = 1
    cores: int = 0
    hosts: int = 1
    backend: str = ""
    checkpoint: str = ""
    job: str = ""
    first: tuple[str, ...] = ()
    measure: bool = True
    scratch: str = ".unhang-check"


class Skip(Exception):
    """The fact cannot be looked at here.

    Args:
        name: of the sentence in the table `fact_skip` of the catalogue.
        values: its values.
    """

    def __init__(self, name: str, /, **values: object) -> None:
        super().__init__(name)
        self.message = Message(key=f"fact_skip.{name}", values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host, as far as a fact may see it.

    Attributes:
        root: is put before every path; tests put a folder there for files that cannot exist.
        environ: of the process that the job will inherit from.
    """

    root: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    request: HostRequest = HostRequest()

    def path(self, name: str) -> Path:
        """Where a file of the host lies."""
        return Path(self.root + name)

    def text(self, name: str) -> str:
        """What a file holds.

        Raises:
            Skip: there is none, or it is not ours to read.
        """
        try:
            with self.path(name).open("rb", buffering=0) as file:
                # In small pieces: the kernel refuses a sysctl to whoever asks for megabytes.
                pieces = iter(lambda: file.read(_PIECE), b"")
                return b"".join(islice(pieces, _MOST_BYTES // _PIECE)).decode(errors="replace")
        except FileNotFoundError:
            raise Skip("no_file", path=name) from None
        except OSError as error:
            raise Skip("unreadable", path=name, error=error.strerror or str(error)) from error

    def find(self, name: str) -> str | None:
        """What a file holds, without the blanks around it; None where it cannot be read."""
        try:
            return self.text(name).strip()
        except Skip:
            return None

    def number(self, name: str) -> int | None:
        """The number that a file holds; None where it holds none (`max`)."""
        text = self.find(name) or ""
        return int(text) if text.lstrip("-").isdigit() else None

    def names(self, name: str) -> list[str]:
        """What is in a folder, sorted; nothing where there is none."""
        try:
            return sorted(os.listdir(self.path(name)))  # noqa: PTH208 (names, not paths)
        except OSError:
            return []

    def run(self, program: str, *words: str, limit_s: float) -> Ran:
        """Run a program that reads.

        Raises:
            Skip: it is not installed, does not start, or does not end.
        """
        path = find_program(program)
        if path is None:
            raise Skip("no_program", program=program)
        try:
            ran = run((path, *words), limit_s=limit_s, limit_bytes=_MOST_BYTES)
        except OSError as error:
            raise Skip("unreadable", path=program, error=error.strerror or str(error)) from error
        if ran.timed_out:
            raise Skip("no_end", program=program, limit_s=limit_s)
        return ran


def waited_for_core() -> float:
    """Seconds for which this thread has waited for a core so far, as the scheduler counts them."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


Look = Callable[[Host], Iterator[Stage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact: how it is read and judged.

    Attributes:
        name: stable, as the JSON has it.
        look: yields what was found; what it takes for granted and cannot have raises `Skip`.
        limit_s: after which its process is ended, which is itself a finding.
        alone: it loads the host, and runs when no other fact does.
    """

    name: str
    look: Look
    limit_s: float = 5.0
    alone: bool = False


def passed(name: str, measured: Mapping[str, object] | None = None, /, **values: object) -> Stage:
    """All is well; the sentence is `fact.NAME`."""
    message = Message(key=f"fact.{name}", values=values)
    return Stage(name="", status=Status.PASS, message=message, measured=measured or values)


def warned(name: str, source: str = "", /, **values: object) -> Stage:
    """Something to look at; the sentences are `fact.NAME` and `fact_do.NAME`."""
    return _fault(Status.WARN, name, source, values)


def failed(name: str, source: str = "", /, **values: object) -> Stage:
    """Something that breaks a job, or very likely will."""
    return _fault(Status.FAIL, name, source, values)


def _fault(status: Status, name: str, source: str, values: Mapping[str, object]) -> Stage:
    return Stage(
        name="",
        status=status,
        message=Message(key=f"fact.{name}", values=values),
        do=Message(key=f"fact_do.{name}", values=values),
        measured=values,
        source=source,
    )
