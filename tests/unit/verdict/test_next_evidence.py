"""What to collect next: nothing that is there already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.builders import ended, incident, timeout
from support.small_dumps import dumps
from unhang.api import diagnose
from unhang.live.messages.job_snapshot import SCHEMA, JobSnapshot, Stage, Suspicion, SuspicionReason
from unhang.model.codec import document
from unhang.model.coverage import Coverage
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.ids import Rank
from unhang.model.incident import Incident
from unhang.model.provenance import Message
from unhang.model.waits import CallRef
from unhang.reporters.catalogue import write
from unhang.reporters.parts import SCREEN
from unhang.reporters.view import view as view_of
from unhang.verdict.next_evidence import advise

STACK = "=== Rank {rank} (pid 4{rank}) ===\nThread 0x1 (most recent call first):\n" + "".join(
    f'  File "{file}", line {line} in {function}\n'
    for file, line, function in (
        ("/env/torch/distributed/distributed_c10d.py", 5356, "barrier"),
        ("/home/u/train.py", 40, "<module>"),
    )
)
HIS_LOGS = ("collect.rank_log.what", "collect.host_kernel_log.what")


@pytest.mark.parametrize(
    ("stacks", "asked", "silent"),
    [
        (3, {"collect.before.what"}, False),
        (2, {*HIS_LOGS, "collect.stacks.what", "collect.before.what"}, True),
    ],
)
def test_stacks_and_lines_are_asked_of_those_ranks_only_that_left_none(
    tmp_path: Path, stacks: int, asked: set[str], silent: bool
) -> None:
    late = Suspicion(
        culprits=frozenset({Rank(2)}),
        victims=frozenset({Rank(0), Rank(1)}),
        charge=SuspicionReason.STOPPED,
        stage=Stage.CONFIRMED,
        call=CallRef(group="0", seq=21, op="barrier"),
        since_s=8.5,
        still_s=9.0,
        why=Message(key="fix.verbatim", values={"text": ""}),
    )
    view = JobSnapshot(at_s=1_763_712_000.5, up_s=60.0, world_size=3, suspicions=(late,))
    (tmp_path / "standing.json").write_text(document(SCHEMA, view))
    for rank in range(stacks):
        (tmp_path / f"stack_{rank}.txt").write_text(STACK.format(rank=rank))
    diagnosis = diagnose(str(tmp_path))
    assert {collect.what.key for collect in diagnosis.collect_next} == asked
    unseen = view_of(diagnosis, "en", SCREEN).unseen
    assert any(sentence.startswith("no line is ") for sentence in unseen) is silent


@pytest.mark.parametrize("given", [4, 3])
def test_dumps_are_asked_for_unless_every_rank_left_one(tmp_path: Path, given: int) -> None:
    dumps(tmp_path, **({} if given == 4 else {"r2": 0}))
    line = (
        "[rank{0}]:[E] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,"
        " OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600000 milliseconds"
        " before timing out.\n"
    )
    (tmp_path / "out.log").write_text("".join(line.format(rank) for rank in (0, 1, 3)))
    diagnosis = diagnose(str(tmp_path))
    asked = {collect.what.key for collect in diagnosis.collect_next}
    assert ("collect.flight_recorder.what" in asked) is (given < 4), (asked, diagnosis.outcome)


def located(*ranks: int) -> Diagnosis:
    return Diagnosis(
        outcome=Outcome.LOCATED,
        culprits=frozenset(map(Rank, ranks)),
        summary=Message(key="summary.undetermined"),
    )


def asked_of(shown: Incident, diagnosis: Diagnosis) -> set[str]:
    return {collect.what.key.split(".")[1] for collect in advise(shown, diagnosis)}


def test_whose_rank_is_known_is_asked_for_that_ranks_logs() -> None:
    wait = timeout(0)
    nobody = replace(located(), outcome=Outcome.UNDETERMINED)
    unsized = replace(incident(wait), coverage=Coverage(ranks_seen=frozenset({Rank(0)})))
    assert {"rank_log", "host_kernel_log"} <= asked_of(unsized, located(3))
    assert "all_logs" not in asked_of(unsized, located(3))
    assert "all_logs" in asked_of(unsized, nobody)
    log, kernel, *_ = advise(unsized, located(3))
    assert "rank 3" in write(log.what, "en")
    assert "rank 3" in write(kernel.what, "en")


def test_who_is_known_and_left_a_log_may_still_have_silent_neighbours() -> None:
    ranks = frozenset(map(Rank, range(4)))
    coverage = Coverage(world_size=4, ranks_seen=ranks - {2}, ranks_silent=frozenset({Rank(2)}))
    seen = replace(incident(timeout(0)), coverage=coverage)
    assert "silent_logs" in asked_of(seen, located(3))
    assert "rank_log" not in asked_of(seen, located(3))


def test_the_kernel_log_of_one_host_is_asked_where_the_dead_rank_is_known() -> None:
    dead = incident(ended(1, exit_code=1))
    assert "host_kernel_log" in asked_of(dead, located(1))
    assert "dead_kernel_log" not in asked_of(dead, located(1))


def test_what_stands_without_a_timeout_is_looked_at_while_it_stands(tmp_path: Path) -> None:
    steps = "".join(f"[rank{n % 2}]: step {n // 2}/1000 loss 1.{n}\n" for n in range(40))
    (tmp_path / "out.log").write_text(steps)
    diagnosis = diagnose(str(tmp_path))
    asked = {collect.what.key.split(".")[1] for collect in diagnosis.collect_next}
    assert "standing_stacks" in asked, (asked, diagnosis.outcome)
    assert not asked & {"stacks", "before"}


def test_the_log_of_the_kernel_is_asked_for_once(tmp_path: Path) -> None:
    line = "torch/distributed/elastic/multiprocessing/api.py:899] failed (exitcode: -9)"
    tail = "local_rank: 0 (pid: 700) of binary: /usr/bin/python3"
    (tmp_path / "job.log").write_text(f"E1201 06:30:32.000000 4100 {line} {tail}\n")
    found = diagnose(str(tmp_path))
    assert found.culprits == {0}
    assert len([c for c in found.collect_next if "kernel_log" in c.what.key]) == 1
