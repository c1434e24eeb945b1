"""Pseudonyms: stable, of the same kind, and nothing of the name is left."""

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.capturing.hosts import names_of
from unhang.capturing.job_on_node import JobOnNode
from unhang.capturing.processes import JobProcess, ProcessRole
from unhang.model.diagnosis import Diagnosis, Outcome, StoryItem
from unhang.model.host_lists import expand_hosts
from unhang.model.provenance import Message, Provenance
from unhang.redaction import Pseudonyms, Redactor
from unhang.sources.hints import origin_of

KEY = b"a key of the test"
NAMES = Pseudonyms({"gpu-07.cluster.example", "trainbox"}, {"alice"}, KEY)


def told(text: str, names: Pseudonyms = NAMES) -> str:
    return Redactor(names=names).text(text)


def test_hosts_users_addresses_and_folders_go() -> None:
    text = told(
        "gpu-07:4711:4890 [0] NCCL INFO Bootstrap : Using eth0:10.128.3.7<0>\n"
        "alice@example.org on trainbox in /home/alice/secret-project/runs/train.py:12\n"
        "fe80::a236:9fff:fe12:3456 and 2001:41d0:8:5e::1 and 127.0.0.1:29500\n"
    )
    for name in ("gpu-07", "10.128.3.7", "alice", "trainbox", "secret-project", "9fff", "41d0"):
        assert name not in text
    assert "NCCL INFO Bootstrap : Using eth0:" in text
    assert "/train.py:12" in text
    assert "127.0.0.1:29500" in text


def test_code_of_packages_and_of_the_system_stays_readable() -> None:
    text = told(
        'File "/home/alice/venv/lib/python3.12/site-packages/torch/serialization.py", line 944\n'
        "/proc/4711/stack /usr/lib/libc.so.6 ncclUniqueId from /pytorch/torch/csrc/x.cpp:1\n"
        "3/4 done, and/or 12:30:01 1.2.3 torch 2.9.1+cu128"
    )
    assert "/lib/python3.12/site-packages/torch/serialization.py" in text
    assert "/proc/4711/stack /usr/lib/libc.so.6" in text
    assert text.endswith("3/4 done, and/or 12:30:01 1.2.3 torch 2.9.1+cu128")


def test_a_name_has_one_pseudonym_in_all_bundles_of_one_key() -> None:
    other = Pseudonyms({"gpu-07"}, (), KEY)
    assert NAMES.host("gpu-07") == other.host("gpu-07") == NAMES.host("gpu-07.cluster.example")
    assert NAMES.host("gpu-07") != Pseudonyms((), (), b"another key").host("gpu-07")
    assert NAMES.host("gpu-07") != NAMES.host("gpu-08")


def test_a_reader_takes_a_pseudonym_for_a_host() -> None:
    name = NAMES.host("gpu-07")
    assert origin_of(f"{name}.log").host == name
    assert origin_of(f"b.unhang.tar.zst!host={name}/rank_3/proc.txt").host == name


@given(st.integers(1 << 24, (1 << 32) - 1))
def test_an_address_becomes_one_that_nobody_uses(number: int) -> None:
    address = str(ipaddress.IPv4Address(number))
    new = NAMES.address(address)
    assert NAMES.address(new) == new
    if not ipaddress.ip_address(new).is_loopback:
        assert ipaddress.ip_address(new).is_reserved or address.startswith(("255.255.255",))


@given(st.lists(st.sampled_from(["gpu-07", "alice", "10.1.2.3", "/home/alice/x/y.py", "ok", "\n"])))
def test_replacing_twice_changes_nothing(parts: list[str]) -> None:
    once = told(" ".join(parts))
    assert told(once) == once
    assert not re.search(r"gpu-07|alice|10\.1\.2\.3", once)


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("gpu-[07-08,11],login1", {"gpu-07", "gpu-08", "gpu-11", "login1"}),
        ("n1 n2\nn3", {"n1", "n2", "n3"}),
        ("rack[1-2]-ib", {"rack1-ib", "rack2-ib"}),
        ("", set()),
        ("broken[", {"broken["}),
    ],
)
def test_hosts_of_a_scheduler(nodes: str, names: set[str]) -> None:
    assert set(expand_hosts(nodes)) == names


def test_the_environment_tells_names() -> None:
    environment = {
        "MASTER_ADDR": "gpu-07",
        "SLURM_JOB_NODELIST": "gpu-[07-09]",
        "USER": "alice",
        "HOME": "/mnt/homes/al",
    }
    process = JobProcess(
        pid=1,
        parent=0,
        state="S",
        name="python",
        started_s=0.0,
        environment=environment,
        role=ProcessRole.RANK,
    )
    hosts, users = names_of(JobOnNode(host="gpu-08", processes=(process,)))
    assert {"gpu-07", "gpu-08", "gpu-09"} <= hosts
    assert {"alice", "al"} <= users


NAMED = """\
gpu-07:4711:4890 [0] NCCL INFO Bootstrap : Using eth0:10.128.3.7<0>
gpu-08.cluster.example.com:4711:4890 [1] NCCL INFO comm 0x55 rank 1
SLURM_JOB_NODELIST=a100-[01-03]
srun: error: a100-02: task 3: Killed
Mar  1 12:00:01 trainbox2 kernel: NVRM: Xid (PCI:0000:4e:00): 79
link/ether 7c:fe:90:12:34:56 brd ff:ff:ff:ff:ff:ff
node_guid: 7cfe:9003:0012:3456 and Port GUID: 0x7cfe900300123456
GPU 0: H100 (UUID: GPU-8a56a4bc-1f2e-4d3c-9b8a-7c6d5e4f3a2b)
s3://corp-bucket/team-x/shard.tar abfss://cont9@acct9.dfs.core.windows.net/team-x/b.bin
https://corp-bucket.s3.us-east-1.amazonaws.com/y.pt gs://corp-bucket/y.pt
arn:aws:iam::123456789012:role/TrainRole 123456789012.dkr.ecr.us-east-1.amazonaws.com/img:1
bob7@gpu-07:~$ ssh bob7@a100-01 ls /home/alice9/proj/x.py
ip-10-1-2-3.us-west-2.compute.internal and https://mlflow.corp.internal:5000/api
wandb: View run at https://wandb.ai/lab-team/llm/runs/1
sbatch --account=proj42 train.sh; uid=1000(carol5)
later: gpu-08 lost trainbox2, A100-03 left, lab-team and proj42 and carol5 remain
"""
GONE = (
    *("gpu-07", "gpu-08", "a100-02", "A100-03", "trainbox2", "10.128.3.7", "7c:fe:90", "7cfe9003"),
    *("7cfe:9003", "8a56a4bc", "corp-bucket", "team-x", "cont9", "acct9", "123456789012"),
    *("TrainRole", "bob7", "alice9", "10-1-2-3", "mlflow", "corp.internal", "lab-team", "proj42"),
    "carol5",
)


def test_every_kind_of_name_goes_and_stays_the_same() -> None:
    redactor = Redactor(names=Pseudonyms((), (), KEY))
    redactor.learn(NAMED)
    text = redactor.text(NAMED)
    assert [name for name in GONE if name.lower() in text.lower()] == []
    assert redactor.text(text) == text
    assert len(re.findall(redactor.host("gpu-08"), text)) == 2, "full and short name are one host"
    assert redactor.host("gpu-08.cluster.example.com") == redactor.host("GPU-08")
    guid = re.search(r"node_guid: (\S+) and Port GUID: 0x(\w+)", text)
    assert guid is not None
    assert guid[1].replace(":", "") == guid[2], "one identifier, however it is written"
    for kept in ("NCCL INFO Bootstrap : Using eth0:", "PCI:0000:4e:00", "shard.tar", "wandb.ai"):
        assert kept in text
    assert set(redactor.counts) >= {"host", "address", "bucket", "account", "identifier", "user"}


def test_a_report_without_names() -> None:
    from unhang.reporters import redacted

    evidence = Provenance(artifact="logs/host=gpu-07/rank_3.log", line=4, text="gpu-07 is gone")
    verdict = Diagnosis(
        outcome=Outcome.UNDETERMINED,
        summary=Message(key="summary.undetermined", values={}),
        culprit_hosts=frozenset({"gpu-07"}),
        story=(
            StoryItem(
                at=None, ranks=frozenset(), what=Message(key="x", values={}), evidence=evidence
            ),
        ),
    )
    told = redacted(verdict, Redactor(names=Pseudonyms((), (), KEY)))
    assert told.culprit_hosts == {NAMES.host("gpu-07")}
    assert "gpu-07" not in repr(told)
