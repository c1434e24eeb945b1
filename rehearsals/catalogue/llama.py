"""Llama with LoRA under FSDP: one rank is late, or never comes."""

from __future__ import annotations

from rehearsals.environments import HUGGING_FACE
from rehearsals.situation import Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

_PACKAGES = ("transformers", "peft")
_REAL = (
    "The model of transformers, PEFT's LoRA, FSDP of torch over gloo, `torchrun`. FSDP is used "
    "directly: through the Trainer it is plain DDP on a CPU."
)
_PLAYED = "The storage of the data: {}. The timeout is 12 s."
_RAISED = SituationRemedy(
    says="`unhang fix` raises the timeout that the script gives to `init_process_group`.",
    files=("train.sh",),
)

SITUATIONS = (
    Situation(
        name="llama-first-gather",
        summary="Llama + LoRA + FSDP1: rank 3 reads its data for 25 s before the first all-gather",
        environment=HUGGING_FACE,
        packages=_PACKAGES,
        job="llama_fsdp",
        world=4,
        fault={"slow_numpy_file": {"rank": 3, "part": "part-0", "seconds": 25}},
        cause=Cause.DATA_SLOW,
        culprits=frozenset({3}),
        phase=Phase.DATA,
        accept=("timeout_short",),
        fails_with="Timed out waiting 12000ms",
        finishes_with="training finished",
        remedy=_RAISED,
        real=_REAL,
        played=_PLAYED.format("rank 3 gets the bytes of one file in small portions for 25 s"),
    ),
    Situation(
        name="llama-mid-training",
        summary="Llama + LoRA + FSDP2: rank 2 reads its next data for 25 s in the middle",
        environment=HUGGING_FACE,
        packages=_PACKAGES,
        job="llama_fsdp",
        command=("sh", "train-fsdp2.sh"),
        world=4,
        fault={"slow_numpy_file": {"rank": 2, "part": "part-1", "seconds": 25}},
        cause=Cause.DATA_SLOW,
        culprits=frozenset({2}),
        phase=Phase.DATA,
        accept=("timeout_short",),
        fails_with="Timed out waiting 12000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(says=_RAISED.says, files=("train-fsdp2.sh",)),
        real=_REAL,
        played=_PLAYED.format("rank 2 gets the bytes of one file in small portions for 25 s"),
    ),
    Situation(
        name="llama-absent",
        summary="Llama + LoRA + FSDP1: storage never answers rank 1, which never joins",
        environment=HUGGING_FACE,
        packages=_PACKAGES,
        job="llama_fsdp",
        world=4,
        fault={"silent_numpy_file": {"rank": 1, "part": "part-0"}},
        cause=Cause.DATA_SLOW,
        culprits=frozenset({1}),
        phase=Phase.DATA,
        legitimate=False,
        fails_with="Timed out waiting 12000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` writes a longer timeout as a probe: the job stops at the same call "
            "again, so rank 1 hangs. No setting helps: the storage has been repaired, and the job "
            "is run again.",
            files=("train.sh",),
            healed=True,
        ),
        real=_REAL,
        played=_PLAYED.format("a read of rank 1 waits for bytes that never come"),
    ),
)
