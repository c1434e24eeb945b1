"""A fact that lacks a part costs what hangs on that part, never the rest of a finding."""

from __future__ import annotations

from typing import Any, TypeVar

from support.builders import by, incident, source, timeout
from unhang.model.causes import Cause
from unhang.model.events import (
    BarrierMissing,
    CollectivesMeasured,
    CommunicatorStage,
    DeviceLink,
    Event,
    GlooFault,
    GlooProblem,
    GpuState,
    GroupRef,
    HostProblem,
    HostReport,
    InitStage,
    InterfaceUsed,
    LoopEnd,
    LoopLeft,
    NcclFailure,
    NcclReason,
    RasProblem,
    RasReport,
    StoreFault,
    StoreProblem,
    TopologySeen,
    TransportUsed,
    Waiter,
    WorldSeen,
)
from unhang.model.finding import Finding, Strength
from unhang.model.ids import Rank
from unhang.model.provenance import Provenance
from unhang.rules.config import port_in_use, ranks_misnumbered, store_unreachable
from unhang.rules.crash import doubts
from unhang.rules.desync import loop_ends
from unhang.rules.device import gpu_missing, gpu_used_twice
from unhang.rules.locate import rank_reported_missing, status_differs
from unhang.rules.network import (
    completion_error,
    init_incomplete,
    peer_unreachable,
    peers_far_apart,
    port_reported_down,
)
from unhang.rules.shared import measured, order, recorded
from unhang.verdict.chances import Chances
from unhang.waitgraph.matching import are_of_one_group

E = TypeVar("E", bound=Event)


def seen(kind: type[E], *, line: int = 1, host: str | None = None, **fields: Any) -> E:
    where = by() if host is None else by(host=host)
    return kind(source=source(line), origin=fields.pop("origin", where), **fields)


def found(rule: Any, *events: Event) -> list[Finding]:
    return list(rule.check(incident(*events)))


def test_a_port_that_nobody_names() -> None:
    (finding,) = found(port_in_use, seen(StoreFault, problem=StoreProblem.PORT_IN_USE))
    assert finding.claim.key == "CFG001.claim_unknown"


def test_a_store_whose_name_does_not_resolve() -> None:
    fault = StoreFault(
        source=source(1), origin=by(), problem=StoreProblem.RESOLVE_FAILED, host="master-0"
    )
    (finding,) = found(store_unreachable, fault)
    assert finding.claim.key == "CFG002.claim_resolve"


def test_a_world_that_no_job_has_is_not_counted_through() -> None:
    told = seen(WorldSeen, world_size=10_000_000, rank=Rank(0))
    assert found(ranks_misnumbered, told) == []


def test_a_host_with_as_many_gpus_as_the_others_lacks_none() -> None:
    gpus = [
        seen(GpuState, host=host, index=n, bus_id=f"{n}")
        for host in ("a", "b", "c")
        for n in range(8)
    ]
    assert found(gpu_missing, *gpus) == []
    (finding,) = found(gpu_missing, *gpus[:-1])
    assert finding.claim.key == "DEV204.claim"


def test_starts_that_name_no_host_share_no_gpu() -> None:
    starts = [
        seen(CommunicatorStage, stage=InitStage.START, comm_id="aa", comm_rank=rank, bus_id="1b000")
        for rank in (0, 1)
    ]
    assert found(gpu_used_twice, *starts) == []


def test_a_start_without_a_communicator_is_of_none() -> None:
    assert found(init_incomplete, seen(CommunicatorStage, stage=InitStage.START)) == []


def test_a_peer_is_accused_by_hosts_that_say_who_they_are() -> None:
    failed = [
        seen(
            NcclFailure,
            line=line,
            host=host,
            reason=NcclReason.IB_COMPLETION,
            detail="Got completion",
            peer=peer,
            status=12,
        )
        for line, host, peer in ((1, None, "10.0.0.9"), (2, "a", None), (3, "a", "10.0.0.9"))
    ]
    (finding,) = found(completion_error, *failed)
    assert finding.culprit_hosts == frozenset()


def test_an_interface_of_several_hosts_that_leads_nowhere() -> None:
    failed = seen(
        NcclFailure, reason=NcclReason.CONNECT_TIMED_OUT, detail="timed out", peer="10.0.0.9"
    )
    used = [
        seen(InterfaceUsed, host=host, interface="docker0", library="nccl") for host in ("a", "b")
    ]
    (plain,) = found(peer_unreachable, failed)
    (finding,) = found(peer_unreachable, failed, *used)
    assert finding.claim != plain.claim or finding.why != plain.why


def test_a_channel_between_unknown_devices_is_passed_over() -> None:
    topology = seen(TopologySeen, gpus=(0, 1), links=(DeviceLink("GPU0", "GPU1", "SYS"),))
    stages = [
        seen(CommunicatorStage, stage=InitStage.START, comm_rank=rank, device=device)
        for rank, device in ((0, 0), (1, 0))
    ]
    ends = ((None, 1), (0, 7), (0, 1))
    channels = [seen(TransportUsed, transport="P2P", sender=s, receiver=r) for s, r in ends]
    assert found(peers_far_apart, topology, *stages, *channels) == []


def test_a_slow_port_is_a_hint_of_a_slow_network() -> None:
    (finding,) = found(port_reported_down, seen(HostReport, problem=HostProblem.PORT_SLOW))
    assert (finding.cause, finding.strength) == (Cause.BANDWIDTH_LOW, Strength.HINTS)


def test_reports_of_other_things_are_no_states() -> None:
    assert found(status_differs, seen(RasReport, problem=RasProblem.COUNTS_DIFFER)) == []


def test_who_gave_up_is_missed_by_nobody() -> None:
    for waiter in (Waiter.KERNEL, Waiter.WATCHER):
        missing = frozenset({Rank(0), Rank(1)}) if waiter is Waiter.KERNEL else frozenset[Rank]()
        told = [
            seen(
                BarrierMissing,
                line=1 + rank,
                reporter=Rank(rank),
                missing=missing,
                direct=True,
                waiter=waiter,
            )
            for rank in (0, 1)
        ]
        assert found(rank_reported_missing, *told) == []


def test_words_of_the_end_of_a_loop_after_the_alarm_are_none_before_it() -> None:
    end = next(iter(LoopEnd))
    early = seen(LoopLeft, line=1, origin=by(1), end=end, detail="done")
    late = seen(LoopLeft, line=9, origin=by(2), end=end, detail="done")
    alarm = timeout(0, line=5)
    told = loop_ends.ends_by_rank(incident(early, alarm, late), alarm)
    assert set(told) == {1}


def test_no_place_tells_no_order() -> None:
    nowhere = Provenance(artifact="job.log", line=None, text="…")
    one = LoopLeft(source=nowhere, origin=by(), end=next(iter(LoopEnd)), detail="done")
    assert order.is_before(one, timeout(0, line=5)) is None


def test_who_lost_a_peer() -> None:
    closed = (
        seen(StoreFault, problem=StoreProblem.PEER_CLOSED),
        seen(GlooFault, problem=GlooProblem.PEER_CLOSED),
        seen(NcclFailure, reason=NcclReason.PEER_CLOSED, detail="closed"),
    )
    assert [doubts.lost_a_peer(event) for event in closed] == [True] * 3
    assert not doubts.lost_a_peer(timeout(0))


def test_a_communicator_as_large_as_the_world_numbers_the_ranks() -> None:
    told = [
        seen(
            CollectivesMeasured,
            line=line,
            comm=comm,
            comm_rank=3,
            size=size,
            last_op="AllReduce",
            last_seq=9,
            exact=True,
        )
        for line, comm, size in ((1, "aa", 8), (2, "bb", 4))
    ]
    job = incident(*told)
    assert [measured.rank_of(job, event) for event in told] == [Rank(3), None]


def test_a_call_that_no_frame_shows_has_no_place() -> None:
    assert recorded.place(None) is None


def test_calls_of_one_description_are_of_one_group() -> None:
    named = [GroupRef(guid=guid, description="default_pg") for guid in (None, "7", "8")]
    calls = [
        incident(timeout(0, seq, group=group), timeout(1, seq, group=group)).calls[0]
        for seq, group in enumerate(named, 5)
    ]
    assert are_of_one_group(calls[0], calls[1])
    assert not are_of_one_group(calls[1], calls[2])


def test_of_an_unknown_cause_no_sign_says_anything() -> None:
    chances = Chances(classes=("a", "b"), base=(0.0, 0.0), weights={"sign": (1.0, -1.0)})
    assert chances.said({"sign": 1}, "a") == {"sign": 1.0}
    assert chances.said({"sign": 1}, "c") == {}
