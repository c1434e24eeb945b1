# 8 * 65GiB
NPROC_PER_NODE=8 \
CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 \
swift sft \
    --model Qwen/Qwen2.5-72B-Instruct \
    --train_type lora \
    --dataset 'AI-ModelScope/alpaca-gpt4-data-en#500' \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 4 \
    --eval_steps 100 \
    --deepspeed zero3 \
    --dataloader_num_workers 4
