#!/bin/sh
# Ray under `unhang run`: its workers come from Ray, not from the job that is submitted, so Ray is what
# unhang has to start. On each node:
#
#   sh watched-node.sh                                    one node
#   UNHANG_TOKEN=… sh watched-node.sh NODES 0             the head
#   UNHANG_TOKEN=… sh watched-node.sh NODES N HEAD        node N of the others; HEAD is the head's address
#
# Then `ray job submit -- python train.py`, as always. `ray stop` ends it. RAY_START holds further
# options of `ray start`. In KubeRay the command of each container in its place. What a job died of
# that was not watched: unhang diagnose /tmp/ray/session_latest/logs
UNHANG=${UNHANG:-unhang}

nodes=${1:-1} number=${2:-0} head=${3:-$(hostname -i | cut -d ' ' -f 1)}
port=${RAY_PORT:-6379}
if [ "$number" -eq 0 ]; then
    set -- ray start --block --head --port="$port"
else
    set -- ray start --block --address="$head:$port"
fi
# shellcheck disable=SC2086 # words
set -- "$@" $RAY_START
[ "$nodes" -gt 1 ] && set -- --nodes "$nodes" --node-rank "$number" --collector "http://$head:8766" -- "$@"
[ "$nodes" -gt 1 ] || set -- -- "$@"
exec "$UNHANG" run "$@"
