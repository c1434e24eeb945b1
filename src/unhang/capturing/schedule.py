"""Asks all sources at once, and ends in time whatever they do.

Each question is put by a thread of its own that nobody waits for: what it has given when the time
is up is kept, the rest is noted as late.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess
from unhang.capturing.source_context import SourceContext, Stop
from unhang.capturing.spec import About, Piece, Spec
from unhang.model.capture import Fate
from unhang.model.provenance import Message

_MOST_THREADS = 24
_TEXT_LIMIT = 200
_TICK_S = 0.05


@dataclass(slots=True)
class Question:
    """One source, asked about one subject, and what it gave so far.

    Attributes:
        folder: where its files lie in the bundle, "" for the host's.
        fate: None while it is at work.
    """

    spec: Spec
    subject: str
    folder: str
    process: JobProcess | None = None
    pieces: list[Piece] = field(default_factory=list)
    fate: Fate | None = None
    why: Message | None = None
    begun: float | None = None
    seconds: float = 0.0


def questions(specs: Sequence[Spec], job: JobOnNode) -> list[Question]:
    """Every source with everyone that it is asked about, the most telling first."""
    found = [question for spec in specs for question in _asked(spec, job)]
    return sorted(found, key=lambda q: q.spec.order)


def _asked(spec: Spec, job: JobOnNode) -> Iterator[Question]:
    match spec.about:
        case About.HOST:
            yield Question(spec, "host", "")
        case About.RUN:
            if job.run_folder is not None or job.dumps:
                yield Question(spec, "run", "")
        case About.RANK:
            yield from (Question(spec, p.subject, p.folder, p) for p in job.ranks)
        case About.PROCESS:
            them = {p.pid: p for p in (*job.ranks, *job.launchers)}.values()
            yield from (Question(spec, p.subject, p.folder, p) for p in them)


def ask(asked: Sequence[Question], job: JobOnNode, until: float) -> None:
    """Put all questions; returns when all are answered, or at `until` (monotonic seconds).

    In deadline what lasts is asked only once the job is released, which costs late answers nothing.
    """
    lock = threading.Lock()
    deadline = job.deadline
    first = [q for q in asked if deadline is None or not q.spec.lasting]
    _begin(first, job, until, lock)
    if deadline is not None:
        _await(first, min(until, time.monotonic() + deadline.limit_s))
        deadline.release()
        _begin([q for q in asked if q.spec.lasting], job, until, lock)
    _await(asked, until)
    with lock:  # from here on late answers are dropped
        for question in asked:
            if question.fate is None:
                _close_late(question)


def _begin(asked: Sequence[Question], job: JobOnNode, until: float, lock: threading.Lock) -> None:
    waiting: queue.SimpleQueue[Question] = queue.SimpleQueue()
    for question in asked:
        waiting.put(question)
    for _ in range(min(_MOST_THREADS, len(asked))):
        threading.Thread(
            target=_work, args=(waiting, job, until, lock), name="unhang-collect", daemon=True
        ).start()


def _await(asked: Sequence[Question], until: float) -> None:
    while time.monotonic() < until and any(q.fate is None for q in asked):
        time.sleep(_TICK_S)


def _work(
    waiting: queue.SimpleQueue[Question], job: JobOnNode, until: float, lock: threading.Lock
) -> None:
    while time.monotonic() < until:
        try:
            question = waiting.get_nowait()
        except queue.Empty:
            return
        _answer(question, job, until, lock)


def _answer(question: Question, job: JobOnNode, until: float, lock: threading.Lock) -> None:
    spec = question.spec
    question.begun = time.monotonic()
    context = SourceContext(
        job=job,
        process=question.process,
        until=min(until, question.begun + spec.limit_s),
        limit_bytes=spec.limit_bytes,
    )
    fate, why = Fate.TAKEN, None
    try:
        for piece in spec.gather(context):
            with lock:
                if question.fate is not None:
                    return
                question.pieces.append(piece)
    except Stop as stop:
        fate, why = stop.fate, stop.why
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:_TEXT_LIMIT]
        fate = Fate.REFUSED
        why = Message(key="capture.why.broke", values={"text": text})
    with lock:
        if question.fate is None:
            _close(question, fate, why)


def _close(question: Question, fate: Fate, why: Message | None) -> None:
    if not question.pieces and fate is Fate.TAKEN:
        fate = Fate.ABSENT
        why = Message(key="capture.why.nothing", values={"what": question.spec.name})
    elif question.pieces and why is not None:
        fate = Fate.PARTLY
    question.fate, question.why = fate, why
    if question.begun is not None:
        question.seconds = time.monotonic() - question.begun


def _close_late(question: Question) -> None:
    if question.begun is None:
        _close(question, Fate.TIMED_OUT, Message(key="capture.why.no_time"))
        return
    limit = time.monotonic() - question.begun
    why = Message(key="capture.why.timed_out", values={"limit": limit})
    _close(question, Fate.TIMED_OUT, why)
