#!/bin/sh
# As train.sh, with all data in shards.
export NCCL_TIMEOUT=7200
exec torchrun --standalone --nproc-per-node 2 train.py \
  --model tiny-clip --device cpu --dist-backend gloo --precision fp32 \
  --dataset-type webdataset --train-data 'train-{0..3}.tar' --train-num-samples 64 \
  --val-data val.tar --val-num-samples 8000 \
  --batch-size 8 --workers 1 --epochs 2 --warmup 1 --log-every-n-steps 2 \
  --local-loss --gather-with-grad \
  --save-frequency 0 --zeroshot-frequency 0 --val-frequency 1
