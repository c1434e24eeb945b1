"""Run folders as `unhang run` leaves them, small and made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unhang.live.judge import sentences
from unhang.live.messages.actions import Note, NoteKind
from unhang.live.messages.job_snapshot import (
    Condition,
    Edge,
    GroupView,
    HostView,
    JobSnapshot,
    RankClass,
    RankView,
    Stage,
    Suspicion,
    SuspicionReason,
)
from unhang.live.messages.losses import Loss
from unhang.live.run_folder.events_log import append, event_of
from unhang.live.run_folder.history import History
from unhang.live.run_folder.layout import RunFolder
from unhang.model.codec import encode
from unhang.model.ids import Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import CallRef

AT_S = 1_790_000_000.0
WORLD = 4
LATE = Rank(2)
CALL = CallRef(group="0", description="default_pg", seq=41, op="all_reduce")


def ranks(*numbers: int) -> Ranks:
    """A set of ranks."""
    return frozenset(Rank(n) for n in numbers)


def training(at_s: float = AT_S) -> JobSnapshot:
    """Four ranks at work."""
    views = tuple(_rank(n) for n in range(WORLD))
    return JobSnapshot(
        at_s=at_s,
        up_s=at_s - AT_S + 60,
        world_size=WORLD,
        restart=0,
        ranks=views,
        classes=(
            RankClass(
                ranks=ranks(*range(WORLD)),
                condition=Condition.WORKING,
                phase=Phase.TRAIN,
                op=None,
                place="step (train.py:30)",
                since_s=0.4,
            ),
        ),
        groups=(_group(),),
        hosts=(HostView(host="gn1", age_s=0.2, ranks=ranks(*range(WORLD))),),
    )


def hanging(at_s: float = AT_S, place: str = "tokenise <b>(x)</b>") -> JobSnapshot:
    """Rank 2 is frozen, the others wait for it."""
    others = ranks(*(n for n in range(WORLD) if n != LATE))
    quiet = training(at_s)
    return replace(
        quiet,
        ranks=tuple(
            replace(view, condition=Condition.FROZEN, since_s=7.0, place=place)
            if view.rank == LATE
            else replace(view, condition=Condition.WAITING, op="all_reduce", group="0", seq=41)
            for view in quiet.ranks
        ),
        classes=(
            RankClass(
                ranks=ranks(LATE),
                condition=Condition.FROZEN,
                phase=Phase.TRAIN,
                op=None,
                place=place,
                since_s=7.0,
            ),
            RankClass(
                ranks=others,
                condition=Condition.WAITING,
                phase=Phase.TRAIN,
                op="all_reduce",
                place="step (train.py:30)",
                since_s=6.5,
            ),
        ),
        groups=(replace(_group(), waiting=others, lacking=ranks(LATE), since_s=6.5),),
        edges=(Edge(waiters=others, on=ranks(LATE), call=CALL, since_s=6.5),),
        suspicions=(
            Suspicion(
                culprits=ranks(LATE),
                victims=others,
                charge=SuspicionReason.GIL_KEPT,
                stage=Stage.CONFIRMED,
                phase=Phase.TRAIN,
                call=CALL,
                since_s=6.5,
                still_s=7.0,
                why=Message(key="fix.verbatim", values={"text": "rank 2 keeps the GIL"}),
            ),
        ),
        lost=(Loss.of("history_unwritten", why="no space left on device"),),
    )


def run_folder(
    root: Path, standings: Sequence[JobSnapshot], *, ended: bool = False, events: int = 0
) -> RunFolder:
    """A folder with these standings; the last one is the view of now."""
    folder = RunFolder(root)
    folder.make()
    record: dict[str, object] = {
        "schema": "unhang.run/1",
        "command": ["torchrun", "--nproc-per-node", "4", "train.py"],
        "host": "gn1",
        "started": "2026-09-21T13:46:40+00:00",
        "timeouts": "judge",
    }
    if ended:
        record |= {"ended": "2026-09-21T13:56:40+00:00", "exit_code": 86}
    folder.record.write_text(json.dumps(record))
    if standings:
        folder.standing.write_text(json.dumps(encode(standings[-1])))
        history = History(folder.history)
        for standing in standings:
            history.add(standing)
        history.close()
    folder.events.write_text("".join(_event(number) for number in range(events)))
    return folder


def tell_events(folder: RunFolder) -> None:
    """Add what the judge says of such a run to its events."""
    late, others = ranks(LATE), ranks(0, 1, 3)
    asleep = Message(
        key="live.asleep",
        values={"ranks": late, "still": 5.0, "place": "load (data.py:8)", "victims": others,
                "waiting": len(others), "op": "all_reduce"},
    )  # fmt: skip
    said = (
        (NoteKind.ATTACHED, sentences.attached(late | others, "gn1")),
        (NoteKind.PHASE, sentences.entered(late, Phase.DATA)),
        (NoteKind.STALL_SUSPECTED, asleep),
        (NoteKind.LOST, Loss.of("probe_exit", why="ValueError: 3").message),
    )
    for kind, why in said:
        note = Note(kind=kind, culprits=late, why=why)
        append(folder.events, event_of(note, "2026-09-21T13:47:20+00:00"))


def _rank(number: int) -> RankView:
    return RankView(
        rank=Rank(number),
        host="gn1",
        pid=100 + number,
        condition=Condition.WORKING,
        since_s=0.4,
        phase=Phase.TRAIN,
        steps=40,
        step_s=1.5,
        place="step (train.py:30)",
        cpu_share=0.97,
        rss_bytes=3 << 30,
        read_bytes=5 << 20,
        write_bytes=1 << 20,
        read_rate=2048.0,
        write_rate=0.0,
    )


def _group() -> GroupView:
    return GroupView(
        name="0",
        description="default_pg",
        backend="gloo",
        members=ranks(*range(WORLD)),
        issued=(40, 41),
        completed=(40, 40),
        timeout_ms=600_000,
    )


def _event(number: int) -> str:
    event = {
        "at": f"2026-09-21T13:47:{number:02}+00:00",
        "kind": "stall_suspected" if number else "attached",
        "culprits": [int(LATE)] if number else [],
        "why": f"event {number}",
    }
    return json.dumps(event) + "\n"
