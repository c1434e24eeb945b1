"""Fitting what signs say for causes: what is rare says nothing, and what is fitted is read back."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from score import chances as scored
from score import fitting
from score.corpus import HEALTHY, Case
from score.fitting import Example, fit
from score.marks import Mark, Result
from score.verdicts import Verdict
from unhang.verdict.chances import NOTHING_FAILED, WORD, read_chances, write_chances


def once(*signs: str) -> dict[str, int]:
    return dict.fromkeys(signs, 1)


def jobs(count: int, cause: str, *signs: str, sources: int = 4) -> list[Example]:
    return [
        Example(signs=once(*signs), source=f"author {n % sources}", truth={cause: 1.0})
        for n in range(count)
    ]


TOY = [
    *jobs(8, "host_oom", "end: killed", "op: allreduce"),
    *jobs(8, "desync", "op: allgather", "op: allreduce"),
    *jobs(8, NOTHING_FAILED, "words: warning"),
]


def test_causes_that_a_sign_parts_are_told_apart() -> None:
    fitted = fit(TOY)
    assert fitted.order(once("end: killed", "op: allreduce"))[0][0] == "host_oom"
    assert fitted.order(once("op: allgather", "op: allreduce"))[0][0] == "desync"
    assert fitted.order(once("end: killed"))[0][1] > 0.8
    shared = fitted.said(once("op: allreduce"), "host_oom")["op: allreduce"]
    own = fitted.said(once("end: killed"), "host_oom")["end: killed"]
    assert abs(shared) < own / 2


def test_jobs_that_did_not_fail_are_a_class_and_no_cause() -> None:
    fitted = fit(TOY)
    assert NOTHING_FAILED in fitted.classes
    assert (
        fitted.of_no_failure(once("words: warning"))
        > 0.5
        > fitted.of_no_failure(once("end: killed"))
    )
    assert {cause for cause, _ in fitted.order(once("words: warning"))} == {"host_oom", "desync"}


def test_a_healthy_case_is_fitted_as_one_and_counted_for_no_cause() -> None:
    def marks(cause: str | None, sign: str) -> list[Mark]:
        label = {HEALTHY if cause is None else cause}
        return [
            Mark(
                case=Case(
                    corpus="threads",
                    name=f"{sign} {n}",
                    source=f"author {n}",
                    inputs=(Path("input"),),
                    accept=frozenset(label),
                    must_not=frozenset(),
                    culprits=None,
                    healthy=cause is None,
                    suffices=True,
                    cause=cause,
                    truth=frozenset(label - {HEALTHY}),
                ),
                verdict=Verdict(signs=once(sign, "op: allreduce")),
                result=Result.RIGHT,
            )
            for n in range(4)
        ]

    fitted = scored.fit([*marks("host_oom", "end: killed"), *marks(None, "words: warning")])
    assert fitted.classes == ("host_oom", NOTHING_FAILED)
    assert fitted.signs["op: allreduce"] == {"host_oom": 4.0}
    assert "words: warning" not in fitted.signs
    assert fitted.of_no_failure(once("words: warning")) > 0.5


def test_a_set_that_a_sign_parts_has_small_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def largest(examples: Sequence[Example]) -> float:
        return max(abs(w) for weights in fit(examples).weights.values() for w in weights)

    held = largest(TOY)
    assert 0 < held < 4
    # Weights that nothing holds grow as long as the descent goes on: a set that is parted has none
    # that are best.
    monkeypatch.setattr(fitting, "_HELD_SMALL", 1e-6)
    assert largest(TOY) > 2 * held


@pytest.mark.parametrize(
    ("sign", "count", "sources", "counts"),
    [
        ("end: aborted", 2, 2, False),
        ("end: aborted", 3, 1, True),
        (f"{WORD}mapping", 2, 2, False),
        (f"{WORD}mapping", 6, 2, False),
        (f"{WORD}mapping", 3, 3, True),
    ],
)
def test_what_few_jobs_or_authors_show_has_no_weight(
    sign: str, count: int, sources: int, counts: bool
) -> None:
    fitted = fit([*TOY, *jobs(count, "shm_full", sign, sources=sources)])
    assert (sign in fitted.weights) is counts
    assert "shm_full" in fitted.classes


def test_a_word_that_most_jobs_have_counts_less_than_a_rare_one() -> None:
    common, rare = f"{WORD}rank", f"{WORD}oom"
    fitted = fit([*jobs(8, "host_oom", common, rare), *jobs(8, "desync", common)])
    said = fitted.said(once(common, rare), "host_oom")
    assert fitted.rarity[rare] > fitted.rarity[common]
    assert said[rare] > abs(said[common])
    assert read_chances(write_chances(fitted, "a toy")).rarity == pytest.approx(
        fitted.rarity, abs=0.01
    )


def test_nothing_is_fitted_to_no_jobs() -> None:
    assert fit([]).order(once("end: killed")) == []


def test_what_was_fitted_is_read_back_with_the_same_order() -> None:
    fitted = fit(TOY)
    read = read_chances(write_chances(fitted, "a toy"))
    for signs in (
        once("end: killed"),
        once("op: allgather"),
        once("op: allgather", "op: allreduce"),
    ):
        told, again = fitted.order(signs), read.order(signs)
        assert [cause for cause, _ in again] == [cause for cause, _ in told]
        assert np.allclose([c for _, c in again], [c for _, c in told], atol=0.02)
