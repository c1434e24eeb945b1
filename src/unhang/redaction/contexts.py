"""Finds names of hosts, users and accounts by what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.model.host_lists import expand_hosts

_NAME = r"[A-Za-z0-9](?:[\w-]{0,62})(?:\.[A-Za-z0-9][\w-]{0,62}){0,6}"
_RANGE = r"\d{1,9}(?:-\d{1,9})?"

_HOSTS = tuple(
    re.compile(pattern.replace("<NAME>", rf"(?P<name>{_NAME})"), re.MULTILINE)
    for pattern in (
        r"(?<![\w.:-])<NAME>:\d{1,8}:\d{1,8} \[\w*\] NCCL ",
        r"(?i)\bhost(?:name)?\\?[\"']?\s{0,8}[:=]\s{0,4}\\?[\"']?<NAME>",
        r"\b(?:MASTER_ADDR|HOSTNAME|\w*NODENAME|NODE_NAME|POD_NAME|RAY_HEAD\w*|SUBMIT_HOST|HOST)\\?[\"']?\s?[=:]\s?\\?[\"']?<NAME>",
        r"\bsrun: error: <NAME>: ",
        r"\bslurmstepd(?:-<NAME>)?: error: ",
        r"(?i)\b(?:CANCELLED|running|step|job \d+) ON <NAME>",
        r"(?i)\bon (?:host|node|machine) <NAME>",
        r"(?i)\bnodes?[=/]<NAME>",
        r"(?i)\b(?:pod|node)/<NAME>",
        r"\bssh (?:-\S+ (?:\S+ )?){0,6}(?:[\w.-]{1,64}@)?<NAME>",
        r"\b[\w.-]{1,64}@<NAME>(?=[:\s'\"$~])",
        r"(?:tcp|nccl|grpc|ray|redis|amqps?|postgres\w*|mysql|mongodb|ssh)://(?:[^\s/@]{1,100}@)?<NAME>",
        r"\bhttps?://(?:[^\s/@]{1,100}@)?<NAME>(?=[:/\s\"']|$)",
        r"(?i)\b(?:endpoint|rdzv[_-]endpoint|master[_-]addr|coordinator|address)\\?[\"']?"
        r"\s{0,3}[:= ]\s{0,3}\\?[\"']?<NAME>:\d",
        r"^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S{8,40}) <NAME> "
        r"(?:kernel|[\w.-]{1,40}\[\d+\]|slurmd|systemd):?",
        r"^\[<NAME>:\d{2,8}\](?: \*\*\*|\s+\[|:| PMIX| mca)",
        r"\[<NAME>:\d{2,8}\] \*\*\*",
    )
)
BRACKETS = re.compile(
    rf"(?P<stem>[\w.-]*?)\[(?P<ranges>{_RANGE}(?:,{_RANGE}){{0,2000}})\](?P<rest>[\w.-]*)"
)
_LIST = re.compile(
    r"(?:NODELIST|NodeList|nodelist|LSB_HOSTS|nodes)\\?[\"']?[=:]\s?\\?[\"']?(?P<list>[\w.,\[\]-]{2,4000})"
)
_USERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"/(?:home|Users|users|scratch|work|lustre/\w+|gpfs/\w+|nfs/users)/(?P<name>[a-z][\w.-]{1,63})/",
        r"\b(?:USER|LOGNAME|USERNAME|SLURM_JOB_USER|SUDO_USER|NB_USER)\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[\w.-]{2,64})",
        r"\buid=\d+\((?P<name>[\w.-]{2,64})\)",
        r"\bUserId=(?P<name>[\w.-]{2,64})\(",
        r"(?i)\b(?:logged in as:?|login as|user=|username=|--user[= ])\s?[\"']?"
        r"(?P<name>[A-Za-z][\w.-]{1,63})",
        r"(?<![\w.-])(?P<name>[a-z][\w.-]{1,63})@[\w-]{1,63}(?=[:\s'\"$~])",
        r"\bfor user [\"'](?P<name>[\w.-]{2,64})[\"']",
    )
)
_ACCOUNTS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:SLURM_JOB_ACCOUNT|SBATCH_ACCOUNT|GOOGLE_CLOUD_PROJECT|GCP_PROJECT|"
        r"CLOUDSDK_CORE_PROJECT|AWS_ACCOUNT_ID|WANDB_ENTITY|AZURE_STORAGE_ACCOUNT)"
        r"\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[\w.-]{2,64})",
        r"(?:--account[= ]|\bAccount=|\bAccountName=|\baccount_name[\"']?\s?[=:]\s?[\"']?"
        r"|\bsbatch -A |\bsrun -A )(?P<name>[\w.-]{2,64})",
        r"\bprojects/(?P<name>[a-z][\w-]{3,40})/",
        r"\b(?:project_id|projectId|gcp_project)\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[a-z][\w-]{3,40})",
        r"\bwandb\.ai/(?P<name>[\w-]{2,64})/",
        r"\bentity\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[\w-]{2,64})",
        r"\barn:aws[\w-]{0,10}:iam::\d{12}:\w+/(?P<name>[\w+=,.@-]{2,64})",
    )
)
_BUCKETS = re.compile(
    r"\bbucket(?:_name)?\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[a-z0-9][a-z0-9.-]{2,62})(?![\w/])"
)


def find_hosts(text: str) -> Iterator[str]:
    """Yield names of hosts."""
    for pattern in _HOSTS:
        for match in pattern.finditer(text):
            if match["name"] is not None:
                yield match["name"].rstrip(".-_")
    for match in _LIST.finditer(text):
        yield from expand_hosts(match["list"])


def find_users(text: str) -> Iterator[str]:
    """Yield names of users."""
    return (match["name"] for pattern in _USERS for match in pattern.finditer(text))


def find_accounts(text: str) -> Iterator[str]:
    """Yield names of accounts, projects and buckets."""
    return (match["name"] for pattern in _ACCOUNTS for match in pattern.finditer(text))


def find_buckets(text: str) -> Iterator[str]:
    """Yield names of buckets."""
    return (match["name"] for match in _BUCKETS.finditer(text))
