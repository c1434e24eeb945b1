"""Tests the links between hosts: by plain TCP and, where there is torch, by collectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median_high
from typing import Any

from unhang.checking.isolation import Group, Round
from unhang.model.provenance import Message

Ask = Callable[[Mapping[int, Mapping[str, Any]], float], Mapping[int, Any]]
"""Orders by rank and a limit in seconds, to the answers that came in time."""
RunGroups = Callable[[Sequence[Sequence[int]]], Mapping[int, Any]]
"""Groups of ranks, to the answers of their ranks."""

_LINK_S = 8.0
_LOST, _LOST_LEAST = 0.01, 20
"""Share of segments sent again, and how many at least: a sound link in a data centre loses less
than one in a thousand, also when it is full."""
_SLOW = 0.4
"""Of the usual rate of the other links."""
_LEAST_RUN = 0.02
"""Share of its time that an end must have run for its rate to count at all."""
_AGAIN = 3
"""A link that looks bad is measured again, alone and in turn with one that does not: its best
counts, and what the other has at the same time, so that a busy moment accuses nobody."""


class PairTests:
    """Tests pairs of hosts by plain TCP and, where there is torch, by collectives."""

    def __init__(
        self, ask: Ask, run_groups: RunGroups | None, leaders: Mapping[str, int],
        addresses: Mapping[str, str],
    ) -> None:  # fmt: skip
        self._ask = ask
        self._run_groups = run_groups
        self._leaders = leaders
        self._addresses = addresses
        self.rates: dict[Group, float] = {}
        self.starved: dict[Group, float] = {}
        self.faults: dict[Group, Message] = {}
        self.unsure: dict[Group, Mapping[str, object]] = {}

    def test(self, turn: Round) -> list[bool]:
        """The outcome of each group of a round."""
        pairs = [group for group in turn if len(group) == 2]
        found = self._measure(pairs)
        for pair in pairs:
            self.rates[pair] = found[pair].rate
        suspicious = [pair for pair in pairs if self._fault(pair, found[pair], self._usual())]
        usual = dict.fromkeys(pairs, self._usual())
        for pair in suspicious:  # once more, when nobody else is on the wires
            for _ in range(_AGAIN):
                found[pair] = self._measure([pair])[pair]
                self.rates[pair] = max(self.rates[pair], found[pair].rate)
                usual[pair] = min(usual[pair], self._beside(pair, suspicious))
                if self._fault(pair, found[pair], usual[pair]) is None:
                    break
        outcomes: dict[Group, bool] = {}
        for pair in pairs:
            self.starved[pair] = found[pair].starved
            fault = self._fault(pair, found[pair], usual[pair])
            if fault is not None:
                self.faults[pair] = fault
            elif self.rates[pair] < self._usual() * _SLOW:
                # Slow, but its ends had no core to run on, or others were slow at that time.
                self.unsure[pair] = {"rate": self.rates[pair], "usual": self._usual()}
            outcomes[pair] = fault is None
        collective = [group for group in turn if outcomes.get(group, True)]
        outcomes |= self._collectives(collective)
        return [outcomes[group] for group in turn]

    def _usual(self) -> float:
        return median_high(self.rates.values())

    def _beside(self, pair: Group, suspicious: Sequence[Group]) -> float:
        """What the quickest other link has now; infinity where there is none that is well."""
        bad = {pair, *suspicious, *self.faults}
        others = [other for other in self.rates if other not in bad]
        if not others:
            return inf
        other = max(others, key=lambda p: (not set(p) & set(pair), self.rates[p]))
        seen = self._measure([other])[other]
        return inf if seen.error else seen.rate

    def _fault(self, pair: Group, seen: _Seen, usual: float) -> Message | None:
        if seen.error:
            return Message(key="stage.link_broken", values={"error": seen.error})
        if seen.lost > _LOST:
            return Message(key="stage.link_lossy", values={"percent": round(100 * seen.lost, 1)})
        # On hosts without a free core the link is not what is slow.
        if self.rates[pair] < usual * _SLOW * max(_LEAST_RUN, 1 - seen.starved):
            values = {"rate": self.rates[pair], "usual": usual}
            return Message(key="stage.link_slow", values=values)
        return None

    def _measure(self, pairs: Sequence[Group]) -> dict[Group, _Seen]:
        """All at once."""
        leaders, addresses = self._leaders, self._addresses
        listening = self._ask(
            {leaders[a]: {"do": "listen", "address": addresses[a]} for a, _ in pairs}, 10.0
        )
        orders: dict[int, Mapping[str, Any]] = {}
        for a, b in pairs:
            port = listening.get(leaders[a], {}).get("port")
            if port is not None:
                orders[leaders[a]] = {"do": "serve", "limit_s": _LINK_S}
                orders[leaders[b]] = {
                    "do": "connect", "address": addresses[a], "port": port,
                    "source": addresses[b], "limit_s": _LINK_S,
                }  # fmt: skip
        answers = self._ask(orders, 3 * _LINK_S)
        seen: dict[Group, _Seen] = {
            (a, b): _both(
                answers.get(leaders[a]) or listening.get(leaders[a]), answers.get(leaders[b])
            )
            for a, b in pairs
        }
        return seen

    def _collectives(self, groups: Sequence[Group]) -> dict[Group, bool]:
        if self._run_groups is None or not groups:
            return dict.fromkeys(groups, True)
        ranks = [[self._leaders[host] for host in group] for group in groups]
        answers = self._run_groups(ranks)
        outcomes = {}
        for group, members in zip(groups, ranks, strict=True):
            why = next((w for w in (why_failed(answers.get(r)) for r in members) if w), "")
            if why:
                self.faults[group] = Message(key="stage.pair_failed", values={"error": why})
            outcomes[group] = not why
        return outcomes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """Both ends of a link together: the slower direction, and the one that loses more."""

    rate: float
    lost: float
    starved: float
    error: str


def _both(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> _Seen:
    ends = [end for end in (other, one) if end is not None]
    errors = [str(end["error"]) for end in ends if end.get("error")]
    if len(ends) < 2 and not errors:
        errors = ["no answer"]
    return _Seen(
        rate=min((float(end.get("bytes_per_s", 0.0)) for end in ends), default=0.0),
        starved=sum(float(end.get("starved", 0.0)) for end in ends),
        lost=max((_lost(end) for end in ends), default=0.0),
        error=errors[0] if errors else "",
    )


def _lost(end: Mapping[str, Any]) -> float:
    """Share of what one end sent that it had to send again; a few are no share."""
    again, sent = int(end.get("retransmitted", 0)), int(end.get("segments", 0))
    return again / sent if again >= _LOST_LEAST and sent else 0.0


def why_failed(answer: Mapping[str, Any] | None) -> str:
    """Why a rank failed; "" where it did not."""
    if answer is None:
        return "it did not answer"
    if "hung_s" in answer:
        entered = answer.get("entered", {})
        where = entered.get("operation", "the rendezvous")
        return f"{where} did not end within {answer['hung_s']:.0f} s"
    if answer.get("error"):
        return str(answer["error"])
    wrong = [r for r in answer.get("results", ()) if r.get("wrong")]
    if wrong:
        return f"{wrong[0]['operation']}: {wrong[0]['wrong']} values are wrong"
    return ""
