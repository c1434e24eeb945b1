#!/bin/sh
# Slurm's Prolog, or TaskProlog's first lines: a host that cannot run the job is drained, and the job
# is started again elsewhere. Warnings go to the log only.
#
#   slurm.conf:  Prolog=/etc/slurm/prolog.d/unhang.sh
#
# UNHANG is the program; CHECKPOINTS may name a folder to look at (it is not measured here: a prolog
# of many jobs must not load the storage).
UNHANG=${UNHANG:-unhang}
said=$("$UNHANG" check --alone --nagios --no-measure ${CHECKPOINTS:+--checkpoint "$CHECKPOINTS"} 2>&1)
code=$?
echo "$said"
case $code in
0 | 1) exit 0 ;;
2)
    # A prolog that fails drains the node; the reason says why.
    scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="$said" 2>/dev/null
    exit 1
    ;;
*) exit 0 ;; # unknown: a check that cannot look must not take hosts away
esac
