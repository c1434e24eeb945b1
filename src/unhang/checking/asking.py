"""Asks for the facts of a host: each in a process of its own, with an end.

A small program is started that makes one process for each fact. A call into a driver or a dead file
server cannot be interrupted: its process is killed, or left to the kernel where it cannot be, and
that it did not answer is what is told of the fact. All run at once, but for those that load the
host: these run one by one after the others.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

from unhang.capturing.bounded import run
from unhang.checking.facts import FACTS
from unhang.checking.facts.storage import scratch_of
from unhang.checking.host import Fact, Host, HostRequest, Skip
from unhang.errors import UsageError
from unhang.live.agent.kernel import read_stat
from unhang.model.codec import decode, encode
from unhang.model.preflight import Stage, Status
from unhang.model.provenance import Message

LIMIT_S = 20.0
"""For all facts of a host together."""
_PIECE = 1 << 16
_MOST_BYTES = 8 << 20
_CLEAN_S, _CLEANINGS, _PAUSE_S = 2.0, 3, 0.1


def ask(request: HostRequest, *, limit_s: float = LIMIT_S) -> tuple[Stage, ...]:
    """The facts of this host, those that the request wants first at the beginning.

    Raises:
        UsageError: the program that asks cannot be started.
    """
    request = replace(request, scratch=f".unhang-check-{token_hex(8)}")
    words = (sys.executable, "-m", "unhang.checking.asking", json.dumps(encode(request)))
    try:
        ran = run(words, limit_s=limit_s, limit_bytes=_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{sys.executable} cannot be started: {error.strerror}") from error
    finally:
        _clean(request)
    stages = []
    for line in ran.out.splitlines():
        with contextlib.suppress(ValueError):
            stages.append(decode(Stage, json.loads(line)))
    told = {stage.name for stage in stages}
    why = (ran.err.splitlines() or [""])[-1][:160]
    stages += [
        # Each fact has an end of its own: where none was told in time, the host had no time at all.
        _too_busy(fact, limit_s) if ran.timed_out else _broken(fact, why)
        for fact in FACTS
        if fact.name not in told
    ]
    order = {fact.name: place for place, fact in enumerate(FACTS)}
    return tuple(sorted(stages, key=lambda s: (s.name not in request.first, order[s.name])))


def _clean(request: HostRequest) -> None:
    """Remove what a fact that was ended left behind, by a program that can be ended as well."""
    with contextlib.suppress(UsageError, OSError):
        scratch = scratch_of(request)
        for _ in range(_CLEANINGS if scratch else 0):
            ran = run(("rm", "-rf", "--", str(scratch)), limit_s=_CLEAN_S, limit_bytes=0)
            if ran.code == 0 or ran.timed_out:
                return
            time.sleep(_PAUSE_S)  # who was killed had not quite finished a file


def look(fact: Fact, host: Host) -> Iterator[Stage]:
    """What a fact tells: its faults, or that all is well; never both, and never nothing."""
    begun = time.monotonic()
    found: list[Stage] = []
    try:
        found.extend(fact.look(host))
    except Skip as skip:
        found.append(Stage(name="", status=Status.SKIP, message=skip.message))
    except UsageError as error:
        message = Message(key="fact_skip.refused", values={"error": str(error)})
        found.append(Stage(name="", status=Status.SKIP, message=message))
    well = [stage for stage in found if stage.status is Status.PASS]
    faults = [stage for stage in found if stage.status in (Status.WARN, Status.FAIL)]
    measured = {name: value for stage in well for name, value in stage.measured.items()}
    seconds = round(time.monotonic() - begun, 3)
    for stage in faults:
        both = {**measured, **stage.measured}
        yield replace(stage, name=fact.name, measured=both, seconds=seconds)
    for stage in [] if faults else found:
        yield replace(stage, name=fact.name, seconds=seconds)


def _unanswered(fact: Fact, limit_s: float) -> Stage:
    return Stage(
        name=fact.name,
        status=Status.FAIL,
        message=Message(key="fact.unanswered", values={"limit_s": limit_s}),
        do=Message(key="fact_do.unanswered"),
        seconds=limit_s,
    )


def _too_busy(fact: Fact, limit_s: float) -> Stage:
    """It was running to the end: the host has no time for it, and nothing is stuck."""
    message = Message(key="fact_skip.busy", values={"limit_s": limit_s})
    return Stage(name=fact.name, status=Status.SKIP, message=message, seconds=limit_s)


def _broken(fact: Fact, why: str) -> Stage:
    message = Message(key="fact_skip.broken", values={"error": why})
    return Stage(name=fact.name, status=Status.SKIP, message=message)


@dataclass(slots=True)
class _Asked:
    """One process that looks at one fact."""

    fact: Fact
    pid: int
    pipe: int
    until: float
    heard: bytearray


def _ask_all(facts: Iterable[Fact], host: Host) -> None:
    """Print the stages of all facts as they come; run them at once."""
    asked = [_begin(fact, host) for fact in facts]
    with selectors.DefaultSelector() as selector:
        for one in asked:
            selector.register(one.pipe, selectors.EVENT_READ, one)
        while selector.get_map():
            waiting: list[_Asked] = [key.data for key in selector.get_map().values()]
            left = min(one.until for one in waiting) - time.monotonic()
            ready = selector.select(max(0.0, left))
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                key.data.heard.extend(piece)
                if not piece:
                    selector.unregister(key.fd)
                    _end(key.data)
            for one in waiting:
                if time.monotonic() >= one.until and one.pipe in selector.get_map():
                    selector.unregister(one.pipe)
                    _end(one)


def _begin(fact: Fact, host: Host) -> _Asked:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return _Asked(fact, pid, read, time.monotonic() + fact.limit_s, bytearray())
    os.close(read)  # the child
    try:
        stages: Sequence[Stage] = list(look(fact, host))
    except Exception as error:  # a fact of ours that fails costs only itself
        stages = [_broken(fact, f"{type(error).__name__}: {error}"[:200])]
    text = "".join(json.dumps(encode(stage)) + "\n" for stage in stages)
    with os.fdopen(write, "wb") as pipe:
        pipe.write(text.encode())
    os._exit(0)


def _end(one: _Asked) -> None:
    """Print what was heard; kill who has not ended, and wait for nobody."""
    text = one.heard.decode(errors="replace")
    if not text.endswith("\n"):
        stat = read_stat(one.pid)
        starved = stat is not None and stat.state == "R"
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
        stage = (_too_busy if starved else _unanswered)(one.fact, one.fact.limit_s)
        text = json.dumps(encode(stage)) + "\n"
    sys.stdout.write(text)
    sys.stdout.flush()
    os.close(one.pipe)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(one.pid, os.WNOHANG)


def main(words: Sequence[str]) -> None:
    """Look at all facts, as the request says."""
    host = Host(request=decode(HostRequest, json.loads(words[0])))
    _ask_all((fact for fact in FACTS if not fact.alone), host)
    for fact in FACTS:
        if fact.alone:
            _ask_all((fact,), host)


if __name__ == "__main__":
    main(sys.argv[1:])
