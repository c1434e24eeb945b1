export NVTE_FUSED_ATTN=0
export NCCL_P2P_NET_CHUNKSIZE=2097152
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export NCCL_NVLS_ENABLE=0
python -u /opt/NeMo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
    trainer.num_nodes=8 trainer.devices=8 trainer.val_check_interval=2000 \
    trainer.limit_val_batches=32 model.micro_batch_size=1 model.global_batch_size=512 \
    exp_manager.checkpoint_callback_params.save_top_k=3
