"""Where a rank stands, from the stack of its beat."""

from __future__ import annotations

import pytest

from support.live_jobs import C10D, MAIN, PLACES, waiting_in
from unhang.live.judge.beat_stacks import NOWHERE, standpoint, where
from unhang.live.messages.reports import Beat, FramePlace
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing


def test_a_collective_is_a_wait_and_known_by_the_name_the_program_gave_it() -> None:
    found = standpoint(waiting_in("all_gather_object"))
    assert (found.doing, found.op, found.waits) == (Doing.WAITS, "all_gather_object", True)
    assert found.place == "train_step (train.py:50)"


@pytest.mark.parametrize(
    ("name", "phase"),
    [("save", Phase.SAVE), ("eval", Phase.EVAL), ("data", Phase.DATA), ("compile", Phase.COMPILE)],
)
def test_work_has_its_phase(name: str, phase: Phase) -> None:
    found = standpoint(PLACES[name])
    assert (found.phase, found.waits) == (phase, False)


def test_own_code_is_told_from_a_library_that_it_called() -> None:
    assert standpoint(PLACES["code"]).own
    assert not standpoint(PLACES["lock"]).own
    assert standpoint(PLACES["lock"]).doing is Doing.LOCKED


@pytest.mark.parametrize(
    "file", ["socket.py", "ssl.py", "subprocess.py", "selectors.py", "multiprocessing/pool.py"]
)
def test_an_answer_from_outside_is_known(file: str) -> None:
    found = standpoint((FramePlace(f"/usr/lib/python3.11/{file}", 1, "recv_into"), MAIN))
    assert found.outside


@pytest.mark.parametrize(
    ("place", "calling", "waits"),
    [
        ("code", "wait", True),
        ("code", "sleep", False),
        ("code", None, False),
        ("lock", "wait", False),
    ],
)
def test_a_handle_is_waited_for_in_the_programs_own_code(
    place: str, calling: str | None, waits: bool
) -> None:
    found = standpoint(PLACES[place], calling)
    assert (found.waits, found.handle) == (waits, waits)


UPLOADS = (FramePlace("/usr/lib/python3.11/ssl.py", 1167, "read"),)
SERVES = (FramePlace("/usr/lib/python3.11/selectors.py", 468, "select"),)
SAVES = PLACES["save"]


@pytest.mark.parametrize(
    ("stack", "threads", "outside", "phase"),
    [
        ("lock", (SERVES, UPLOADS), True, None),
        ("lock", (SERVES, SAVES), False, Phase.SAVE),
        ("lock", (SERVES, PLACES["lock"]), False, None),
        ("code", (UPLOADS,), False, None),
        ("eval", (UPLOADS,), False, Phase.EVAL),
    ],
)
def test_a_thread_that_waits_for_another_one_is_where_that_one_works(
    stack: str, threads: tuple[tuple[FramePlace, ...], ...], outside: bool, phase: Phase | None
) -> None:
    found = where(Beat(host="gn1", pid=7, stack=PLACES[stack], threads=threads))
    assert (found.outside, found.phase) == (outside, phase)
    assert found.place != ""


def test_taking_the_groups_down_is_no_wait_for_others() -> None:
    found = standpoint((FramePlace(C10D, 2000, "destroy_process_group"), MAIN))
    assert (found.leaves, found.phase) == (True, Phase.TEARDOWN)


@pytest.mark.parametrize("op", ["send", "recv", "batch_isend_irecv"])
def test_pairs_are_known(op: str) -> None:
    assert standpoint(waiting_in(op)).pairs


def test_without_a_stack_nothing_is_known() -> None:
    assert standpoint(()) is NOWHERE


@pytest.mark.parametrize("place", ["code", "lock", "between", "data", "backward"])
def test_a_phase_that_the_program_declared_is_that_of_its_work(place: str) -> None:
    beat = Beat(host="a", pid=1, stack=PLACES[place], phase="save")
    found = where(beat)
    assert (found.phase, found.certain, found.declared) == (Phase.SAVE, True, True)
    assert found.place == standpoint(PLACES[place]).place


def test_a_declared_phase_does_not_tell_whether_its_rank_waits() -> None:
    beat = Beat(host="a", pid=1, stack=waiting_in("barrier"), phase="eval")
    assert (where(beat).doing, where(beat).phase) == (Doing.WAITS, Phase.EVAL)
    meets = waiting_in("init_process_group")
    assert where(Beat(host="a", pid=1, stack=meets, phase="train")).meets


@pytest.mark.parametrize("word", [None, "", "lunch"])
def test_a_word_that_is_no_phase_is_left_aside(word: str | None) -> None:
    beat = Beat(host="a", pid=1, stack=PLACES["code"], phase=word)
    assert where(beat) == where(Beat(host="a", pid=1, stack=PLACES["code"]))
