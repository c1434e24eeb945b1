"""verl: Hydra overrides; variables reach the workers through Ray's runtime environment."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.environment import by_ray_job
from unhang.remedies.writing import put

_ACTOR = "actor_rollout_ref.actor"


def _overrides(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.HYDRA, "python3 -m verl.trainer.main_ppo", settings)


FRAMEWORK = Framework(
    name="verl",
    environment=by_ray_job("python3 -m verl.trainer.main_ppo"),
    cures={
        # Without `hf_model`, which gathers the whole model on rank 0.
        Cure.SHARDED_SAVE: _overrides(
            {f"{_ACTOR}.checkpoint.save_contents": ["model", "optimizer", "extra"]}
        ),
        Cure.ASYNC_SAVE: _overrides({f"{_ACTOR}.checkpoint.async_save": True}),
        Cure.SMALLER_SAVE: _overrides({f"{_ACTOR}.checkpoint.save_contents": ["model"]}),
        Cure.SAVE_RARELY: _overrides({"trainer.save_freq": 100}),
        Cure.SAVE_OFTEN: _overrides({"trainer.save_freq": 10}),
        Cure.EVAL_SMALLER: _overrides({"trainer.val_before_train": False, "trainer.test_freq": 50}),
        Cure.EVAL_RARELY: _overrides({"trainer.test_freq": 50}),
        Cure.PREPARE_DATA: _overrides({"data.filter_overlong_prompts_workers": 16}),
        Cure.FASTER_DATA: _overrides({"data.dataloader_num_workers": 8}),
        Cure.SMALLER_BATCH: _overrides(
            {
                f"{_ACTOR}.ppo_micro_batch_size_per_gpu": 1,
                "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 1,
                "actor_rollout_ref.rollout.gpu_memory_utilization": 0.4,
            }
        ),
        Cure.RECOMPUTE: _overrides({"actor_rollout_ref.model.enable_gradient_checkpointing": True}),
        Cure.FEWER_LOADERS: _overrides({"data.dataloader_num_workers": 1}),
        Cure.LEAN_LOAD: _overrides(
            {
                f"{_ACTOR}.fsdp_config.param_offload": False,
                f"{_ACTOR}.fsdp_config.optimizer_offload": False,
            }
        ),
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: _overrides(
            {
                f"{_ACTOR}.use_torch_compile": False,
                "actor_rollout_ref.rollout.enforce_eager": True,
            }
        ),
    },
)
