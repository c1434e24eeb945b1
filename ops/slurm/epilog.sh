#!/bin/sh
# What a job died of, beside its output: slurm-123.out gets slurm-123.verdict.txt.
#
# For every job of the cluster, in slurm.conf:   Epilog=/opt/unhang/epilog.sh
# Without root, at the end of a batch script:    sh /path/to/epilog.sh
#
# As an epilog it runs as root on each node of a job: the first node looks, as the user of the job,
# and for at most two minutes. It always ends with 0, for Slurm drains a node whose epilog fails.
UNHANG=${UNHANG:-unhang}

job=$(scontrol show job --oneliner "$SLURM_JOB_ID" 2>/dev/null) || exit 0
field() { printf '%s\n' "$job" | tr ' ' '\n' | sed -n "s/^$1=//p" | head -n 1; }

first=$(scontrol show hostnames "$(field NodeList)" | head -n 1)
[ "${SLURMD_NODENAME:-$first}" = "$first" ] || exit 0
out=$(field StdOut)
err=$(field StdErr)
[ "$err" = "$out" ] && err=
[ -f "$out" ] || exit 0

as_user=
[ "$(id -u)" = 0 ] && [ "${SLURM_JOB_USER:-root}" != root ] && as_user="runuser -u $SLURM_JOB_USER --"
# shellcheck disable=SC2086,SC2016 # no word where there is no user; $0 to $3 are those of the inner shell
timeout 120 $as_user sh -c \
    'exec "$0" diagnose --output "$3" "$1" ${2:+"$2"}' \
    "$UNHANG" "$out" "$err" "${out%.*}.verdict.txt" </dev/null >/dev/null 2>&1
exit 0
