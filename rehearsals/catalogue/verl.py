"""verl: PPO on Ray, in which one rank gets its share of the batch late."""

from __future__ import annotations

from rehearsals.environments import VERL
from rehearsals.situation import Situation, SituationRemedy
from unhang.model.causes import Cause
from unhang.model.phases import Phase

SITUATIONS = (
    Situation(
        name="verl-slow-batch",
        summary="verl PPO on Ray: rank 1 gets its share of the batch late, rank 0 waits in FSDP",
        environment=VERL,
        packages=("verl", "ray", "transformers", "TransferQueue"),
        job="verl_ppo",
        lint_as="verl",
        patches={"default_timeout": {"seconds": 12}},
        fault={"slow_batch": {"rank": 1, "seconds": 25}},
        cause=Cause.DATA_SLOW,
        culprits=frozenset({1}),
        phase=Phase.DATA,
        accept=("timeout_short",),
        fails_with="Timed out waiting 12000ms",
        finishes_with="Final validation metrics",
        remedy=SituationRemedy(
            says="No key of verl 0.9.1 reaches the group; the plug-in passes a timeout on.",
            files=("train.sh", "verl_cpu.py"),
            written=False,
            edits=(("verl_cpu.py", "real(timeout_second, ", "real(timeout_second or 600, "),),
        ),
        real="verl's `main_ppo` with its trainer (actor, critic and GAE), Ray, TransferQueue, the "
        "agent loop, the reward loop, worker groups, the FSDP2 engine and both PPO updates, over "
        "gloo: real PPO steps.",
        played="The rollout engine (neither vLLM nor SGLang runs here): a plug-in of a hundred "
        "lines generates with transformers. It also tells verl of a platform `cpu`, and loads the "
        "critic without FlashAttention, which verl asks for whatever its configuration says. "
        "No reference policy: its parameters are pinned for a GPU. The link: "
        "rank 1's share of a batch passes a slow pipe for 25 s. The timeout is 12 s.",
        logs_lack="anything of rank 1 after its start. verl tells how long a fetch from "
        "TransferQueue took once it is over, and at `VERL_LOGGING_LEVEL=INFO` only; Ray shows the "
        "exception of the first worker that failed, which is the one that waited. That the other "
        "worker is silent proves nothing: it may have waited as well.",
    ),
)
