#!/usr/bin/env bash
# Records the failure that `make demo` judges: a real job, four ranks on the CPU, one minute.
#
#   pip install torch==2.13.0 numpy tqdm
#   tests/cases/demo/record/record.sh NEW_FOLDER
#
# leaves the logs of all ranks and of torchrun in NEW_FOLDER. The job is meant to fail.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here/train.py" .
export OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
torchrun --nproc-per-node 4 --master-port 29511 --log-dir logs --redirects 3 train.py \
    >"$out/torchrun.log" 2>&1 || true
mv logs/*/attempt_0 "$out/"
find "$out" -size 0 -delete
