"""Keeps a Ray cluster of two workers until its standard input ends; prints its address."""

import sys

from ray.cluster_utils import Cluster

cluster = Cluster(
    initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": 200_000_000}
)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
