"""Finds bad hosts and bad links by tests of pairs and groups; knows nothing of how these are run.

A test of a group passes when all its hosts, and all links between them, are good. Few hosts are all
paired with each other. Of many, neighbours are paired first; whoever has not passed is paired with
hosts that have, and is bad when it passes with none of them. A pair that fails although both pass
elsewhere is a bad link. Then all good hosts are tested together: where that fails although every
pair passed, halves are tested until the link is found. All tests of a round run at once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Group = tuple[str, ...]
Round = tuple[Group, ...]
"""Groups without a common host."""
Asking = Generator[Round, Sequence[bool], None]
Answer = Generator[Round, Sequence[bool], list[bool]]

ALL_PAIRS = 16
"""Up to so many hosts all pairs are tested: fifteen rounds, and no link is left out."""
_PARTNERS = 3
"""Good hosts with which one must fail to be bad, as far as there are so many."""


@dataclass(slots=True, kw_only=True)
class Isolation:
    """What the tests so far have shown.

    Attributes:
        passed, failed: pairs, each in the order of the hosts.
        tests, rounds: how many it took.
    """

    hosts: tuple[str, ...]
    passed: set[Group] = field(default_factory=set)
    failed: set[Group] = field(default_factory=set)
    tests: int = 0
    rounds: int = 0

    def note(self, group: Group, good: bool) -> None:
        """Keep the outcome of a test."""
        self.tests += 1
        if len(group) == 2:
            (self.passed if good else self.failed).add(group)

    @property
    def good(self) -> frozenset[str]:
        """Hosts that have passed with somebody."""
        return frozenset(host for pair in self.passed for host in pair)

    @property
    def bad_hosts(self) -> frozenset[str]:
        """Hosts that fail with more than half of those that are not bad themselves.

        One that was not tested with everybody, and passed once, is not bad.
        """
        bad: set[str] = set()
        while (worst := self._worst(bad)) is not None:
            bad.add(worst)
        return frozenset(bad)

    def _worst(self, bad: set[str]) -> str | None:
        shares = {}
        for host in {host for pair in self.failed for host in pair} - bad:
            mine = [pair for pair in self.failed if host in pair and not bad & set(pair)]
            well = [pair for pair in self.passed if host in pair and not bad & set(pair)]
            everybody = len(mine) + len(well) == len(self.hosts) - 1 - len(bad)
            if len(mine) > 1 and (everybody or not well):
                shares[host] = len(mine) / (len(mine) + len(well))
        if not shares:
            return None
        most = max(shares, key=lambda name: (shares[name], name))
        return most if shares[most] > 0.5 else None

    @property
    def bad_links(self) -> frozenset[Group]:
        """Pairs that fail, and no host of theirs is bad."""
        bad = self.bad_hosts
        return frozenset(pair for pair in self.failed if not bad & set(pair))


def isolate(
    hosts: Sequence[str], *, all_pairs: int = ALL_PAIRS
) -> Generator[Round, Sequence[bool], Isolation]:
    """Yield rounds of tests; take their outcomes, in the same order; return what they show.

    Args:
        hosts: distinct names.
        all_pairs: up to so many hosts all pairs are tested.
    """
    state = Isolation(hosts=tuple(hosts))
    if len(hosts) <= all_pairs:
        for turn in tournament(hosts):
            yield from _run(state, turn)
        return state
    turns = tournament(hosts)
    yield from _run(state, next(turns))
    for turn in turns:  # where no pair at all passes, others must be tried
        if state.good:
            break
        yield from _run(state, turn)
    yield from _repair(state)
    good = state.good
    yield from _links_of(state, [host for host in hosts if host in good])
    return state


def _run(state: Isolation, groups: Iterable[Group]) -> Answer:
    """One round; the outcome of each group."""
    order = {host: place for place, host in enumerate(state.hosts)}
    turn = tuple(tuple(sorted(group, key=order.__getitem__)) for group in groups)
    if not turn:
        return []
    outcomes = yield turn
    state.rounds += 1
    for group, good in zip(turn, outcomes, strict=True):
        state.note(group, good)
    return list(outcomes)


def tournament(hosts: Sequence[str]) -> Iterator[Round]:
    """All pairs, in rounds in which nobody is twice; neighbours first (the circle method)."""
    circle: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    # An order in which the first round pairs each with its neighbour.
    circle = [*circle[::2], *reversed(circle[1::2])]
    for _ in range(len(circle) - 1):
        couples = zip(circle, reversed(circle), strict=True)
        half = [next(couples) for _ in range(len(circle) // 2)]
        yield tuple((a, b) for a, b in half if a is not None and b is not None)
        circle = [circle[0], circle[-1], *circle[1:-1]]


def _repair(state: Isolation) -> Asking:
    """Pair whoever has not passed with hosts that have."""
    begun = state.good
    for _ in range(_PARTNERS):
        tried = {frozenset(pair) for pair in state.failed}
        free = [host for host in state.hosts if host in begun]
        groups: list[Group] = []
        left: list[str] = []
        good = state.good
        for host in (h for h in state.hosts if h not in good):
            partner = next((g for g in free if frozenset((g, host)) not in tried), None)
            if partner is None:
                left.append(host)
            else:
                free.remove(partner)
                groups.append((host, partner))
        yield from _run(state, groups)
        for host in left:  # more bad hosts than good ones: one after the other
            partner = next((g for g in begun if frozenset((g, host)) not in tried), None)
            if partner is not None:
                yield from _run(state, [(host, partner)])


def _links_of(state: Isolation, hosts: Sequence[str]) -> Asking:
    """Find the bad links among hosts that are good, by halves."""
    classes = _apart(hosts, state.failed)
    for index, one in enumerate(classes):
        yield from _within(state, one)
        for other in classes[:index]:
            yield from _between(state, other, one)


def _within(state: Isolation, hosts: Sequence[str]) -> Asking:
    if len(hosts) < 2 or (yield from _passes(state, hosts)):
        return
    if len(hosts) == 2:
        return  # the pair itself is noted
    middle = len(hosts) // 2
    halves = (hosts[:middle], hosts[middle:])
    for half in halves:
        yield from _within(state, half)
    for one in _apart(halves[0], state.failed):
        for other in _apart(halves[1], state.failed):
            yield from _between(state, one, other)


def _between(state: Isolation, one: Sequence[str], other: Sequence[str]) -> Asking:
    """Find the bad links from one set to another; there are none within them."""
    if not one or not other:
        return
    for pair in sorted(state.failed):
        ends = next(((a, b) for a, b in (pair, pair[::-1]) if a in one and b in other), None)
        if ends is not None:  # known, and would spoil every test that holds both
            a, b = ends
            yield from _between(state, [host for host in one if host != a], other)
            yield from _between(state, [a], [host for host in other if host != b])
            return
    if (yield from _passes(state, [*one, *other])) or len(one) == len(other) == 1:
        return
    larger, smaller = sorted((one, other), key=len, reverse=True)
    middle = len(larger) // 2
    yield from _between(state, larger[:middle], smaller)
    yield from _between(state, larger[middle:], smaller)


def _passes(state: Isolation, hosts: Sequence[str]) -> Generator[Round, Sequence[bool], bool]:
    pair = tuple(hosts)
    if pair in state.passed or pair[::-1] in state.passed:
        return True
    (good,) = yield from _run(state, [pair])
    return good


def _apart(hosts: Sequence[str], links: Iterable[Group]) -> list[list[str]]:
    """Sets without a known bad link inside, as few as come easily."""
    joined: dict[str, set[str]] = {}
    for a, b in links:
        joined.setdefault(a, set()).add(b)
        joined.setdefault(b, set()).add(a)
    classes: list[list[str]] = []
    for host in hosts:
        home = next((c for c in classes if not joined.get(host, set()) & set(c)), None)
        if home is None:
            classes.append([host])
        else:
            home.append(host)
    return classes
