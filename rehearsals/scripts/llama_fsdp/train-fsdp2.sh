#!/bin/sh
# NCCL_TIMEOUT is what people try first.
export NCCL_TIMEOUT=1800
exec torchrun --standalone --nproc-per-node 4 train.py --fsdp 2 --timeout 12
