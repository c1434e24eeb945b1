#!/bin/sh
# PPO by verl's own trainer, with actor and critic; verl_cpu.py is the plug-in.
export VERL_PLATFORM=cpu VERL_ENGINE_DEVICE=cuda VERL_USE_EXTERNAL_MODULES=verl_cpu
export RAY_DEDUP_LOGS=0 RAY_USAGE_STATS_ENABLED=0
exec python -m verl.trainer.main_ppo \
  algorithm.adv_estimator=gae \
  data.train_files=data/train.parquet data.val_files=data/val.parquet \
  data.train_batch_size=4 data.max_prompt_length=32 data.max_response_length=8 \
  actor_rollout_ref.model.path=model actor_rollout_ref.nccl_timeout=1200 \
  +actor_rollout_ref.model.override_config.attn_implementation=eager \
  actor_rollout_ref.model.use_remove_padding=False \
  actor_rollout_ref.actor.strategy=fsdp2 actor_rollout_ref.actor.ppo_mini_batch_size=4 \
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \
  actor_rollout_ref.actor.fsdp_config.model_dtype=fp32 \
  actor_rollout_ref.rollout.name=transformers actor_rollout_ref.rollout.n=2 \
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=2 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=1 \
  actor_rollout_ref.rollout.agent.num_workers=1 \
  reward.custom_reward_function.path=reward.py reward.num_workers=1 \
  critic.strategy=fsdp2 critic.model.path=model critic.model.use_remove_padding=False \
  critic.fsdp.model_dtype=fp32 +critic.model.override_config.attn_implementation=eager \
  critic.ppo_mini_batch_size=4 critic.ppo_micro_batch_size_per_gpu=2 \
  trainer.device=cpu trainer.nnodes=1 trainer.n_gpus_per_node=2 \
  trainer.logger=console trainer.total_training_steps=3 trainer.val_before_train=False \
  transfer_queue.backend.SimpleStorage.num_data_storage_units=1 \
  trainer.save_freq=-1 trainer.test_freq=-1 trainer.use_v1=True \
  ray_kwargs.ray_init.num_cpus=32 +ray_kwargs.ray_init.num_gpus=2 \
  +ray_kwargs.ray_init.include_dashboard=False
