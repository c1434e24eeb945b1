"""DeepSpeed: the 16-bit weights of ZeRO-3 are written slowly."""

from __future__ import annotations

from rehearsals.environments import HUGGING_FACE
from rehearsals.situation import Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

SITUATIONS = (
    Situation(
        name="deepspeed-slow-save",
        summary="DeepSpeed ZeRO-3: rank 0 writes the gathered weights for 20 s, the limit is 10 s",
        environment=HUGGING_FACE,
        packages=("deepspeed", "transformers"),
        job="deepspeed_zero3",
        fault={"slow_torch_save": {"seconds": 20}},
        cause=Cause.CHECKPOINT_SLOW,
        culprits=frozenset({0}),
        phase=Phase.SAVE,
        accept=("timeout_short",),
        fails_with="Timed out waiting 10000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` raises the timeout that the script gives to `init_distributed`.",
            files=("train.sh",),
        ),
        settle_s=4.0,
        real="DeepSpeed's engine, ZeRO-3's partitioning, its gather of the weights and its save, "
        "over gloo; `torchrun`.",
        played="The storage: `torch.save` of rank 0 writes in small portions for 20 s. The timeout "
        "is 10 s. DeepSpeed inside the Trainer of transformers does not run on a CPU.",
        logs_lack="any word of the save. DeepSpeed 0.19.8 logs from the level `warning` on, and "
        "announces the save (`Saving model weights to …`) at `info`; rank 0 is ended by the "
        "launcher's signal and prints nothing. What is known is only that rank 1 waited for it.",
    ),
)
