"""Pseudonyms: stable, of the same kind, and nothing of the name is left."""

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.collect.hosts import expand, names_of
from unhang.collect.processes import Process, Role
from unhang.collect.redaction import Pseudonyms, Redactor
from unhang.collect.scene import Scene
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
        "3/4 done, and/or s3://bucket/key 12:30:01 1.2.3 torch 2.9.1+cu128"
    )
    assert "/lib/python3.12/site-packages/torch/serialization.py" in text
    assert "/proc/4711/stack /usr/lib/libc.so.6" in text
    assert text.endswith("3/4 done, and/or s3://bucket/key 12:30:01 1.2.3 torch 2.9.1+cu128")


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
    assert expand(nodes) == names


def test_the_environment_tells_names() -> None:
    environment = {
        "MASTER_ADDR": "gpu-07",
        "SLURM_JOB_NODELIST": "gpu-[07-09]",
        "USER": "alice",
        "HOME": "/mnt/homes/al",
    }
    process = Process(
        pid=1,
        parent=0,
        state="S",
        name="python",
        started_s=0.0,
        environment=environment,
        role=Role.RANK,
    )
    hosts, users = names_of(Scene(host="gpu-08", processes=(process,)))
    assert {"gpu-07", "gpu-08", "gpu-09"} <= hosts
    assert {"alice", "al"} <= users
