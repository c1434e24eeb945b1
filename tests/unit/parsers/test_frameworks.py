"""Fingerprints of frameworks."""

import pytest

from support.feeding import feed, line
from unhang.model.events import FrameworkSeen
from unhang.parsers.frameworks import FrameworkParser
from unhang.settings.log_marks import fingerprints


def names(*texts: str) -> set[str]:
    return {e.name for e in feed(FrameworkParser, *texts) if isinstance(e, FrameworkSeen)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[INFO|trainer.py:2519] 2026-03-02 08:14:55,120 >> x", "transformers"),
        ('  File "/env/lib/python3.11/site-packages/trl/trainer/sft_trainer.py", line 9', "trl"),
        ("[2026-03-02 08:14:40,531] [INFO] [comm.py:861:init_distributed] Init", "deepspeed"),
        ("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/8", "lightning"),
        (" iteration  10/ 100 | consumed samples:  2560 |", "megatron"),
        ("[NeMo I 2026-03-02 08:14:44 nemo_logging:393] Rank 0", "nemo"),
        ("[titan] 2026-03-02 08:14:44,123 - root - INFO - Training starts", "torchtitan"),
        ("(TaskRunner pid=4711) step:7 - actor/entropy:0.31", "verl"),
        ("(PolicyModelActor pid=2201, ip=10.0.3.8) Train epoch", "openrlhf"),
        ("[INFO|2026-03-02 08:14:30] llamafactory.hparams.parser:423 >> x", "llama-factory"),
        ("[2026-03-02] [INFO] [axolotl.train.train:58] [PID:911] x", "axolotl"),
        ("[INFO:swift] Setting args.ddp_timeout", "ms-swift"),
        ("1|50|Loss: 1.2345:  10%|#  | 50/500 [01:10<10:30, 1.4s/it]", "torchtune"),
        ("2026-03-02,08:20:00 | INFO | Train Epoch: 0 [ 1024/100000 (1%)]", "open_clip"),
        ("02 Mar 08:21 INFO epoch 0 evaluating [time: 3.10s, valid_score: 0.02]", "recbole"),
        ("    _prepare_dataset (trl/trainer/sft_trainer.py:1040)", "trl"),
        ("llamafactory-cli train sft.yaml", "llama-factory"),
        ("python -m verl.trainer.main_ppo data.train_files=x", "verl"),
        ("vllm serve some/model --tensor-parallel-size 2", "vllm"),
    ],
)
def test_a_mark_names_its_framework(text: str, name: str) -> None:
    assert name in names(text)


@pytest.mark.parametrize(
    "text",
    [
        "args: Namespace(distributed_backend='nccl', bucket_mb=25)",
        "[INFO] something ordinary",
        "we compared lightning strikes with transformers in substations",
        "the loss of one trainer (trl/trainer) is not that of the other",
    ],
)
def test_ordinary_text_names_none(text: str) -> None:
    assert names(text) == set()


def test_a_mark_on_every_line_is_said_now_and_then() -> None:
    lines = [line("(TaskRunner pid=4711) step", number=n) for n in range(1, 1_200)]
    assert len(feed(FrameworkParser, *lines)) == 3


def test_the_basis_says_what_showed_it() -> None:
    (event,) = feed(FrameworkParser, "torchrun -m open_clip_train.main --train-data x")
    assert isinstance(event, FrameworkSeen)
    assert event.basis == "launch command `open_clip_train.main`"


def test_patterns_confirm_needles() -> None:
    assert all(f.pattern is None or f.pattern.groups == 0 for f in fingerprints())


def test_a_model_of_transformers_is_used_by_every_trainer() -> None:
    frame = '  File "/env/site-packages/transformers/{}", line 9, in forward'
    assert names(frame.format("models/llama/modeling_llama.py")) == set()
    assert names(frame.format("trainer.py")) == {"transformers"}


def test_deepspeed_says_its_accelerator_wherever_it_is_installed() -> None:
    text = "[2026-03-02 08:14:40,531] [INFO] [real_accelerator.py:239:get_accelerator] Setting ds_"
    assert names(text + "accelerator to cuda (auto detect)") == set()
