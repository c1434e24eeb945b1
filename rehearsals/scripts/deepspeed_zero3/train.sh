#!/bin/sh
exec torchrun --standalone --nproc-per-node 2 train.py --timeout 10
