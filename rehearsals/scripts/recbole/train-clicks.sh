#!/bin/sh
# Each of the four processes reads all clicks, and keeps them.
exec python run_recbole.py --model BPR --dataset clicks \
  --config_files 'bpr.yaml clicks.yaml' --nproc 4
