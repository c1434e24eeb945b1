#!/bin/sh
# One epoch, so that no earlier file of the best model hides that this one is not there yet.
exec python run_recbole.py --model BPR --dataset ml-100k \
  --config_files 'bpr.yaml one-epoch.yaml' --nproc 2
