"""Re-pairing names exactly the bad hosts and links of simulated clusters."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from unhang.checking.isolation import ALL_PAIRS, Isolation, Round, isolate


class Cluster:
    """Hosts of which some are bad, and links of which some are bad."""

    def __init__(self, size: int, bad_hosts: int, bad_links: int, seed: int) -> None:
        chance = random.Random(seed)
        self.hosts = [f"h{i}" for i in range(size)]
        chance.shuffle(self.hosts)
        self.bad_hosts = frozenset(chance.sample(self.hosts, bad_hosts))
        well = [host for host in self.hosts if host not in self.bad_hosts]
        links: set[frozenset[str]] = set()
        degree: Counter[str] = Counter()
        while len(links) < bad_links:
            pair = chance.sample(well, 2)
            # A host most of whose links are bad is a bad host by definition.
            if all(degree[end] < 2 for end in pair) and frozenset(pair) not in links:
                links.add(frozenset(pair))
                degree.update(pair)
        self.bad_links = frozenset(links)
        self.most = 0

    def test(self, turn: Round) -> list[bool]:
        members = [host for group in turn for host in group]
        assert len(members) == len(set(members)), "nobody is in two tests at once"
        return [self._passes(frozenset(group)) for group in turn]

    def _passes(self, group: frozenset[str]) -> bool:
        return not group & self.bad_hosts and not any(link <= group for link in self.bad_links)


def found(cluster: Cluster) -> Isolation:
    asking = isolate(cluster.hosts)
    outcomes: Sequence[bool] | None = None
    while True:
        try:
            turn = next(asking) if outcomes is None else asking.send(outcomes)
        except StopIteration as stop:
            result: Isolation = stop.value
            return result
        outcomes = cluster.test(turn)


SIZES = (8, 9, 16, 17, 31, 64, 127, 256, 512, 1024)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bad", [(h, n) for h in range(6) for n in range(6 - h)])
def test_exactly_the_bad_ones_are_named(size: int, bad: tuple[int, int]) -> None:
    if size <= 9 and sum(bad) > 4:
        bad = (min(bad[0], 3), min(bad[1], 2))  # of eight hosts more than half must be good
    for seed in range(12 if size <= 64 else 2):
        cluster = Cluster(size, *bad, seed=seed)
        result = found(cluster)
        assert result.bad_hosts == cluster.bad_hosts, seed
        assert {frozenset(pair) for pair in result.bad_links} == cluster.bad_links, seed


@pytest.mark.parametrize("size", [64, 256, 1024])
def test_a_healthy_cluster_takes_two_rounds(size: int) -> None:
    result = found(Cluster(size, 0, 0, seed=1))
    assert (result.rounds, result.tests) == (2, size // 2 + 1)


def test_bad_hosts_alone_take_few_rounds() -> None:
    result = found(Cluster(1024, 5, 0, seed=1))
    assert result.rounds <= 5
    assert result.tests <= 512 + 4 * 10 + 1


def test_a_hidden_link_is_found_by_halves() -> None:
    result = found(Cluster(1024, 0, 1, seed=3))
    assert result.rounds <= 2 + 2 * 10 + 2 * 10


@pytest.mark.parametrize("size", range(3, ALL_PAIRS + 1))
def test_of_few_hosts_all_pairs_are_tested_once(size: int) -> None:
    result = found(Cluster(size, 0, 0, seed=1))
    assert result.tests == len(result.passed) == size * (size - 1) // 2
    assert result.rounds == size - 1 + size % 2


def test_of_two_hosts_the_link_is_named() -> None:
    result = found(Cluster(2, 1, 0, seed=1))
    assert (result.bad_hosts, len(result.bad_links)) == (frozenset(), 1)


def test_one_host_has_nothing_to_be_paired_with() -> None:
    assert found(Cluster(1, 0, 0, seed=1)).tests == 0


def test_where_all_fail_nobody_is_accused_of_more_than_can_be_shown() -> None:
    result = found(Cluster(24, 24, 0, seed=1))
    assert result.good == frozenset()
