"""Texts by which frameworks announce their work."""

from dataclasses import replace

import pytest

from support.feeding import feed, line, only
from support.job_text import incident_of
from unhang.model.events import PhaseMark
from unhang.model.phases import Phase, PhaseEdge
from unhang.parsers.phase_marks import PhaseMarkParser
from unhang.settings.log_marks import log_marks


def marks(text: str) -> list[tuple[Phase, PhaseEdge]]:
    return [(e.phase, e.edge) for e in feed(PhaseMarkParser, text) if isinstance(e, PhaseMark)]


@pytest.mark.parametrize(
    ("text", "phase", "edge"),
    [
        ("Saving model checkpoint to out/checkpoint-40", Phase.SAVE, PhaseEdge.BEGIN),
        ("***** Running Evaluation *****", Phase.EVAL, PhaseEdge.BEGIN),
        ("{'eval_loss': 1.2, 'eval_runtime': 31.0}", Phase.EVAL, PhaseEdge.END),
        (
            "Will skip the first 0 epochs then the first 2000 batches in the first epoch.",
            Phase.DATA,
            PhaseEdge.BEGIN,
        ),
        ("[Torch] Checkpoint global_step40 is about to be saved!", Phase.SAVE, PhaseEdge.BEGIN),
        ("[Torch] Checkpoint global_step40 is ready now!", Phase.SAVE, PhaseEdge.END),
        (
            "saving checkpoint at iteration      40 to /ckpt in torch_dist",
            Phase.SAVE,
            PhaseEdge.BEGIN,
        ),
        ("  successfully saved checkpoint from iteration 40 to /ckpt", Phase.SAVE, PhaseEdge.END),
        ("Evaluating on 640 samples", Phase.EVAL, PhaseEdge.BEGIN),
        (" validation loss at iteration 40 | lm loss value: 2.1", Phase.EVAL, PhaseEdge.END),
        ("Saving checkpoint. This may take some time. Retrieving", Phase.SAVE, PhaseEdge.BEGIN),
        ("Getting optimizer state dict took 118.28 secs", Phase.SAVE, PhaseEdge.DURING),
        ("Checkpoint saved in 93.10 seconds.", Phase.SAVE, PhaseEdge.END),
        ("Saving the checkpoint (or staging if async is enabled).", Phase.SAVE, PhaseEdge.BEGIN),
        ("Finished saving the checkpoint in 3.1 seconds.", Phase.SAVE, PhaseEdge.END),
        ("Restoring states from the checkpoint path at a.ckpt", Phase.LOAD, PhaseEdge.BEGIN),
        ("Capture cuda graph begin. This can take minutes.", Phase.COMPILE, PhaseEdge.BEGIN),
        ("Capture cuda graph end. Time elapsed: 12.3 s", Phase.COMPILE, PhaseEdge.END),
        ("[aiter] waiting for baton release at /tmp/lock", Phase.COMPILE, PhaseEdge.BEGIN),
        ("flashinfer.jit: Loading JIT ops: sampling", Phase.COMPILE, PhaseEdge.BEGIN),
        ("flashinfer.jit: Finished loading JIT ops: sampling", Phase.COMPILE, PhaseEdge.END),
        ("Using /root/.cache/torch as PyTorch extensions root...", Phase.COMPILE, PhaseEdge.BEGIN),
        ("Time to load fused_adam op: 32.1 seconds", Phase.COMPILE, PhaseEdge.END),
        ('begin validation on "valid" subset', Phase.EVAL, PhaseEdge.BEGIN),
        ("loading annotations into memory...", Phase.DATA, PhaseEdge.BEGIN),
        ('{"namespace": "", "key": "eval_start", "value": null}', Phase.EVAL, PhaseEdge.BEGIN),
        ("Running validation...", Phase.EVAL, PhaseEdge.BEGIN),
        ("Computing detection metrics...", Phase.EVAL, PhaseEdge.BEGIN),
        ("running validation", Phase.EVAL, PhaseEdge.BEGIN),
        ("Saved checkpoint to a.pt", Phase.SAVE, PhaseEdge.END),
        ("Finished saving checkpoint", Phase.SAVE, PhaseEdge.END),
        ("Finished saving unsharded checkpoint", Phase.SAVE, PhaseEdge.END),
        ("Saving unsharded checkpoint to /ckpt/step50...", Phase.SAVE, PhaseEdge.BEGIN),
        ("saving the final EMA weights", Phase.SAVE, PhaseEdge.BEGIN),
        ("Uploading /ckpt/step50 to s3://bucket/run", Phase.SAVE, PhaseEdge.BEGIN),
        ("Global Checkpoint Save : Rank: 0 : Start time: 17.1s", Phase.SAVE, PhaseEdge.BEGIN),
        (
            "Global Checkpoint Save : Rank: 0 : Start time: 17.1s : Save duration: 9.2s",
            Phase.SAVE,
            PhaseEdge.END,
        ),
        ("Evaluating on the test split", Phase.EVAL, PhaseEdge.BEGIN),
        ("Loading optimizer state from /nfs/a.pt", Phase.LOAD, PhaseEdge.BEGIN),
        ("Tokenizing the training corpus", Phase.DATA, PhaseEdge.BEGIN),
        ("Copying the dataset to local disk", Phase.DATA, PhaseEdge.BEGIN),
        ("Downloading and extracting data", Phase.DATA, PhaseEdge.BEGIN),
        ("Compiling a graph for dynamic shape takes 88.41 s", Phase.COMPILE, PhaseEdge.END),
        ("Compiling a graph for dynamic shape, this takes long", Phase.COMPILE, PhaseEdge.BEGIN),
        ("Tokenizing the corpus took 12 seconds", Phase.DATA, PhaseEdge.END),
        ("Generating samples for the report", Phase.GENERATE, PhaseEdge.BEGIN),
    ],
)
def test_a_mark(text: str, phase: Phase, edge: PhaseEdge) -> None:
    assert marks(text) == [(phase, edge)]


@pytest.mark.parametrize(
    "text",
    [
        "Skipping evaluation at step 10",
        "Checkpoints will be saved to /ckpt",
        "Not saving checkpoint: the loss is nan",
        "waiting for all ranks before saving checkpoint",
        '    logger.info("Saving checkpoint to disk")',
        "    print('Running validation')",
        "Loading checkpoint shards:  33%|███  | 1/3 [00:10<00:20, 10.0s/it]",
        "Will skip the first 0 epochs then the first 0 batches in the first epoch.",
        "train total loss: 3.1",
        "Successfully loaded libcuda.so",
        "Saving model config to out/config.json",
        "Creating data loader with 4 workers",
        "Processing group 3",
        "Computing a metric tensor",
        "Reporting system metrics...",
        "leaving 3 models behind us",
    ],
)
def test_texts_that_only_look_like_marks(text: str) -> None:
    assert marks(text) == []


def test_a_rank_close_to_the_mark_is_read() -> None:
    text = "> WARNING: could not find index map files, building the indices on rank 0 ..."
    mark = only(PhaseMark, feed(PhaseMarkParser, text))
    assert mark.rank == 0
    assert mark.framework == "megatron"


def test_a_rank_of_a_message_far_behind_is_not() -> None:
    text = "Saving checkpoint" + " " * 120 + "[Rank 3] Watchdog caught collective operation"
    assert only(PhaseMark, feed(PhaseMarkParser, text)).rank is None


def test_work_that_only_one_rank_does_names_it() -> None:
    mark = only(PhaseMark, feed(PhaseMarkParser, "Starting zero-shot imagenet."))
    assert mark.rank == 0


def test_two_marks_on_one_line_come_in_order() -> None:
    text = "Finished saving the checkpoint in 3.1 seconds.[titan] Training starts at step 11"
    assert marks(text) == [(Phase.SAVE, PhaseEdge.END), (Phase.TRAIN, PhaseEdge.BEGIN)]


@pytest.mark.parametrize(
    "text", ["Starting training step on epoch 4", "start training loop", "Started training epoch 2"]
)
def test_training_that_starts_ends_what_was_before(text: str) -> None:
    assert marks(text) == [(Phase.TRAIN, PhaseEdge.BEGIN)]


def test_the_detail_begins_with_the_whole_word() -> None:
    mark = only(PhaseMark, feed(PhaseMarkParser, "INFO Running validation on 50 batches"))
    assert mark.detail == "Running validation on 50 batches"


def test_needles_are_long_enough_to_be_rare() -> None:
    assert all(len(mark.needle) >= 6 for mark in log_marks())


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("[rank 3] dumping shard 2/9 -> /ckpt/model-00002-of-00009.safetensors", 3),
        ("rank 0: gathered 300 GB of optimizer state in host memory, now writing /n/opt.pth", 0),
        ("serializing /ckpt/__0_0.distcp", None),
        ("flushing weights to step20.ckpt.tmp", None),
    ],
)
def test_who_writes_a_file_of_weights_saves(text: str, rank: int | None) -> None:
    event = only(PhaseMark, feed(PhaseMarkParser, text))
    assert (event.phase, event.edge, event.rank) == (Phase.SAVE, PhaseEdge.BEGIN, rank)


@pytest.mark.parametrize(
    "text",
    [
        "loading /ckpt/model.pth",
        "wrote /ckpt/model.pth",
        "will save the best model to /ckpt/best.pt",
        "saving tokenized data to /cache/train.pt",
        "writing a report to /out/index.ptx",
        "torch.save(state, 'writing/model.pth')",
    ],
)
def test_other_words_on_such_files_begin_no_save(text: str) -> None:
    assert marks(text) == []


@pytest.mark.parametrize(
    ("file", "phase"),
    [
        ("torch/_inductor/async_compile.py", Phase.COMPILE),
        ("torch/_dynamo/convert_frame.py", Phase.COMPILE),
        ("torch/distributed/run.py", None),
        ("my/_inductor_notes.py", None),
    ],
)
def test_what_a_compiler_logs_shows_that_it_compiles(file: str, phase: Phase | None) -> None:
    said = line("kernel 3 of 41 took 20.1 s", rank=5, cpp=288, file=file)
    fed = replace(said, raw=f"I1202 09:10:11.114000 331 {file}:288] {said.text}")
    found = [e for e in feed(PhaseMarkParser, fed) if isinstance(e, PhaseMark)]
    assert [e.phase for e in found] == ([] if phase is None else [phase])


@pytest.mark.parametrize(
    ("line", "edge"),
    [
        ("07/04 10:05:37 snapshot_1.tar written (37 s, 3.8 GB incl. replay buffer)", PhaseEdge.END),
        ("model.safetensors saved in 12.5 s", PhaseEdge.END),
        ("[rank0] writing shard 3/60 -> /ckpt/model-00003.safetensors", PhaseEdge.BEGIN),
    ],
)
def test_a_file_that_is_written_or_was(line: str, edge: PhaseEdge) -> None:
    marks = incident_of(line).all(PhaseMark)
    assert [(mark.phase, mark.edge) for mark in marks] == [(Phase.SAVE, edge)]
