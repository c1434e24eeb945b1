"""Progress bars and step lines."""

from dataclasses import replace

import pytest

from support.builders import at
from support.feeding import feed, line, only
from unhang.model.events import PhaseMark, Progress
from unhang.model.phases import Phase, PhaseEdge
from unhang.parsers.progress import ProgressParser

Bar = tuple[str, int, int | None, float | None, Phase | None]
"""Label, done, total, elapsed seconds and phase."""


@pytest.mark.parametrize(
    ("text", "bar"),
    [
        (
            "Map (num_proc=8):  62%|██████▏   | 620000/1000000 [21:40<13:10, 480.5 examples/s]",
            ("Map (num_proc=8)", 620000, 1000000, 1300, Phase.DATA),
        ),
        (
            "Running tokenizer on dataset:  9%|#   | 9/100 [1 day, 2:03:04<1:00:00, 3.1s/it]",
            ("Running tokenizer on dataset", 9, 100, 93784, Phase.DATA),
        ),
        ("1021/100000 [45:39<73:45:27, 2.68s/it]", ("", 1021, 100000, 2739, None)),
        (
            "Generating train split: 120000 examples [01:10, 1714.2 examples/s]",
            ("Generating train split", 120000, None, 70, Phase.DATA),
        ),
        ("Epoch 9/10: 300it [07:24, 1.48s/it]", ("Epoch 9/10", 300, None, 444, Phase.TRAIN)),
        (
            "Downloading data:  45%|███  | 1.2G/4.9G [01:23<02:00, 60MB/s]",
            ("Downloading data", 1200000000, 4900000000, 83, Phase.DATA),
        ),
        (
            "Validation DataLoader 0:  12%|#2   | 6/50 [00:41<05:01,  6.85s/it]",
            ("Validation DataLoader 0", 6, 50, 41, Phase.EVAL),
        ),
        (
            "Validation ━━━━━━━━━━━╸━━━━ 12/50 0:00:41 • 0:05:01 6.85it/s",
            ("Validation", 12, 50, 41, Phase.EVAL),
        ),
        (
            "[>>>>>     ] 100/1000, 3.2 task/s, elapsed: 31s, ETA:   281s",
            ("", 100, 1000, 31, Phase.EVAL),
        ),
        ("Map:  70%|███████", ("Map", 70, 100, None, Phase.DATA)),
        (
            "Loading checkpoint shards:  33%|███  | 1/3 [02:10<04:20, 130.0s/it]",
            ("Loading checkpoint shards", 1, 3, 130, Phase.LOAD),
        ),
        ("  0%|          | 0/1685 [00:00<?, ?it/s]", ("", 0, 1685, 0, None)),
        (
            "Capturing batches (bs=8):  20%|██  | 4/20 [00:10<00:40, 2.5s/it]",
            ("Capturing batches (bs=8)", 4, 20, 10, Phase.COMPILE),
        ),
    ],
)
def test_a_bar(text: str, bar: Bar) -> None:
    event = only(Progress, feed(ProgressParser, text))
    assert (event.label, event.done, event.total, event.elapsed_s, event.phase) == bar


@pytest.mark.parametrize(
    ("text", "done", "total", "phase"),
    [
        (" iteration       10/     100 | consumed samples:         2560 |", 10, 100, Phase.TRAIN),
        ("[Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]", 10, None, Phase.TRAIN),
        ("epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=41", 10, None, Phase.TRAIN),
        ("step: 10  loss:  8.12345  grad_norm:  1.2345", 10, None, Phase.TRAIN),
        ("step:7 - actor/entropy:0.31 - perf/throughput:812.5", 7, None, Phase.TRAIN),
        ("Training epoch 0, iteration 9/99 | lr: 1e-06", 9, 99, Phase.TRAIN),
        ("Epoch(val)  [3][ 50/100]    eta: 0:01:00", 50, 100, Phase.EVAL),
        ("Epoch: [0]  [  10/5004]  eta: 1:00:00  lr: 0.1", 10, 5_004, Phase.TRAIN),
        ("Test:  [ 10/100]  eta: 0:00:10", 10, 100, Phase.EVAL),
        ("| INFO | Train Epoch: 0 [  1024/100000 (1%)] Data (t): 0.1", 1_024, 100_000, Phase.TRAIN),
        ("| INFO | Eval Epoch: 1 [12800 / 500000]\tClip Loss: 1.2", 12_800, 500_000, Phase.EVAL),
        ("Inference done 11/50. Dataloading: 0.0010 s/iter.", 11, 50, Phase.EVAL),
        ("Evaluating iter 3/10", 3, 10, Phase.EVAL),
        ("RANK 0 - EPOCH 1 BATCH 70/inf", 70, None, Phase.TRAIN),
        ("epoch 001:    12 / 500 loss=9.1, ppl=512", 12, 500, Phase.TRAIN),
        ("Validation step 3 of 20", 3, 20, Phase.EVAL),
        ("[r0] it=38 loss=1.467 data_time=0.010", 38, None, Phase.TRAIN),
        ("Step 1200: train/loss 2.113 lr 3e-4", 1_200, None, Phase.TRAIN),
        ("{'step': 12, 'loss': 0.5}", 12, None, Phase.TRAIN),
        ("val step 12: loss 2.113", 12, None, Phase.EVAL),
        ("[rank 0] remap ids: 88 % of 1904112331 interactions", 88, 100, Phase.DATA),
    ],
)
def test_a_step_line(text: str, done: int, total: int | None, phase: Phase) -> None:
    event = only(Progress, feed(ProgressParser, text))
    assert (event.done, event.total, event.phase) == (done, total, phase)


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 1.4032, 'grad_norm': 0.81, 'learning_rate': 1.9e-05, 'epoch': 0.12}",
        "train_loss=0.31 time=2.2",
        "Loss: 0.31",
    ],
)
def test_a_logged_loss_shows_training(text: str) -> None:
    mark = only(PhaseMark, feed(ProgressParser, text))
    assert (mark.phase, mark.edge) == (Phase.TRAIN, PhaseEdge.DURING)


@pytest.mark.parametrize(
    ("label", "rank"),
    [
        ("Predicting val on rank=0", 0),
        ("[RANK 3] Evaluating", 3),
        ("Saving shard (rank 12)", 12),
        ("Frankfurt 7 tokens", None),
        ("local_rank 3 Map", None),
    ],
)
def test_a_label_may_name_a_rank(label: str, rank: int | None) -> None:
    event = only(Progress, feed(ProgressParser, f"{label}:  25%|██▌  | 1/4 [01:49<05:27, 9s/it]"))
    assert event.rank == rank


def test_a_bar_in_words() -> None:
    text = "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:10<00:10,  5.1s/it]"
    event = only(Progress, feed(ProgressParser, text))
    assert (event.label, event.done, event.total) == (
        "Loading safetensors checkpoint shards",
        2,
        4,
    )
    assert event.phase is Phase.LOAD


def test_several_bars_on_one_line() -> None:
    text = "Map:  10%|█  | 1/10 [00:01<00:09, 1s/it]Map:  20%|██ | 2/10 [00:02<00:08, 1s/it]"
    states = [e.done for e in feed(ProgressParser, text) if isinstance(e, Progress)]
    assert states == [1, 2]


def test_text_glued_in_front_is_no_label() -> None:
    text = "INFO saved a/part_0.parquet 7%|▋   | 499/7151 [3:38:58<48:38:58, 26.33s/it]"
    event = only(Progress, feed(ProgressParser, text))
    assert event.label == ""
    assert event.phase is None


def test_a_long_label_tells_its_phase_and_is_shortened() -> None:
    label = "train: Scanning /mnt/set/labels/train... 88000 images, 124 backgrounds, 0 corrupt"
    event = only(Progress, feed(ProgressParser, f"{label}: 16%|█▌  | 88/174 [08:10<08:00, 3it/s]"))
    assert event.phase is Phase.DATA
    assert event.label.startswith("train: Scanning")
    assert len(event.label) == 80


def test_a_message_behind_a_bar_is_left_alone() -> None:
    text = "Map:  10%|█  | 1/10 [00:01<00:09, 1s/it][Rank 3] Watchdog caught collective"
    event = only(Progress, feed(ProgressParser, text))
    assert event.rank is None


@pytest.mark.parametrize(
    ("label", "phase"),
    [
        ("Tokenizing eval dataset", Phase.DATA),
        ("Map (num_proc=4) test", Phase.DATA),
        ("Generating validation split", Phase.DATA),
        ("Saving the dataset (3/10 shards)", Phase.DATA),
        ("Saving model shards", Phase.SAVE),
        ("Validation Epoch 3", Phase.EVAL),
        ("Epoch 3", Phase.TRAIN),
        ("Rollout", Phase.GENERATE),
        ("DeepGEMM warmup", Phase.COMPILE),
        ("Compiling model", Phase.COMPILE),
        ("Loading safetensors checkpoint shards", Phase.LOAD),
        ("Something else", None),
    ],
)
def test_labels_tell_the_phase(label: str, phase: Phase | None) -> None:
    event = only(Progress, feed(ProgressParser, f"{label}:  25%|██▌  | 1/4 [01:49<05:27, 9s/it]"))
    assert event.phase is phase


@pytest.mark.parametrize("text", ["val_loss=0.31", "eval loss: 2.1", "test loss 0.3"])
def test_the_loss_of_an_evaluation_is_no_training(text: str) -> None:
    assert not feed(ProgressParser, text)


def test_a_healthy_sentence_is_no_progress() -> None:
    assert not feed(ProgressParser, "INFO step back: the loss: was 3, see page 1/2 of the manual")


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("post_load_weights: expert scale layout 22/61", (22, 61)),
        ("quantizing layer 7 of 80", (7, 80)),
        ("waiting for workers 3/16", None),
        ("MEMBER: 3/16 of the group", None),
        ("see docs/page 3/4", None),
    ],
)
def test_what_a_rank_counts_by_the_clock(text: str, counted: tuple[int, int] | None) -> None:
    dated = replace(line(text, rank=3), at=at(7))
    found = [e for e in ProgressParser().feed(dated) if isinstance(e, Progress)]
    assert [(e.done, e.total) for e in found] == ([] if counted is None else [counted])
    assert [*ProgressParser().feed(line(text))] == []
