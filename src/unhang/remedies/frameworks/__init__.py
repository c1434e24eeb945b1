"""Every framework with its answers, by name."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import Framework
from unhang.remedies.frameworks import (
    accelerate,
    axolotl,
    deepspeed,
    lightning,
    llama_cookbook,
    llama_factory,
    megatron,
    megatron_bridge,
    ms_swift,
    nemo,
    open_clip,
    open_r1,
    openrlhf,
    ray_train,
    recbole,
    torch,
    torchtitan,
    torchtune,
    transformers,
    trl,
    verl,
)

PLAIN = torch.FRAMEWORK
"""What is said where the framework is unknown, or has no setting."""

FRAMEWORKS: Mapping[str, Framework] = {
    module.FRAMEWORK.name: module.FRAMEWORK
    for module in (
        torch,
        transformers,
        trl,
        open_r1,
        accelerate,
        deepspeed,
        lightning,
        megatron,
        megatron_bridge,
        nemo,
        torchtitan,
        torchtune,
        verl,
        llama_factory,
        ms_swift,
        axolotl,
        openrlhf,
        ray_train,
        llama_cookbook,
        open_clip,
        recbole,
    )
}
"""By the name that `--framework` takes."""

_ALIASES = {
    "pytorch": "torch",
    "megatron-lm": "megatron",
    "ray": "ray-train",
    "llama-recipes": "llama-cookbook",
    "pytorch-lightning": "lightning",
    "llamafactory": "llama-factory",
    "swift": "ms-swift",
    "openclip": "open_clip",
    "open-clip": "open_clip",
}


def find_framework(name: str | None) -> Framework | None:
    """The framework of that name, or None where it is unknown to us."""
    if name is None:
        return None
    lowered = name.lower()
    return FRAMEWORKS.get(_ALIASES.get(lowered, lowered))
