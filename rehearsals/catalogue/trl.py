"""TRL: a checkpoint that outlasts `ddp_timeout`."""

from __future__ import annotations

from rehearsals.environments import HUGGING_FACE
from rehearsals.situation import Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

SITUATIONS = (
    Situation(
        name="trl-slow-save",
        summary="TRL SFT: rank 0 writes a checkpoint for 20 s, the others wait at most 10 s",
        environment=HUGGING_FACE,
        packages=("trl", "transformers", "accelerate"),
        job="trl_sft",
        patches={"transformers_timeout_on_cpu": {}},
        fault={"slow_safetensors": {"seconds": 20}},
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        phase=Phase.SAVE,
        accept=("timeout_short",),
        fails_with="Timed out waiting 10000ms",
        finishes_with="Model saved to out",
        remedy=SituationRemedy(
            says="`unhang fix` raises `ddp_timeout` in the configuration.", files=("sft.yaml",)
        ),
        real="TRL's own program (`python -m trl.scripts.sft`), its trainer, DDP over gloo, the "
        "checkpoint of transformers.",
        played="The storage: the file of weights grows in small portions for 20 s. The timeout is "
        "10 s, so that the drill is short.",
    ),
)
