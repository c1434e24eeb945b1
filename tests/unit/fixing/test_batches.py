"""A smaller batch keeps the batch of an optimizer step."""

from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message

NOTHING = Message(key="fix.verbatim", values={"text": ""})


def verdict(framework: str, where: str, patch: str) -> Diagnosis:
    fix = Fix(
        title=NOTHING,
        kind=FixKind.CURE,
        framework=framework,
        where=where,
        patch=patch,
        reaches="all ranks",
        risk=NOTHING,
        verify=NOTHING,
    )
    return Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(fix,))


HUGGING_FACE = ("trl", "yaml", "per_device_train_batch_size: 1\ngradient_accumulation_steps: 16")
DEEPSPEED = (
    "deepspeed",
    "json",
    '{"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 16}',
)


@pytest.mark.parametrize(
    ("name", "text", "remedy", "after"),
    [
        (
            "a.yaml",
            "per_device_train_batch_size: 8\ngradient_accumulation_steps: 2\n",
            HUGGING_FACE,
            "per_device_train_batch_size: 4\ngradient_accumulation_steps: 4\n",
        ),
        (
            "a.yaml",
            "per_device_train_batch_size: 3\n",
            HUGGING_FACE,
            "per_device_train_batch_size: 1\ngradient_accumulation_steps: 3\n",
        ),
        (
            "a.yaml",
            "output_dir: x\n",
            HUGGING_FACE,
            "output_dir: x\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 16\n",
        ),
        (
            "a.sh",
            "trl sft --per_device_train_batch_size 8\n",
            HUGGING_FACE,
            "trl sft --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n",
        ),
        (
            "a.json",
            '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}',
            DEEPSPEED,
            '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2}',
        ),
    ],
)
def test_the_product_stays(
    tmp_path: Path, name: str, text: str, remedy: tuple[str, str, str], after: str
) -> None:
    (tmp_path / name).write_text(text)
    assert unhang.fix(str(tmp_path / name), verdict(*remedy)).after == after


@pytest.mark.parametrize(
    ("name", "text", "remedy", "message"),
    [
        ("a.yaml", "per_device_train_batch_size: 1\n", HUGGING_FACE, "is 1 already"),
        (
            "a.json",
            '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}',
            DEEPSPEED,
            "halve it where it is decided",
        ),
        (
            "a.json",
            '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": "auto"}',
            DEEPSPEED,
            "double it where it is decided",
        ),
    ],
)
def test_what_cannot_be_halved_is_refused(
    tmp_path: Path, name: str, text: str, remedy: tuple[str, str, str], message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        unhang.fix(str(tmp_path / name), verdict(*remedy))
