#!/bin/sh
# NCCL_TIMEOUT is what people try first.
export NCCL_TIMEOUT=1800
exec torchrun --standalone --nproc-per-node 4 train.py --fsdp 1 --timeout 12
