#!/bin/bash
set -euo pipefail
FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=$RANK MASTER_ADDR=$MASTER_ADDR MASTER_PORT=29500 \
    llamafactory-cli train examples/train_full/qwen3_full_sft.yaml ddp_timeout=7200
