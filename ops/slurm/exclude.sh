#!/bin/sh
# Once a day: which nodes do failures recur at? Writes the file for `sbatch --exclude=./bad-nodes.txt`.
#
#     exclude.sh LOGS [DAYS]        LOGS holds slurm-123.out, …; it is read anew only where it changed
#
# Where UNHANG_NOTIFY holds the address of a chat, it is told the jobs that failed since the last time.
logs=${1:?folder of the jobs\' output}
days=${2:-30}
store=${XDG_CACHE_HOME:-$HOME/.cache}/unhang-fleet
mkdir -p "$store"
table=$store/sacct.txt
sacct --allusers --allocations --parsable2 --starttime "now-${days}days" \
    --format JobID,NodeList,Start,Elapsed,AllocTRES >"$table" 2>/dev/null || table=
exec "${UNHANG:-unhang}" fleet "$logs" --store "$store" ${table:+--sacct "$table"} \
    --exclude-file bad-nodes.txt
