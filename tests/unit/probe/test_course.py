"""What the last calls of a rank tell, heard through functions of torch itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import pytest

from unhang.probe.course import Course


@pytest.fixture(name="dist")
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """This process is rank 1 of two; the other one never comes."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    dist: ModuleType = torch.distributed
    asked = dist.distributed_c10d._rank_not_in_group
    monkeypatch.setattr(dist.distributed_c10d, "_rank_not_in_group", asked)
    dist.init_process_group("fake", store=dist.HashStore(), rank=1, world_size=2)
    yield dist
    dist.destroy_process_group()


def heard(dist: ModuleType, calls: Sequence[Callable[[], object]]) -> dict[str, object] | None:
    """What is told once nothing more has come between two looks."""
    course = Course()
    course.listen(dist.distributed_c10d)
    for call in calls:
        call()
    assert course.told() is None
    return course.told()


def test_a_call_that_names_another_rank_than_ever_before_does_not_fit(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2)

    def broadcast(source: int) -> Callable[[], object]:
        return lambda: dist.broadcast(x, src=source)

    def sent() -> object:
        return dist.send(x, dst=0)

    usual = [sent, broadcast(0)] * 5
    told = heard(dist, [*usual, sent, broadcast(1)])
    assert told is not None
    assert (told["fits"], str(told["move"])[:19], str(told["due"])[:19]) == (
        False,
        "broadcast(src=1) in",
        "broadcast(src=0) in",
    )
    told = heard(dist, [*usual, sent, broadcast(0)])
    assert told is not None
    assert told["fits"] is True


def test_a_call_left_out_shows_in_the_next_one_and_for_some_calls_after(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2)
    pair = [lambda: dist.recv(x, src=0), lambda: dist.send(x, dst=0)]
    told = heard(dist, [*pair * 6, pair[1], *pair])
    assert told is not None
    assert (told["fits"], str(told["due"])[:14]) == (False, "irecv(src=0) i")


def test_what_is_seldom_or_never_the_same_tells_nothing(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2)
    calls: list[Callable[[], object]] = [dist.barrier, lambda: dist.all_reduce(x)]
    assert heard(dist, calls) is None
    drawn = random.Random(5)
    assert all(heard(dist, drawn.choices(calls, k=90)) is None for _ in range(8))


def test_every_tenth_step_is_a_habit_and_a_step_too_early_is_none(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2)
    step, evaluates = (lambda: dist.all_reduce(x)), dist.barrier
    period = [*[step] * 10, evaluates]
    told = heard(dist, period * 6)
    assert told is not None
    assert told["fits"] is True
    told = heard(dist, [*period * 6, *[step] * 7, evaluates])
    assert told is not None
    assert told["fits"] is False


def test_programs_find_the_functions_of_torch_as_they_were(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    before = dist.isend, dist.broadcast
    group = dist.new_group([0, 1])
    assert heard(dist, [lambda: dist.broadcast(torch.ones(1), src=0, group=group)]) is None
    assert (dist.isend, dist.broadcast) == before
    assert dist.P2POp(dist.isend, torch.ones(1), 0).op is dist.distributed_c10d.isend
    assert not dist.distributed_c10d._rank_not_in_group(group)


def test_a_torch_that_asks_in_another_way_is_left_alone(
    dist: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(group: object, strict: bool) -> bool:
        return strict and group is None

    monkeypatch.setattr(dist.distributed_c10d, "_rank_not_in_group", asked)
    Course().listen(dist.distributed_c10d)
    assert dist.distributed_c10d._rank_not_in_group is asked


def test_trouble_of_ours_is_no_trouble_of_the_call(
    dist: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")

    def fail(*_: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(Course, "_note", fail)
    assert heard(dist, [lambda: dist.broadcast(torch.ones(1), src=0)]) is None


def test_where_calls_come_all_the_time_nobody_listens_for_a_while(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    x, course, c10d = torch.ones(1), Course(), dist.distributed_c10d
    plain = c10d._rank_not_in_group
    course.listen(c10d)
    course.pace(1.0)
    heard_by = c10d._rank_not_in_group
    assert heard_by is not plain
    for _ in range(1_501):
        dist.all_reduce(x)
    course.pace(2.0)
    assert (c10d._rank_not_in_group is plain, course.told()) == (True, None)
    issued = course.issued
    course.pace(61.0)
    for _ in range(3):
        dist.all_reduce(x)
    assert c10d._rank_not_in_group is plain
    assert course.issued == issued + 1, "one call from beat to beat shows that there are any"
    course.pace(61.5)
    course.pace(62.0)
    dist.all_reduce(x)
    assert (c10d._rank_not_in_group is heard_by, course.issued) == (True, issued + 2)


def test_the_last_call_is_kept_with_its_number_and_size(dist: ModuleType) -> None:
    torch = pytest.importorskip("torch")
    shown: list[tuple[int, bytes]] = []
    course = Course()
    course.show_last(lambda number, text: shown.append((number, text)))
    course.listen(dist.distributed_c10d)
    course.pace(1.0)
    for size in (2, 3):
        dist.all_reduce(torch.ones(size))
    dist.isend(torch.ones(1), dst=0)
    dist.broadcast(torch.ones(4, dtype=torch.int64), src=0)
    dist.barrier()
    assert [number for number, _ in shown] == [1, 2, 3, 4]
    begins = [b"all_reduce of 2 float32 in ", b"all_reduce of 3 float32 in "]
    begins += [b"broadcast(src=0) of 4 int64 in ", b"barrier in "]
    assert all(text.startswith(begin) for (_, text), begin in zip(shown, begins, strict=True))
    for _ in range(1_501):
        dist.all_reduce(torch.ones(1))
    course.pace(2.0)
    assert shown[-1] == (0, b""), "where calls are not heard, the last one is not known"
    told = len(shown)
    course.pace(62.0)
    dist.all_reduce(torch.ones(1))
    assert len(shown) == told, "its number is not known any more"
