set -x
ray job submit --address="http://127.0.0.1:8265" \
   --runtime-env-json='{"working_dir": "/openrlhf", "env_vars": {"NCCL_DEBUG": "WARN"}}' \
   -- python3 -m openrlhf.cli.train_ppo_ray \
   --ref_num_nodes 1 --ref_num_gpus_per_node 8 \
   --micro_train_batch_size 8 --train_batch_size 128 \
   --save_path /openrlhf/examples/test_scripts/final/llama3-8b-rlhf \
   --zero_stage 3 --bf16 --packing_samples --gradient_checkpointing --save_steps 100
