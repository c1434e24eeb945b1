"""What frames of stacks show."""

import pytest

from unhang.model.phases import Phase
from unhang.settings.frames import FrameKind, bare, frame_meaning, named_meaning, packaged

SITE = "/opt/env/lib/python3.11/site-packages/"


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("torch/distributed/distributed_c10d.py", "barrier"),
        ("torch/distributed/distributed_c10d.py", "all_gather_object"),
        ("torch/distributed/distributed_c10d.py", "new_group"),
        ("deepspeed/comm/torch.py", "all_reduce"),
        ("accelerate/state.py", "wait_for_everyone"),
        ("lightning/pytorch/strategies/ddp.py", "barrier"),
        ("megatron/core/pipeline_parallel/p2p_communication.py", "recv_forward"),
        ("vllm/distributed/device_communicators/shm_broadcast.py", "acquire_read"),
    ],
)
def test_waits_for_other_ranks(file: str, function: str) -> None:
    meaning = frame_meaning(SITE + file, function)
    assert meaning is not None
    assert meaning.kind is FrameKind.WAIT


@pytest.mark.parametrize(
    ("file", "function", "phase"),
    [
        ("torch/serialization.py", "_save", Phase.SAVE),
        ("torch/serialization.py", "load", Phase.LOAD),
        ("torch/distributed/checkpoint/filesystem.py", "_write_item", Phase.SAVE),
        ("safetensors/torch.py", "save_file", Phase.SAVE),
        ("safetensors/torch.py", "load_file", Phase.LOAD),
        ("transformers/trainer.py", "_save_checkpoint", Phase.SAVE),
        ("transformers/trainer.py", "evaluation_loop", Phase.EVAL),
        ("transformers/generation/utils.py", "_sample", Phase.GENERATE),
        ("trl/trainer/sft_trainer.py", "_prepare_dataset", Phase.DATA),
        ("deepspeed/runtime/engine.py", "save_checkpoint", Phase.SAVE),
        ("lightning/pytorch/loops/evaluation_loop.py", "run", Phase.EVAL),
        ("megatron/training/training.py", "evaluate", Phase.EVAL),
        ("megatron/core/datasets/gpt_dataset.py", "_build_document_index", Phase.DATA),
        ("verl/trainer/ppo/ray_trainer.py", "_validate", Phase.EVAL),
        ("open_clip_train/train.py", "evaluate", Phase.EVAL),
        ("recbole/data/utils.py", "create_dataset", Phase.DATA),
        ("datasets/arrow_dataset.py", "_map_single", Phase.DATA),
        ("webdataset/tariterators.py", "url_opener", Phase.DATA),
        ("triton/compiler/compiler.py", "compile", Phase.COMPILE),
        ("torch/_inductor/codecache.py", "load", Phase.COMPILE),
        ("wandb/sdk/wandb_run.py", "log", Phase.LOGGING),
        ("torch/distributed/distributed_c10d.py", "destroy_process_group", Phase.TEARDOWN),
    ],
)
def test_phases_of_libraries(file: str, function: str, phase: Phase) -> None:
    meaning = frame_meaning(SITE + file, function)
    assert meaning is not None
    assert meaning.phase is phase


def test_a_module_that_is_imported_does_no_work() -> None:
    assert frame_meaning(SITE + "torch/_dynamo/symbolic_convert.py", "<module>") is None


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("torch/utils/checkpoint.py", "checkpoint"),
        ("torch/autograd/graph.py", "_engine_run_backward"),
        ("deepspeed/runtime/engine.py", "forward"),
        ("triton/runtime/jit.py", "run"),
    ],
)
def test_the_step_of_the_model_is_no_phase(file: str, function: str) -> None:
    meaning = frame_meaning(SITE + file, function)
    assert meaning is not None
    assert meaning.kind is FrameKind.STEP


@pytest.mark.parametrize(
    ("function", "phase"),
    [
        ("save_checkpoint", Phase.SAVE),
        ("load_model", Phase.LOAD),
        ("evaluate", Phase.EVAL),
        ("build_dataset", Phase.DATA),
        ("tokenize_fn", Phase.DATA),
    ],
)
def test_names_of_the_programs_own_functions(function: str, phase: Phase) -> None:
    meaning = named_meaning(function)
    assert meaning is not None
    assert meaning.phase is phase


@pytest.mark.parametrize("function", ["main", "train_step", "process_batch", "forward", "<module>"])
def test_names_that_tell_nothing(function: str) -> None:
    assert named_meaning(function) is None


def test_paths_and_names_are_shortened() -> None:
    assert packaged(SITE + "torch/x.py") == "torch/x.py"
    assert packaged("/usr/lib/python3.11/threading.py") == "threading.py"
    assert bare("A.b.<locals>.c") == "c"
