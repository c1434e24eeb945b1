"""open_clip: the evaluation of rank 0, and the broadcast that nobody answers."""

from __future__ import annotations

from rehearsals.environments import OPEN_CLIP
from rehearsals.situation import Patches, Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

_PACKAGES = ("open_clip_torch", "torchvision", "webdataset")
_ON_CPU: Patches = {"torchvision_without_its_library": {}, "noted_evaluation": {}}
_SHORT: Patches = {"default_timeout": {"seconds": 10}}
_REAL = (
    "open_clip's own training program with its loss, its loaders and its evaluation; the slowness "
    "is real work, an evaluation of 8,000 pairs. `torchrun`, DDP over gloo."
)
_PLAYED = "A tiny model and squares of one colour. The timeout is 10 s: open_clip has no setting."

SITUATIONS = (
    Situation(
        name="open-clip-eval-gather",
        summary="open_clip 2.32.0: rank 0 evaluates alone, rank 1 waits in the next step's gather",
        environment=OPEN_CLIP,
        overlay="2.32.0",
        packages=_PACKAGES,
        job="open_clip",
        patches={**_ON_CPU, "ddp_on_cpu": {"broadcast_buffers": False}},
        fault=_SHORT,
        cause=Cause.EVAL_SLOW,
        culprits=frozenset({0}),
        phase=Phase.EVAL,
        accept=("timeout_short",),
        fails_with="Timed out waiting 10000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` takes the evaluation out of the launch script.", files=("train.sh",)
        ),
        settle_s=3.0,
        real=_REAL,
        played=_PLAYED + " DDP does not broadcast its buffers, which keeps another fault away "
        "(see `open-clip-stray-broadcast`).",
    ),
    Situation(
        name="open-clip-eval-barrier",
        summary="open_clip 3.3.0: rank 0 evaluates alone, rank 1 waits in a barrier",
        environment=OPEN_CLIP,
        packages=_PACKAGES,
        job="open_clip",
        patches={**_ON_CPU, "ddp_on_cpu": {}},
        fault=_SHORT,
        cause=Cause.EVAL_SLOW,
        culprits=frozenset({0}),
        phase=Phase.EVAL,
        accept=("timeout_short",),
        fails_with="Timed out waiting 10000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` takes the evaluation out of the launch script.", files=("train.sh",)
        ),
        settle_s=3.0,
        real=_REAL,
        played=_PLAYED,
    ),
    Situation(
        name="open-clip-eval-webdataset",
        summary="open_clip 3.3.0 with a WebDataset: rank 0 evaluates alone all the same",
        environment=OPEN_CLIP,
        packages=_PACKAGES,
        job="open_clip",
        command=("sh", "train-webdataset.sh"),
        patches={**_ON_CPU, "ddp_on_cpu": {}},
        fault=_SHORT,
        cause=Cause.EVAL_SLOW,
        culprits=frozenset({0}),
        phase=Phase.EVAL,
        accept=("timeout_short",),
        fails_with="Timed out waiting 10000ms",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` takes the evaluation out of the launch script.",
            files=("train-webdataset.sh",),
        ),
        settle_s=3.0,
        real=_REAL,
        played=_PLAYED
        + " webdataset is 0.2.86: with 1.0.2 open_clip stops at `KeyError: 'fname'`.",
    ),
    Situation(
        name="open-clip-stray-broadcast",
        summary="open_clip 2.32.0: rank 0's evaluation broadcasts DDP's buffers, rank 1 has left",
        environment=OPEN_CLIP,
        overlay="2.32.0",
        packages=_PACKAGES,
        job="open_clip",
        command=("sh", "train-small-eval.sh"),
        patches={**_ON_CPU, "ddp_on_cpu": {}},
        fault=_SHORT,
        cause=Cause.DESYNC,
        culprits=frozenset({0}),
        phase=None,
        legitimate=False,
        fails_with="broadcast",
        finishes_with="training finished",
        remedy=SituationRemedy(
            says="`unhang fix` takes the evaluation out of the launch script; 3.3.0 unwraps the "
            "model.",
            files=("train-small-eval.sh",),
        ),
        settle_s=3.0,
        real="open_clip's own program and its own fault: `evaluate` calls the model wrapped in DDP "
        "on rank 0 alone, and DDP broadcasts its buffers there.",
        played=_PLAYED + " The evaluation has 64 pairs, and nothing is slow.",
    ),
)
