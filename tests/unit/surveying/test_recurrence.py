"""Which hosts are named, and that chance names nobody."""

from __future__ import annotations

import random
from math import isclose

import pytest
from scipy import stats  # type: ignore[import-untyped]

from unhang.model.fleet import JobRecord
from unhang.surveying.recurrence import recurring_hosts, recurring_settings


def job(
    number: int,
    hosts: tuple[str, ...],
    at: tuple[str, ...] = (),
    *,
    cause: str | None = "gpu_hardware",
    settings: dict[str, tuple[str, ...]] | None = None,
    failed: bool | None = None,
) -> JobRecord:
    fails = bool(at) if failed is None else failed
    return JobRecord(
        name=str(number),
        paths=(str(number),),
        fingerprint=str(number),
        outcome="cause" if fails else "healthy",
        cause=cause if fails else None,
        culprit_hosts=at,
        hosts=hosts,
        hours=1.0,
        settings=settings or {},
    )


def jobs(seed: int, count: int, hosts: int, bad: set[str], rate: float = 0.05) -> list[JobRecord]:
    """Jobs on 1 to 16 hosts; each host fails with `rate / 16`, a bad one in one job of five."""
    dice = random.Random(seed)
    pool = [f"node{i:03}" for i in range(hosts)]
    made = []
    for number in range(count):
        picked = tuple(sorted(dice.sample(pool, dice.choice((1, 2, 4, 8, 16)))))
        odds = [0.2 if host in bad else rate / 16 for host in picked]
        at = tuple(h for h, p in zip(picked, odds, strict=True) if dice.random() < p)[:1]
        made.append(job(number, picked, at))
    return made


def test_exactly_the_bad_hosts_of_a_big_fleet_are_named() -> None:
    bad = {"node003", "node101", "node222", "node317", "node480"}
    for seed in range(5):
        found = recurring_hosts(jobs(seed, 10_000, 500, bad))
        assert {one.name for one in found.found} == bad
        assert found.tested == 500
        assert all(one.ratio.low > 1 for one in found.found)


def test_where_chance_alone_fails_hosts_nobody_is_named() -> None:
    alarms = sum(bool(recurring_hosts(jobs(seed, 300, 60, set())).found) for seed in range(200))
    # at most 5 % by construction; 19 of 200 or more would be a chance of one in a thousand
    assert alarms < 19


def test_a_busy_host_is_not_a_bad_one() -> None:
    many = [job(i, ("busy", f"n{i % 20}"), ("busy",) if i % 20 == 0 else ()) for i in range(200)]
    few = []
    for i in range(200):
        host = f"n{i % 20}"
        few.append(job(1000 + i, (host,), (host,) if i // 20 == i % 20 else ()))
    assert recurring_hosts(many + few).found == ()


def test_what_is_expected_of_a_host_follows_from_its_hours() -> None:
    bad = [job(number, ("bad",), ("bad",)) for number in range(6)]
    others = [job(10 + number, (f"host{number}",)) for number in range(94)]
    (one,) = recurring_hosts([*bad, *others]).found
    assert isclose(one.expected, 6 * 6 / 100)
    assert (one.failures, one.jobs) == (6, 6)


def test_an_exception_of_the_program_is_nobodys_host() -> None:
    made = [job(i, ("a", "b"), ("a",), cause="rank_exception") for i in range(50)]
    assert recurring_hosts(made).found == ()
    made = [job(i, ("a", "b"), ("a",), cause="external_stop") for i in range(50)]
    assert recurring_hosts(made).found == ()


def test_p_is_that_of_scipy() -> None:
    made = [
        job(i, (f"n{i % 10}",), (f"n{i % 10}",) if i < 3 or i % 10 == 4 else ()) for i in range(90)
    ]
    found = recurring_hosts(made)
    (one,) = found.found
    total = sum(bool(each.culprit_hosts) for each in made)
    tail = stats.binomtest(one.failures, total, 0.1, alternative="greater").pvalue
    assert isclose(one.p, tail * 10, rel_tol=1e-9)
    assert isclose(one.expected, total / 10)


def test_one_host_that_has_it_all() -> None:
    made = [job(i, ("only",), ("only",)) for i in range(5)]
    assert recurring_hosts(made).found == ()
    assert recurring_hosts([]).tested == 0


@pytest.mark.parametrize(("bad", "named"), [(0.5, {"NCCL_P2P_DISABLE=0"}), (0.1, set())])
def test_settings_with_which_jobs_fail_more(bad: float, named: set[str]) -> None:
    dice = random.Random(7)
    made = []
    for number in range(400):
        value = dice.choice("01")
        odds = bad if value == "0" else 0.1
        settings: dict[str, tuple[str, ...]] = {"NCCL_P2P_DISABLE": (value,)}
        settings["OMP_NUM_THREADS"] = ("1",)
        made.append(job(number, ("a",), failed=dice.random() < odds, settings=settings))
    found = recurring_settings(made)
    assert {one.name for one in found.found} == named
    assert found.tested == 2
