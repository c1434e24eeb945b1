"""From the label of a progress bar, or a frame of a stack, to the phase that it shows."""

from __future__ import annotations

import re

from unhang.model.phases import Phase

_LABELS: tuple[tuple[Phase, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(words, re.IGNORECASE))
    for phase, words in (
        (
            Phase.GENERATE,
            r"processed prompts|rollout|generating (?:sequences|completions|responses)",
        ),
        (
            Phase.DATA,
            r"^map\b|map \(num_proc|^filter|tokeni[sz]|generating \w+ (?:split|examples)"
            r"|generating .*(?:index|dataset)|group(?:ing)? texts|\bpacking|packed|concatenat"
            r"|preprocess|^process(?:ing)?\b|download|fetching \d+ files|extracting prompt"
            r"|chat template|to chatml|formatting|adding eos|truncat|^converting|casting"
            r"|flattening|sorting|shuffl|saving the dataset|creating (?:parquet|json|csv)"
            r"|resolving data files|computing checksums|load(?:ing)? (?:\w+ )?(?:data|images|cache)"
            r"|cach(?:e|ing)\b|index(?:ing)?\b|scanning|encoding\b|reading\b|standardi[sz]"
            r"|build(?:ing)? (?:\w+ )?(?:data|index|vocab)|counting|verifying|unpack|collating"
            r"|remap|importing\b|parsing\b|ingest"
            r"|dropping (?:long|invalid|samples)|skipp(?:ed|ing) (?:the )?(?:first )?batch"
            r"|clustering",
        ),
        (
            Phase.COMPILE,
            r"compil|cuda ?graph|autotun|warm(?:ing)?[ -]?up|deep_?gemm|\bjit\b"
            r"|capturing (?:batches|\w* ?(?:cuda|graph|num))",
        ),
        (
            Phase.EVAL,
            r"valid|\bval\b|\beval|evaluat|sanity check|predict|^test(?:ing)?\b|inference|scoring"
            r"|zero-?shot|running loglikelihood|running generate_until|benchmark",
        ),
        (
            Phase.LOAD,
            r"loading (?:\w+ )?(?:checkpoint|weights|shards|model|safetensors|pt|pipeline)"
            r"|loading \w+ checkpoint|loading extra|materializing param|restoring",
        ),
        (Phase.SAVE, r"saving|writing|upload|consolidat|gathering|dumping|exporting|merging"),
        (Phase.GENERATE, r"generat|sampling|decoding"),
        (Phase.TRAIN, r"train|\bepoch|\bstep|\biter|^(?:it|batch|update)s?$|\bglobal_step"),
    )
)
"""First hit wins: `Tokenizing eval dataset` is data, `Validation Epoch` is evaluation."""

_FRAMES: tuple[tuple[Phase, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(words))
    for phase, words in (
        (
            Phase.COMPILE,
            r"triton/(?:compiler|backends|runtime/(?:build|autotuner))"
            r"|triton/runtime/jit\.py:_?(?:do_)?compile"
            r"|torch/_inductor/(?:compile_fx|codecache|async_compile|scheduler|graph|lowering|codegen"
            r"|select_algorithm|autotune|runtime/\w+\.py:\w*(?:autotune|benchmark|precompile))"
            r"|torch/_dynamo/(?:convert_frame|output_graph|symbolic_convert)"
            r"|torch/utils/(?:cpp_extension|_cpp_extension_versioner|file_baton)"
            r"|flashinfer/(?:jit|autotuner|compilation)|flashinfer/\w+\.py:(?:get|gen|load)_\w*module"
            r"|deep_gemm/(?:jit|utils/jit)|numba/core/compiler|cupy/cuda/compiler|jax/_src/compiler"
            r"|aiter/jit/\S+:(?:\w*build\w*|\w*compile\w*|wait|get_module)|tilelang/(?:jit|engine)",
        ),
        (
            Phase.SAVE,
            r"torch/serialization\.py:_?(?:legacy_)?save|torch/serialization\.py:__exit__"
            r"|torch/distributed/checkpoint/.*:.*(?:save|write)|safetensors/\w+\.py:\w*(?:save|serialize)"
            r"|:(?:_save_checkpoint|save_checkpoint|save_pretrained|save_model|save_file)$"
            r"|torch/distributed/fsdp/_(?:state_dict|optim)_utils",
        ),
        (
            Phase.LOAD,
            r"torch/serialization\.py:_?(?:legacy_)?load|torch/distributed/checkpoint/.*:.*(?:load|read)"
            r"|safetensors/\w+\.py:\w*load|:(?:load_checkpoint|from_pretrained|load_state_dict)$",
        ),
        (
            Phase.DATA,
            r"\bdatasets/(?:arrow_dataset|builder|load|utils|iterable_dataset|fingerprint)"
            r"|torch/utils/data/(?:dataloader|_utils/(?:fetch|worker))|tokenization_utils"
            r"|webdataset/|huggingface_hub/(?:file_download|_snapshot_download)"
            r"|megatron/.*(?:dataset|data)/\w+\.py:.*(?:index|build)|litdata/|streaming/base/",
        ),
        (Phase.EVAL, r":(?:evaluat\w+|evaluation_loop|validation_step|validate|run_validation)$"),
    )
)
"""Against `file:function`. First hit wins."""

_WAIT = re.compile(
    r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives)\.py"
    r"|:(?:barrier|all_reduce|all_gather|broadcast|reduce_scatter|monitored_barrier)\w*$"
    r"|shm_broadcast\.py:(?:acquire_(?:read|write)|dequeue|recv)|ncclx?_?(?:allreduce|allgather)"
)


def phase_of_label(label: str) -> Phase | None:
    """Return the phase that the text before a progress bar tells, or None.

    >>> phase_of_label("Running tokenizer on dataset (num_proc=8)")
    <Phase.DATA: 'data'>
    >>> phase_of_label("Validation DataLoader 0")
    <Phase.EVAL: 'eval'>
    """
    if not label:
        return None
    return next((phase for phase, words in _LABELS if words.search(label)), None)


def phase_of_frame(frame: str) -> Phase | None:
    """Return what a rank does that stands in `file:function`, or None; an import shows nothing.

    >>> phase_of_frame("flashinfer/jit/core.py:build_and_load")
    <Phase.COMPILE: 'compile'>
    >>> phase_of_frame("torch/_dynamo/symbolic_convert.py:<module>")
    """
    if frame.endswith(":<module>"):
        return None
    return next((phase for phase, words in _FRAMES if words.search(frame)), None)


def is_wait(frame: str) -> bool:
    """Whether the frame `file:function` is a collective's wait.

    >>> is_wait("torch/distributed/distributed_c10d.py:barrier")
    True
    """
    return _WAIT.search(frame) is not None
