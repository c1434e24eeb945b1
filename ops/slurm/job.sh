#!/bin/sh
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
# Checks the hosts of the job with the job's own launcher, leaves bad ones out, and starts. Ask for
# one host more than the job needs: the check has then something to leave out.
set -u
srun unhang check --for train.yaml --exclude-file "bad-hosts.$SLURM_JOB_ID" --nagios
code=$?
if [ "$code" -ge 2 ]; then
    bad=$(paste -sd, "bad-hosts.$SLURM_JOB_ID")
    [ -n "$bad" ] || exit "$code" # something is wrong that no host less would cure
    exec srun --exclude="$bad" --nodes=$((SLURM_JOB_NUM_NODES - $(wc -l <"bad-hosts.$SLURM_JOB_ID"))) python train.py
fi
exec srun python train.py
