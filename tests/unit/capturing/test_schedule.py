"""All sources are asked, each within its limits; one that hangs or breaks costs itself only."""

import threading
import time
from collections.abc import Iterator

import pytest

from unhang.capturing.deadline import Deadline
from unhang.capturing.filing import file_pieces
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess, ProcessRole
from unhang.capturing.schedule import ask, questions
from unhang.capturing.source_context import SourceContext, absent, refused
from unhang.capturing.spec import About, Piece, PieceFormat, Spec
from unhang.model.capture import Fate
from unhang.model.ids import Rank
from unhang.redaction import Redactor


def rank(number: int, pid: int) -> JobProcess:
    return JobProcess(
        pid=pid,
        parent=1,
        state="S",
        name="python",
        started_s=0.0,
        role=ProcessRole.RANK,
        rank=Rank(number),
    )


SCENE = JobOnNode(host="h", processes=(rank(0, 10), rank(3, 13)))
RELEASE = threading.Event()


def gives(context: SourceContext) -> Iterator[Piece]:
    yield Piece(
        name="a.txt", data=f"{context.process.pid if context.process else 'host'}\n".encode()
    )


def hangs(context: SourceContext) -> Iterator[Piece]:
    yield Piece(name="before.txt", data=b"what came before\n")
    RELEASE.wait(60)
    yield Piece(name="after.txt", data=b"too late\n")


def breaks(context: SourceContext) -> Iterator[Piece]:
    yield Piece(name="before.txt", data=b"x\n")
    raise ValueError("a source of evidence with a fault")


def has_none(context: SourceContext) -> Iterator[Piece]:
    yield from ()
    raise absent("not_installed", program="tool")


def refuses(context: SourceContext) -> Iterator[Piece]:
    yield from ()
    raise refused("denied", path="/x")


def gives_nothing(context: SourceContext) -> Iterator[Piece]:
    yield from ()


def spec(name: str, gather: object, about: About = About.HOST, **more: object) -> Spec:
    return Spec(name=name, about=about, gather=gather, **more)  # type: ignore[arg-type]


def test_each_source_is_asked_about_everyone_it_is_for() -> None:
    asked = questions([spec("a", gives, About.RANK), spec("b", gives, order=0)], SCENE)
    assert [(q.spec.name, q.subject, q.folder) for q in asked] == [
        ("b", "host", ""),
        ("a", "rank 0", "rank_0"),
        ("a", "rank 3", "rank_3"),
    ]
    ask(asked, SCENE, time.monotonic() + 20)
    members, entries = file_pieces(asked, "h", Redactor())
    assert {m.path: m.data for m in members} == {
        "host=h/a.txt": b"host\n",
        "host=h/rank_0/a.txt": b"10\n",
        "host=h/rank_3/a.txt": b"13\n",
    }
    assert {entry.fate for entry in entries} == {Fate.TAKEN}


@pytest.mark.process
def test_what_hangs_breaks_or_is_missing_is_said_and_costs_itself_only() -> None:
    named = {
        "hangs": hangs,
        "breaks": breaks,
        "has_none": has_none,
        "refuses": refuses,
        "gives_nothing": gives_nothing,
        "gives": gives,
    }
    asked = questions([spec(name, gather) for name, gather in named.items()], SCENE)
    begun = time.monotonic()
    ask(asked, SCENE, begun + 1.0)
    assert time.monotonic() - begun < 10
    members, entries = file_pieces(asked, "h", Redactor())
    RELEASE.set()
    assert {entry.source: entry.fate for entry in entries} == {
        "hangs": Fate.PARTLY,
        "breaks": Fate.PARTLY,
        "has_none": Fate.ABSENT,
        "refuses": Fate.REFUSED,
        "gives_nothing": Fate.ABSENT,
        "gives": Fate.TAKEN,
    }
    assert sorted(m.path for m in members) == [
        "host=h/a.txt",
        "host=h/before.txt",
        "host=h/before.txt",
    ]
    assert {e.source: e.why.key for e in entries if e.why is not None} == {
        "hangs": "capture.why.timed_out",
        "breaks": "capture.why.broke",
        "has_none": "capture.why.not_installed",
        "refuses": "capture.why.denied",
        "gives_nothing": "capture.why.nothing",
    }


@pytest.mark.process
def test_nothing_that_comes_late_is_kept() -> None:
    release = threading.Event()

    def late(context: SourceContext) -> Iterator[Piece]:
        release.wait(60)
        yield Piece(name="late.txt", data=b"x")

    asked = questions([spec("late", late)], SCENE)
    ask(asked, SCENE, time.monotonic() + 0.3)
    release.set()
    time.sleep(0.3)
    assert [q.pieces for q in asked] == [[]]
    assert [q.fate for q in asked] == [Fate.TIMED_OUT]


def test_a_desk_knows_how_much_time_is_left() -> None:
    seen = []

    def look(context: SourceContext) -> Iterator[Piece]:
        seen.append(context.left_s())
        yield Piece(name="x", data=b"x")

    asked = questions([spec("look", look, limit_s=3.0)], SCENE)
    ask(asked, SCENE, time.monotonic() + 60)
    assert 1.0 < seen[0] <= 3.0


def test_a_bundle_has_an_end() -> None:
    def large(context: SourceContext) -> Iterator[Piece]:
        yield Piece(name="one", data=b"x" * 60)
        yield Piece(name="two", data=b"x" * 60)

    asked = questions([spec("large", large)], SCENE)
    ask(asked, SCENE, time.monotonic() + 20)
    members, (entry,) = file_pieces(asked, "h", Redactor(), room=100)
    assert [m.path for m in members] == ["host=h/one"]
    assert entry.fate is Fate.PARTLY
    assert entry.why is not None
    assert entry.why.key == "capture.why.full"


def test_a_pickle_that_carries_code_is_left_out() -> None:
    def hostile(context: SourceContext) -> Iterator[Piece]:
        yield Piece(
            name="trace_0",
            data=b"\x80\x02cos\nsystem\nX\x01\x00\x00\x00ltR.",
            form=PieceFormat.PICKLE,
        )

    asked = questions([spec("hostile", hostile)], SCENE)
    ask(asked, SCENE, time.monotonic() + 20)
    members, (entry,) = file_pieces(asked, "h", Redactor())
    assert members == []
    assert entry.fate is Fate.REFUSED


def test_a_reason_quotes_no_secret() -> None:
    def quotes(context: SourceContext) -> Iterator[Piece]:
        yield from ()
        raise refused("unreadable", path="/x/hf_aB3dE5gH7jK9mN1pQ3sT5vW7", error="broken")

    asked = questions([spec("quotes", quotes)], SCENE)
    ask(asked, SCENE, time.monotonic() + 20)
    _, (entry,) = file_pieces(asked, "h", Redactor())
    assert entry.why is not None
    assert entry.why.values == {"path": "/x/[redacted Hugging Face token]", "error": "broken"}


def test_a_job_that_is_to_end_waits_only_for_what_ends_with_it() -> None:
    happened = []

    def notes(context: SourceContext) -> Iterator[Piece]:
        happened.append("process" if context.process else "host")
        yield from gives(context)

    deadline = Deadline(release=lambda: happened.append("released"), limit_s=20)
    job = JobOnNode(host="h", processes=(rank(0, 10),), deadline=deadline)
    lasting = spec("kernel-log", notes, order=0, lasting=True)
    asked = questions([lasting, spec("stacks", notes, About.RANK)], job)
    ask(asked, job, time.monotonic() + 20)
    assert happened == ["process", "released", "host"]
    assert {q.fate for q in asked} == {Fate.TAKEN}


@pytest.mark.process
def test_a_slow_source_keeps_the_job_no_longer_than_the_limit_and_is_heard_after_it() -> None:
    released = threading.Event()

    def slow(context: SourceContext) -> Iterator[Piece]:
        assert released.wait(60)
        yield from gives(context)

    job = JobOnNode(host="h", deadline=Deadline(release=released.set, limit_s=0.3))
    asked = questions([spec("slow", slow)], job)
    begun = time.monotonic()
    ask(asked, job, begun + 30)
    assert time.monotonic() - begun < 10
    assert [q.fate for q in asked] == [Fate.TAKEN]
