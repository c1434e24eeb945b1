"""The ramp over a cluster, as rank 0 runs it: from facts of each host alone to the whole job.

Each stage has its own end, begins only when the one before found nothing that breaks a job, and
names whom to leave out. First what needs no rendezvous, so that a stuck host cannot wedge the
others; then what may hang, in processes that can be ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any

from unhang.checking.asking import LIMIT_S as FACTS_S
from unhang.checking.collectives import bandwidths
from unhang.checking.equality import compare_clocks, compare_facts, compare_settings
from unhang.checking.facts import FACTS
from unhang.checking.hardware import SOURCE, furthest_below, promised_rates
from unhang.checking.host import HostRequest
from unhang.checking.hub import Hub
from unhang.checking.isolation import Isolation, isolate
from unhang.checking.pair_tests import PairTests, why_failed
from unhang.checking.results import RampResults
from unhang.checking.stuck import judge_stuck
from unhang.model.codec import decode, encode
from unhang.model.preflight import Stage, Status, Suspect, worst
from unhang.model.provenance import Message

_ALONE_S, _GROUP_S, _WHOLE_S = 120.0, 40.0, 90.0
_KIB, _MIB = 1 << 10, 1 << 20
_SMALL = (("all_reduce", _MIB, 3), ("send_recv", _MIB, 2))
_RAMP = (
    *(("all_reduce", size, 3) for size in (4 * _KIB, 64 * _KIB, _MIB, 8 * _MIB)),
    *((name, _MIB, 2) for name in ("all_gather", "reduce_scatter", "all_to_all", "broadcast")),
)
_LATE_S = 0.25
"""A rank that the others wait for so long, in the middle of its repeats, is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """What is asked of a cluster.

    Attributes:
        backend: `gloo` or `nccl`.
        join_s: how long rank 0 waits for the others.
        expected: names of the hosts, where they are known.
        host: what is asked of each host.
    """

    backend: str = "gloo"
    join_s: float = 60.0
    expected: tuple[str, ...] = ()
    host: HostRequest = field(default_factory=HostRequest)


@dataclass(slots=True)
class Ramp:
    """Runs the stages, and keeps what they found."""

    hub: Hub
    world: int
    request: ClusterRequest
    results: RampResults = field(default_factory=RampResults)
    isolation: Isolation | None = None
    _address: dict[str, str] = field(default_factory=dict)
    _tag: int = 0

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names, in the order of their first ranks."""
        return tuple(self.results.ranks)

    def meet(self) -> bool:
        """Wait for all ranks; whether they came."""
        self._rendezvous()
        return self.results.stages[-1].status is Status.PASS

    def climb(self) -> None:
        """All stages, until one fails."""
        steps = (
            self._rendezvous, self._facts, self._equal, self._alone, self._within, self._pairs,
            self._whole,
        )  # fmt: skip
        for number, step in enumerate(steps):
            begun = time.monotonic()
            before = len(self.results.stages)
            step()
            self.results.took(time.monotonic() - begun, before)
            broken = worst(stage.status for stage in self.results.stages) is Status.FAIL
            if broken and number > 1:  # facts and differences are told in any case
                self.results.skipped([s.__name__.lstrip("_") for s in steps[number + 1 :]])
                return

    def _ask(self, orders: Mapping[int, Mapping[str, Any]], limit_s: float) -> dict[int, Any]:
        self._tag += 1
        return dict(self.hub.ask(str(self._tag), orders, limit_s))

    # --- who is there ---

    def _rendezvous(self) -> None:
        self.hub.gather(self.world, time.monotonic() + self.request.join_s)
        hellos = dict(sorted(self.hub.hellos.items()))
        keys: dict[str, list[int]] = {}
        for rank, hello in hellos.items():
            keys.setdefault(str(hello.get("host_key")), []).append(rank)
        names = [str(hellos[ranks[0]].get("host")) for ranks in keys.values()]
        for name, ranks in zip(names, keys.values(), strict=True):
            address = hellos[ranks[0]].get("address")
            label = name if names.count(name) == 1 else f"{name}@{address or ranks[0]}"
            hosts = self.results.ranks
            hosts[label if label not in hosts else f"{label}#{ranks[0]}"] = ranks
            self._address[label] = str(address or "")
        missing = frozenset(range(self.world)) - hellos.keys()
        values = {"ranks": missing, "world": self.world, "seconds": self.request.join_s}
        if not missing:
            self.results.passed("rendezvous", {"world": self.world})
            return
        gone = [name for name in self.request.expected if not self._is_here(name)]
        absent = Message(key="stage.absent", values=values)
        self.results.failed("rendezvous", "absent", values, ranks=missing)
        for host in gone:
            self.results.suspects.append(Suspect(stage="rendezvous", host=host, why=absent))

    def _is_here(self, name: str) -> bool:
        short = name.split(".", maxsplit=1)[0]
        return any(host.split("@")[0].split(".")[0] == short for host in self.results.ranks)

    # --- each host alone ---

    def _leaders(self) -> dict[str, int]:
        return {host: ranks[0] for host, ranks in self.results.ranks.items()}

    def _facts(self) -> None:
        request = replace(self.request.host, hosts=len(self.results.ranks))
        orders = {
            ranks[0]: {
                "do": "facts", "limit_s": FACTS_S + 5,
                "request": encode(replace(request, cores=self._cores(ranks))),
            }
            for ranks in self.results.ranks.values()
        }  # fmt: skip
        leaders = self._leaders()
        answers = self._ask(orders, FACTS_S + 15)
        found: dict[str, list[Stage]] = {}
        for host, rank in leaders.items():
            if "stages" not in answers.get(rank, {}):
                values = {"host": host, "seconds": FACTS_S}
                self.results.failed("facts", "no_facts", values, host=host)
                self.results.suspect("facts", host, Message(key="stage.no_facts", values=values))
                continue
            found[host] = [decode(Stage, data) for data in answers[rank]["stages"]]
        order_of = {fact.name: place for place, fact in enumerate(FACTS)}
        own = [replace(s, host=host) for host, stages in found.items() for s in stages]
        self.results.stages += sorted(own, key=lambda s: order_of.get(s.name, 0))
        self._stand_out(found)

    def _cores(self, ranks: Sequence[int]) -> int:
        """How many the ranks of a host may use together: launchers bind each to its own."""
        told = (self.hub.hellos[rank].get("cores") for rank in ranks)
        return len({core for own in told if isinstance(own, list) for core in map(str, own)})

    def _stand_out(self, found: Mapping[str, Sequence[Stage]]) -> None:
        """A host is a suspect for a fault that most hosts do not have."""
        for host, stages in found.items():
            for stage in stages:
                if stage.status not in (Status.FAIL, Status.WARN):
                    continue
                alike = sum(
                    any(s.message.key == stage.message.key for s in other)
                    for other in found.values()
                )
                if stage.status is Status.FAIL or alike * 2 < len(found):
                    self.results.suspect(stage.name, host, stage.message, stage.status)

    def _equal(self) -> None:
        before = len(self.results.stages)
        hosts = compare_facts(self.results)
        settings = {rank: dict(h.get("settings", {})) for rank, h in self.hub.hellos.items()}
        compare_settings(self.results, settings)
        compare_clocks(self.results, self._ask, self._leaders())
        if len(self.results.stages) == before:
            self.results.passed("equal", {"hosts": hosts})

    # --- what may hang ---

    def _alone(self) -> None:
        every = sorted(self.hub.hellos)
        orders: dict[int, Mapping[str, Any]] = {
            rank: {"do": "start", "limit_s": _ALONE_S - 10} for rank in every
        }
        answers = self._ask(orders, _ALONE_S)
        without = [
            r for r in every if "ModuleNotFoundError" in str(answers.get(r, {}).get("error"))
        ]
        if len(without) == len(every):
            self.results.skipped(["alone"], "no_torch")
            return
        bad = {r: why_failed(answers.get(r)) for r in every if why_failed(answers.get(r))}
        self._tell_ranks("alone", bad, answers)
        if not bad:
            self.results.passed(
                "alone", {"world": self.world}, {"torch": answers[every[0]].get("torch")}
            )

    @property
    def _has_torch(self) -> bool:
        return any(s.name == "alone" and s.status is Status.PASS for s in self.results.stages)

    def _tell_ranks(self, stage: str, bad: Mapping[int, str], answers: Mapping[int, Any]) -> None:
        """Ranks that failed by themselves; their hosts are suspects."""
        for host, ranks in self.results.ranks.items():
            own = [rank for rank in ranks if rank in bad]
            if own:
                values = {"ranks": frozenset(own), "error": bad[own[0]], "host": host}
                self.results.failed(stage, "rank_failed", values, ranks=frozenset(own), host=host)
                self.results.suspect(stage, host, Message(key="stage.rank_failed", values=values))
        stuck = {rank: answer for rank, answer in answers.items() if "log" in answer}
        if stuck:
            self._judge(stage, stuck)

    def run_groups(
        self,
        groups: Sequence[Sequence[int]],
        operations: Sequence[tuple[str, int, int]],
        limit_s: float,
        *,
        backend: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> dict[int, Any]:
        """Run the same operations in several groups at once; answers by rank.

        Args:
            groups: ranks of each.
            operations: name, bytes and repeats.
            limit_s: for all.
            backend: None = the job's.
            environment: for fresh processes; None = those that are there go on.
        """
        owners = {group[0]: {"do": "port"} for group in groups}
        ports = self._ask(owners, 10.0)
        orders: dict[int, Mapping[str, Any]] = {}
        host_of = {rank: host for host, ranks in self.results.ranks.items() for rank in ranks}
        for group in groups:
            port = ports.get(group[0], {}).get("port")
            here = len({host_of[rank] for rank in group}) == 1
            address = "127.0.0.1" if here else self._address.get(host_of[group[0]], "")
            if port is None:
                continue
            for index, rank in enumerate(group):
                orders[rank] = {
                    "do": "group", "index": index, "size": len(group), "address": address,
                    "port": port, "backend": backend or self.request.backend, "limit_s": limit_s,
                    "environment": environment, "operations": list(operations),
                }  # fmt: skip
        return self._ask(orders, limit_s + 15)

    def _judge(self, stage: str, stuck: Mapping[int, Any]) -> None:
        told = judge_stuck(stage, stuck)
        if told is not None:
            self.results.stages.append(told)

    def _within(self) -> None:
        if not self._has_torch:
            self.results.skipped(["within"])
            return
        groups = [ranks for ranks in self.results.ranks.values() if len(ranks) > 1]
        if not groups:
            self.results.skipped(["within"], "one_rank")
            return
        answers = self.run_groups(groups, _SMALL, _GROUP_S)
        members = [rank for group in groups for rank in group]
        bad = {r: why_failed(answers.get(r)) for r in members if why_failed(answers.get(r))}
        self._tell_ranks("within", bad, answers)
        if not bad:
            self.results.passed("within", {"groups": len(groups)}, _figures(answers, groups[0]))

    def _pairs(self) -> None:
        if len(self.results.ranks) < 2:
            self.results.skipped(["pairs"], "one_host")
            return
        groups = partial(self.run_groups, operations=_SMALL, limit_s=_GROUP_S)
        torch = groups if self._has_torch else None
        tester = PairTests(self._ask, torch, self._leaders(), self._address)
        asking = isolate(self.hosts)
        outcomes: list[bool] | None = None
        while True:
            try:
                turn = next(asking) if outcomes is None else asking.send(outcomes)
            except StopIteration as stop:
                self.isolation = stop.value
                break
            outcomes = tester.test(turn)
        assert self.isolation is not None
        self._tell_pairs(tester, self.isolation)

    def _tell_pairs(self, tests: PairTests, found: Isolation) -> None:
        """Suspects, and the stage."""
        for host in sorted(found.bad_hosts):
            pairs = [pair for pair in sorted(found.failed) if host in pair]
            values: dict[str, object] = {"host": host, "count": len(pairs)}
            self.results.failed("pairs", "bad_host", values, host=host)
            self.results.suspect("pairs", host, tests.faults[pairs[0]])
        for link in sorted(found.bad_links):
            ends = {"one": link[0], "other": link[1]}
            self.results.failed("pairs", "bad_link", ends)
            why = tests.faults[link]
            self.results.suspects.append(Suspect(stage="pairs", link=link, why=why))
        rates = sorted(tests.rates.values())
        measured: dict[str, object] = {
            "pairs": [
                {"hosts": list(pair), "bytes_per_s": round(rate)}
                for pair, rate in sorted(tests.rates.items())
            ],
        }
        for pair in sorted(tests.unsure):
            both = {"one": pair[0], "other": pair[1], **tests.unsure[pair]}
            self.results.failed("pairs", "link_unsure", both, status=Status.WARN)
        promised = promised_rates(self.results.stages, tests.rates)
        measured["promised"] = [
            {"hosts": list(pair), "bytes_per_s": rate, "source": SOURCE}
            for pair, rate in sorted(promised.items())
        ]
        if found.failed or tests.unsure:
            return
        below = furthest_below(tests.rates, promised, tests.starved)
        if below is not None:
            rate, built = tests.rates[below], promised[below]
            short = {"one": below[0], "other": below[1], "rate": rate, "promised": built,
                     "percent": round(100 * rate / built)}  # fmt: skip
            self.results.failed("pairs", "below_hardware", short, measured=measured,
                                status=Status.WARN)  # fmt: skip
            return
        values = {"tests": found.tests, "rate": median(rates), "least": rates[0]}
        self.results.passed("pairs", values, measured)

    def _whole(self) -> None:
        if not self._has_torch:
            self.results.skipped(["whole"])
            return
        group = sorted(self.hub.hellos)
        answers = self.run_groups([group], _RAMP, _WHOLE_S)
        bad = {r: why_failed(answers.get(r)) for r in group if why_failed(answers.get(r))}
        if bad:
            stuck = {rank: answer for rank, answer in answers.items() if "log" in answer}
            values = {"ranks": frozenset(bad), "error": next(iter(bad.values()))}
            self.results.failed("whole", "whole_failed", values, ranks=frozenset(bad))
            if stuck:
                self._judge("whole", stuck)
            return
        measured = _figures(answers, group)
        late = _late(answers)
        if late is not None:
            rank, seconds = late
            told: dict[str, object] = {"ranks": frozenset({rank}), "seconds": seconds}
            self.results.failed("whole", "late", told, ranks=frozenset({rank}), measured=measured,
                       status=Status.WARN)  # fmt: skip
            return
        self.results.passed("whole", {"world": self.world}, measured)


def _figures(answers: Mapping[int, Any], group: Sequence[int]) -> dict[str, object]:
    """Algbw and busbw of each operation and size: the slowest rank's median counts."""
    rows = []
    results = [answers[rank]["results"] for rank in group]
    for same in zip(*results, strict=True):
        seconds = max(median(row["seconds"]) for row in same)
        name, size = same[0]["operation"], same[0]["bytes"]
        algbw, busbw = bandwidths(name, size, seconds, len(group))
        rows.append(
            {"operation": name, "bytes": size, "seconds": seconds, "algbw": round(algbw),
             "busbw": round(busbw)}
        )  # fmt: skip
    return {"collectives": rows}


def _late(answers: Mapping[int, Any]) -> tuple[int, float] | None:
    """The rank for which the others wait, where it is the same again and again."""
    waits: dict[int, list[float]] = {
        rank: [s for row in answer["results"] for s in row["seconds"]]
        for rank, answer in answers.items()
    }
    typical = {rank: median(seconds) for rank, seconds in waits.items()}
    if len(typical) < 3:
        return None
    first, second = sorted(typical, key=lambda rank: typical[rank])[:2]
    lag = typical[second] - typical[first]
    return (first, round(lag, 3)) if lag > _LATE_S else None
