#!/bin/sh
# What a job of Kubernetes died of, or hangs in: the logs and states of all its pods, judged at once.
#
#   sh diagnose-pods.sh SELECTOR [NAMESPACE]
#
#   job-name=train                                Job
#   jobset.sigs.k8s.io/jobset-name=train          JobSet, TrainJob of Kubeflow Trainer 2
#   training.kubeflow.org/job-name=train          PyTorchJob, MPIJob
#   ray.io/cluster=train                          RayCluster
#
# Then the pods in the order of their last lines: the one that fell silent first at the top, the
# last one at the end. Exits as `unhang diagnose --exit-code` does; 2 if there is nothing to read.
UNHANG=${UNHANG:-unhang}

selector=${1:?usage: diagnose-pods.sh SELECTOR [NAMESPACE]}
in_namespace() {
    verb=$1
    shift
    kubectl "$verb" ${namespace:+--namespace="$namespace"} "$@"
}
namespace=${2:-}

pods=$(in_namespace get pods --selector="$selector" --output=name) || exit 2
[ -n "$pods" ] || { echo "no pod has $selector" >&2; exit 2; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

for pod in $pods; do
    name=${pod#pod/}
    log=$folder/$name.log
    in_namespace logs "$name" --all-containers --prefix --timestamps >"$log"
    # Of a container that was started again, what it said before.
    in_namespace logs "$name" --all-containers --prefix --timestamps --previous \
        >"$folder/$name.previous.log" 2>/dev/null
    in_namespace describe pod "$name" >"$folder/$name.txt"
    awk -v pod="$name" '$2 > last { last = $2 } END { print (last == "" ? "-" : last), pod }' \
        "$log" >>"$folder/.last"
done
find "$folder" -type f -size 0 -exec rm {} +

"$UNHANG" diagnose --exit-code "$folder"
code=$?
printf '\nLast lines, the last pod at the end:\n'
sort "$folder/.last"
exit $code
