"""Answers of RAS in JSON say what its text form would say."""

import pytest

from support.feeding import feed, only
from support.ras_answers import answer, communicator, member, missing
from unhang.model.events import Event, RasProblem, RasReport, VersionSeen
from unhang.parsers.ras_json import RasJsonParser


def told(text: str) -> list[Event]:
    return feed(RasJsonParser, *text.split("\n"))


def report(text: str) -> RasReport:
    return only(RasReport, told(text))


@pytest.mark.parametrize("indent", [None, 2])
def test_counts_that_differ(indent: int | None) -> None:
    text = answer(communicator(*map(member, range(15)), member(15, 639)), indent=indent)
    found = report(text)
    assert (found.problem, found.op, found.size) == (RasProblem.COUNTS_DIFFER, "AllReduce", 16)
    many, few = found.groups
    assert (many.says, many.count, len(many.ranks)) == ("640", 15, 15)
    assert (few.says, set(few.ranks), set(few.pids), set(few.hosts)) == (
        "639",
        {15},
        {4015},
        {"10.0.0.1"},
    )
    assert "2.29.1" in found.source.text
    assert found.at is not None
    assert only(VersionSeen, told(text)).version == "2.29.1"


def test_ranks_of_a_part_are_told_as_those_of_the_whole() -> None:
    whole = communicator(*map(member, range(8)), name="aa")
    part = communicator(member(0, of=4), member(1, 7, of=6), name="bb")
    found = report(answer(whole, part))
    assert found.of_all
    assert [set(g.ranks) for g in found.groups] == [{4}, {6}]


def test_two_parts_without_a_whole_keep_their_own_ranks() -> None:
    one = communicator(member(0, of=0), member(1, 7, of=1), name="aa")
    other = communicator(member(0, of=2), member(1, of=3), name="bb")
    found = report(answer(one, other))
    assert not found.of_all
    assert [set(g.ranks) for g in found.groups] == [{0}, {1}]


def test_ranks_that_do_not_answer() -> None:
    lost = (missing(2), missing(3, considered_dead=True))
    found = report(answer(communicator(member(0), member(1), lost=lost)))
    assert found.problem is RasProblem.NO_ANSWER
    assert {(g.says, *g.ranks) for g in found.groups} == {("missing", 2), ("dead", 3)}


def test_a_rank_that_has_not_joined_answers() -> None:
    lost = (missing(2, unresponsive=False),)
    assert told(answer(communicator(member(0), member(1), lost=lost)))[1:] != []
    found = report(answer(communicator(member(0), member(1), lost=lost)))
    assert found.problem is RasProblem.STATUS_DIFFERS
    assert {(g.says, g.count) for g in found.groups} == {("RUNNING", 2), ("NOCOMM", 1)}


def test_errors_and_status() -> None:
    members = (member(0), member(1, async_error=6), member(2, abort_flag=True))
    error, status = (e for e in told(answer(communicator(*members))) if isinstance(e, RasReport))
    assert (error.problem, error.op, error.groups[0].says) == (
        RasProblem.ERROR,
        "asynchronous",
        "Remote process error",
    )
    assert {(g.says, *g.ranks) for g in status.groups} == {("RUNNING", 0, 1), ("ABORT", 2)}


def test_all_is_well() -> None:
    found = report(answer(communicator(*map(member, range(8)))))
    assert (found.problem, found.size) == (RasProblem.NONE, 8)


def test_a_cut_answer_never_says_that_all_is_well() -> None:
    text = answer(communicator(*map(member, range(8))))
    for share in (0.2, 0.5, 0.9):
        events = told(text[: int(len(text) * share)])
        assert not [e for e in events if isinstance(e, RasReport)]


def test_a_cut_answer_tells_what_differs_before_the_cut() -> None:
    text = answer(communicator(member(0), member(1, 639), *map(member, range(2, 8))))
    found = report(text[: len(text) * 2 // 3])
    assert found.problem is RasProblem.COUNTS_DIFFER


def test_a_comma_that_nccl_forgot() -> None:
    text = answer(communicator(member(0), member(1), lost=(missing(2),)))
    broken = text.replace('"rank": 2,', '"rank": 2')
    assert broken != text
    assert set(report(broken).groups[0].ranks) == {2}


def test_keys_of_later_versions() -> None:
    strange = {**member(1, 639), "progress": {"rank": 77, "ops": [{"rank": 9, "status": []}]}}
    assert [set(g.ranks) for g in report(answer(communicator(member(0), strange))).groups] == [
        {0},
        {1},
    ]


def test_two_answers_in_one_file() -> None:
    text = answer(communicator(member(0), member(1, 639)))
    reports = [e for e in told(f"{text}\n{text}") if isinstance(e, RasReport)]
    assert len(reports) == 2
    assert reports[0].source.line != reports[1].source.line


@pytest.mark.parametrize(
    "text",
    [
        "[2025-12-19 13:07:07] PEER_DEAD: Process 4712 on node 10.0.0.7 managing GPU 1 ",
        '{\n  "timestamp": "2025-12-19 13:07:07",\n  "group": "LIFECYCLE",\n'
        '  "event": "PEER_DEAD",\n  "peer": {\n    "host": "10.0.0.7",\n    "pid": 4712,\n'
        '    "cuda_devs": [1],\n    "nvml_devs": [1]\n  },\n  "details": ""\n}',
    ],
)
def test_a_death_that_ras_watched(text: str) -> None:
    found = report(f"{text}\n{text}")
    assert found.problem is RasProblem.NO_ANSWER
    assert (found.groups[0].count, set(found.groups[0].pids)) == (1, {4712})
