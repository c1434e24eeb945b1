#!/bin/bash
OUTPUT=$1
ZERO_STAGE=$2
if [ "$OUTPUT" == "" ]; then
    OUTPUT=./output
fi
if [ "$ZERO_STAGE" == "" ]; then
    ZERO_STAGE=3
fi
mkdir -p $OUTPUT
deepspeed --hostfile /job/hostfile --master_port 29600 main.py \
   --model_name_or_path meta-llama/Llama-2-7b-hf \
   --per_device_train_batch_size 4 \
   --gradient_accumulation_steps 1 \
   --zero_stage $ZERO_STAGE --deepspeed --output_dir $OUTPUT &> $OUTPUT/training.log
