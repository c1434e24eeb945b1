#!/bin/sh
# The training script is TRL's own.
exec torchrun --standalone --nproc-per-node 2 -m trl.scripts.sft --config sft.yaml
