#!/bin/sh
exec python run_recbole.py --model BPR --dataset ml-100k --config_files bpr.yaml --nproc 2
