"""From what the job says of itself to the names of hosts and users in it."""

from __future__ import annotations

import os
import re

from unhang.capturing.job_on_node import JobOnNode
from unhang.model.host_lists import expand_hosts

_HOST_VARIABLE = re.compile(
    r"(?:^|_)(?:HOST|HOSTNAME|NODENAME|NODE_NAME|POD_NAME|CONTAINER_NAME|MASTER_ADDR|SUBMIT_HOST"
    r"|RDZV_ENDPOINT|RAY_ADDRESS)$"
)
_HOST_LISTS = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "LSB_HOSTS", "PBS_NODEFILE")
_USER_VARIABLES = ("USER", "LOGNAME", "SLURM_JOB_USER", "USERNAME", "SUDO_USER", "NB_USER")


def names_of(job: JobOnNode) -> tuple[frozenset[str], frozenset[str]]:
    """Names of hosts and of users."""
    hosts = {job.host}
    users: set[str] = set()
    environments = [p.environment for p in job.processes if p.environment is not None]
    for environment in (*environments, os.environ):
        named = (v for n, v in environment.items() if _HOST_VARIABLE.search(n) is not None)
        hosts.update(value.partition(":")[0] for value in named)
        for name in _HOST_LISTS:
            hosts.update(expand_hosts(environment.get(name, "")))
        users.update(environment.get(name, "") for name in _USER_VARIABLES)
        users.add(environment.get("HOME", "").rpartition("/")[2])
    if job.run_folder is not None:
        hosts.update(_of_agents(job))
    addresses = {host for host in hosts if re.fullmatch(r"[\d.]*|.*:.*", host)}
    return frozenset(hosts - addresses), frozenset(users - {""})


def _of_agents(job: JobOnNode) -> set[str]:
    """The other nodes of a run have left their heartbeats in its folder."""
    assert job.run_folder is not None
    try:
        return {path.stem for path in (job.run_folder / "agents").iterdir()}
    except OSError:
        return set()
