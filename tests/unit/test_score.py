"""The score program: how a verdict is held against its label."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from score import report
from score.__main__ import main
from score.baseline import search
from score.batches import append, load, read_batch, summarise_batch
from score.corpus import Case, find_corpora
from score.marks import Guilty, Mark, Result, mark
from score.tables import Share, by_cause, by_strength, calibration, summarise
from score.verdicts import Stated, Verdict, judge_all


def case(**fields: object) -> Case:
    values: dict[str, object] = {
        "corpus": "own",
        "name": "a-job",
        "source": "unhang",
        "inputs": (Path("input"),),
        "accept": frozenset({"gpu_oom"}),
        "must_not": frozenset({"rdma_fault"}),
        "culprits": None,
        "healthy": False,
        "suffices": True,
    }
    return Case(**{**values, **fields})  # type: ignore[arg-type]


def claims(cause: str, *culprits: int, confidence: float = 0.9, collect: int = 0) -> Verdict:
    stated = Stated(
        cause=cause,
        confidence=confidence,
        strength="proves",
        culprits=frozenset(culprits),
        rules=("CRA001",),
    )
    return Verdict(
        outcome="cause",
        cause=cause,
        confidence=confidence,
        strength="proves",
        culprits=frozenset(culprits),
        candidates=(stated,),
        fired=("CRA001",),
        collect=collect,
    )


UNDECIDED = Verdict(outcome="undetermined", collect=1)
FINE = Verdict(outcome="healthy")


@pytest.mark.parametrize(
    ("label", "verdict", "result"),
    [
        (case(), claims("gpu_oom"), Result.RIGHT),
        (case(), claims("rdma_fault"), Result.FALSE_BLAME),
        (case(), claims("desync"), Result.WRONG),
        (case(), UNDECIDED, Result.MISSED),
        (case(), FINE, Result.ALL_CLEAR),
        (case(), Verdict(error="it broke"), Result.BROKEN),
        (case(accept=frozenset({"undetermined"})), Verdict(outcome="located"), Result.RIGHT),
        (case(accept=frozenset({"undetermined"})), FINE, Result.ALL_CLEAR),
        (case(accept=frozenset({"healthy"}), healthy=True), FINE, Result.RIGHT),
        (case(accept=frozenset({"healthy"}), healthy=True), UNDECIDED, Result.MISSED),
        (case(accept=frozenset({"healthy"}), healthy=True), claims("desync"), Result.FALSE_BLAME),
    ],
)
def test_result(label: Case, verdict: Verdict, result: Result) -> None:
    assert mark(label, verdict).result is result


@pytest.mark.parametrize(
    ("named", "guilty"),
    [
        ((0, 3), Guilty.EXACT),
        ((), Guilty.MISSED),
        ((3,), Guilty.PARTIAL),
        ((0, 3, 5), Guilty.INNOCENT),
        ((5,), Guilty.INNOCENT),
    ],
)
def test_culprits(named: tuple[int, ...], guilty: Guilty) -> None:
    found = mark(case(culprits=frozenset({0, 3})), claims("gpu_oom", *named))
    assert found.guilty is guilty
    assert found.perfect == (guilty is Guilty.EXACT)


def test_rules_that_must_fire_and_must_not() -> None:
    label = case(codes_must=frozenset({"LOC001"}), codes_must_not=frozenset({"CRA001"}))
    assert mark(label, claims("gpu_oom")).complaints == ("LOC001 is silent", "CRA001 fires")


def some_marks() -> list[Mark]:
    open_ended = case(name="open", accept=frozenset({"undetermined"}), suffices=False)
    return [
        mark(case(culprits=frozenset({2})), claims("gpu_oom", 2, confidence=0.97)),
        mark(case(name="blamed"), claims("rdma_fault", confidence=0.97)),
        mark(open_ended, UNDECIDED),
    ]


def test_summary_counts() -> None:
    figures = dict(summarise(some_marks()))
    assert figures["as the label accepts"] == Share(2, 3)
    assert figures["cause named, where the files suffice"] == Share(1, 2)
    assert figures["guilty ranks exact, where known"] == Share(1, 1)
    assert figures["false blame"] == Share(1, 3)
    assert figures["no cause named, where the files do not suffice"] == Share(1, 1)
    assert figures["… with advice on what to collect"] == Share(1, 1)


def test_tables_for_fitting() -> None:
    assert calibration(some_marks()).rows[-1] == ("0.95 - 1.00", "0.97", Share(1, 2))
    assert ("gpu_oom", Share(1, 2), Share(0, 1)) in by_cause(some_marks()).rows
    strengths = by_strength(some_marks()).rows
    assert ("proves", "alone", "(all)", Share(1, 2)) in strengths
    assert ("proves", "alone", "rdma_fault", Share(0, 1)) in strengths


def test_misses_are_listed_worst_first() -> None:
    text = report.misses([mark(case(name="quiet"), UNDECIDED), *some_marks()])
    assert text.index("own/blamed") < text.index("own/quiet")
    assert "own/a-job" not in text


def test_external_labels_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "cases" / "someone-1"
    folder.mkdir(parents=True)
    label = {
        "log_file": "log.txt",
        "accept": ["desync", "undetermined"],
        "must_not": [],
        "culprit_ranks": [0],
        "log_suffices": False,
    }
    (folder / "case.json").write_text(json.dumps(label))
    (folder / "log.txt").write_text("[rank0]: a line\n")
    (found,) = next(c for c in find_corpora(tmp_path, tmp_path) if c.key == "threads").cases()
    assert found.inputs == (folder / "log.txt",)
    assert found.culprits == frozenset({0})
    assert found.causes == frozenset({"desync"})
    assert not found.suffices


@pytest.mark.process
def test_a_job_that_cannot_be_read_has_no_verdict(tmp_path: Path) -> None:
    (verdict,) = judge_all([(tmp_path / "nowhere",)], processes=1, limit_s=60)
    assert verdict.error is not None


def test_gate_fails_without_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--corpus", "own", "--only", "no such case", "--gate"]) == 1
    assert main(["--corpus", "own", "--only", "no such case"]) == 0
    capsys.readouterr()


def test_the_first_group_of_keywords_answers(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("Traceback (most recent call last):\n[rank3]: SIGKILL\n")
    found = search([tmp_path])
    assert (found.cause, found.culprits) == ("host_oom", frozenset({3}))
    (tmp_path / "a.log").write_text("epoch 1\n")
    assert search([tmp_path]).cause is None


def test_a_batch_is_counted_and_kept(tmp_path: Path) -> None:
    healthy = case(accept=frozenset({"healthy"}), healthy=True, suffices=True)
    likely = replace(UNDECIDED, likely="gpu_oom", chance=0.6)
    marks = [
        mark(case(culprits=frozenset({2})), claims("gpu_oom", 2), claims("gpu_oom")),
        mark(case(), claims("rdma_fault"), claims("rdma_fault")),
        mark(case(), likely, UNDECIDED),
        mark(healthy, replace(UNDECIDED, culprits=frozenset({1})), claims("host_oom")),
    ]
    batch = summarise_batch("spring", marks)
    assert batch.judge.right == (1, 3)
    assert batch.judge.forced == (2, 3)
    assert batch.judge.culprits == (1, 1)
    assert batch.judge.false_blame == (2, 4), "a wrong cause, and a rank of a healthy job"
    assert batch.judge.false_proofs == (1, 4)
    assert batch.judge.abstained == (1, 3)
    assert batch.baseline.culprits == (0, 1)
    assert batch.baseline.forced_wrong == (1, 1)
    record = tmp_path / "batches.json"
    append(batch, record)
    append(batch, record)
    assert load(record) == [batch, batch]


def test_batches_are_written_into_the_page() -> None:
    batch = summarise_batch("spring", some_marks())
    page = report.page({"own": some_marks()}, find_corpora(Path(), Path()))
    once = report.with_batches(page, [batch])
    assert once == report.with_batches(once, [batch])
    assert "| spring (" in once
    assert once.replace(report.batch_section([batch]) + "\n", "") == page


def test_all_files_beside_the_label_are_judged(tmp_path: Path) -> None:
    folder = tmp_path / "fine-1"
    folder.mkdir()
    (folder / "case.json").write_text('{"kind": "healthy", "must_not": "any"}')
    for name in ("a.log", "b.log"):
        (folder / name).write_text("epoch 1\n")
    (found,) = read_batch(tmp_path).cases()
    assert found.inputs == (folder / "a.log", folder / "b.log")
    assert found.healthy
    assert mark(found, UNDECIDED).result is Result.RIGHT
    assert mark(found, claims("gpu_oom")).result is Result.FALSE_BLAME
