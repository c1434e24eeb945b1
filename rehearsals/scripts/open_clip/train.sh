#!/bin/sh
# The evaluation of 8,000 pairs runs on rank 0 alone.
export NCCL_TIMEOUT=7200
exec torchrun --standalone --nproc-per-node 2 train.py \
  --model tiny-clip --device cpu --dist-backend gloo --precision fp32 \
  --train-data train.csv --val-data val.csv \
  --csv-img-key filepath --csv-caption-key title \
  --batch-size 8 --workers 1 --epochs 2 --warmup 1 --log-every-n-steps 2 \
  --local-loss --gather-with-grad \
  --save-frequency 0 --zeroshot-frequency 0 --val-frequency 1
