"""Where a source works: the only way in which it touches the system, and every way has an end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unhang.capturing.bounded import Ran, find_program, run
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadAnswer, ReadRequest, read
from unhang.model.capture import Fate
from unhang.model.provenance import Message

_TEXT_LIMIT = 200


class Stop(Exception):
    """A source ends early; what it gave before is kept.

    Args:
        fate: what became of it.
        why: the reason.
    """

    def __init__(self, fate: Fate, why: Message) -> None:
        super().__init__(why.key)
        self.fate = fate
        self.why = why


@dataclass(slots=True, kw_only=True)
class SourceContext:
    """Where one source works: whom it is about, and how much time and room it has.

    Attributes:
        job: the whole job on this node.
        process: whom it is about; None for the host and for the run.
        until: monotonic seconds.
        limit_bytes: for each piece.
    """

    job: JobOnNode
    process: JobProcess | None
    until: float
    limit_bytes: int
    begun: float = field(default_factory=time.monotonic)

    def left_s(self, most: float | None = None) -> float:
        """Seconds that are left, at most `most`."""
        left = max(0.0, self.until - time.monotonic())
        return left if most is None else min(left, most)

    def pause(self, seconds: float) -> None:
        """Wait between two readings of a counter."""
        time.sleep(self.left_s(seconds))

    def program(self, name: str) -> str:
        """The path of a program.

        Raises:
            Stop: it is not installed.
        """
        path = find_program(name)
        if path is None:
            raise absent("not_installed", program=name)
        return path

    def run(self, name: str, *words: str, limit_s: float | None = None) -> Ran:
        """Run a program.

        Raises:
            Stop: it is not installed, or cannot be started.
        """
        path = self.program(name)
        try:
            return run((path, *words), limit_s=self.left_s(limit_s), limit_bytes=self.limit_bytes)
        except OSError as error:
            raise refused("failed", program=name, text=error.strerror or str(error)) from error

    def said(self, name: str, *words: str, limit_s: float | None = None) -> Ran:
        """Run a program that prints what is asked for.

        Raises:
            Stop: it is not installed, does not end in time, or prints nothing.
        """
        ran = self.run(name, *words, limit_s=limit_s)
        if not ran.out.strip():
            raise failure(name, ran, self)
        return ran

    def read(self, *requests: ReadRequest) -> Iterator[ReadAnswer]:
        """Read files; none hangs us."""
        return read(requests, limit_s=self.left_s())

    def one(self, request: ReadRequest) -> ReadAnswer:
        """Read one file."""
        (answer,) = self.read(request)
        return answer

    def heads(self, paths: Sequence[str]) -> Iterator[ReadAnswer]:
        """Read files from their beginning."""
        return self.read(*(ReadRequest(path, limit=self.limit_bytes) for path in paths))


def absent(reason: str, **values: object) -> Stop:
    """This node does not have it."""
    return Stop(Fate.ABSENT, Message(key=f"capture.why.{reason}", values=values))


def refused(reason: str, **values: object) -> Stop:
    """The system does not let us."""
    return Stop(Fate.REFUSED, Message(key=f"capture.why.{reason}", values=values))


def timed_out(limit_s: float) -> Stop:
    """It did not end in time."""
    return Stop(Fate.TIMED_OUT, Message(key="capture.why.timed_out", values={"limit": limit_s}))


def failure(name: str, ran: Ran, context: SourceContext) -> Stop:
    """Why a program printed nothing of use."""
    if ran.timed_out:
        return timed_out(time.monotonic() - context.begun)
    text = (ran.err or ran.out.decode(errors="replace")).strip()
    if not text and ran.code == 0:
        return absent("nothing", what=name)
    lines = text.splitlines() or [f"exit code {ran.code}"]
    telling = next((line for line in lines if "error" in line.lower()), lines[-1])
    return refused("failed", program=name, text=telling.strip()[:_TEXT_LIMIT])


def unreadable(answer: ReadAnswer) -> Stop:
    """Why a file could not be read."""
    path = answer.request.path
    if answer.stalled:
        return Stop(Fate.TIMED_OUT, Message(key="capture.why.read_hangs", values={"path": path}))
    if answer.denied:
        return refused("denied", path=path)
    if answer.gone:
        return absent("no_file", path=path)
    return refused("unreadable", path=path, error=answer.error)


def sections(answers: Iterator[ReadAnswer]) -> tuple[bytes, Stop | None]:
    """Join what was read, each below its path; and why the first of the rest is missing."""
    parts: list[bytes] = []
    missing: Stop | None = None
    for answer in answers:
        if answer.error is None and answer.data.strip():
            text = answer.data if answer.data.endswith(b"\n") else answer.data + b"\n"
            parts.append(f"==> {answer.request.path} <==\n".encode() + text)
        elif answer.error is not None and not answer.gone and missing is None:
            missing = unreadable(answer)
    return b"\n".join(parts), missing
