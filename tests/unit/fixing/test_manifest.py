"""Variables in manifests, Dockerfiles and files of variables."""

import pytest
import yaml

from support.manifests import pytorch_job
from unhang.fixing.editors import manifest, variables
from unhang.fixing.refusal import Refusal

TOLD = "image: registry/train:1\nenv:\n  - name: NCCL_DEBUG\n    value: "
JOB = pytorch_job(master=f"{TOLD}WARN  # quiet\ncommand: [torchrun]\n", worker=f'{TOLD}"WARN"\n')


def test_master_and_workers_get_a_variable_together() -> None:
    after = manifest.set_variable(JOB, "NCCL_IB_DISABLE", "1")
    entry = '                - name: NCCL_IB_DISABLE\n                  value: "1"\n'
    assert after.count(entry) == 2
    assert after.replace(entry, "") == JOB
    assert yaml.safe_load(after) != yaml.safe_load(JOB)
    assert manifest.set_variable(after, "NCCL_IB_DISABLE", "1") == after


def test_a_variable_is_changed_wherever_it_stands() -> None:
    after = manifest.set_variable(JOB, "NCCL_DEBUG", "INFO")
    assert after == JOB.replace("WARN  #", "INFO  #").replace('"WARN"', '"INFO"')


def test_containers_of_several_images_are_several_jobs() -> None:
    other = JOB.replace("train:1", "proxy:2", 1)
    with pytest.raises(Refusal, match="2 lists"):
        manifest.set_variable(other, "NCCL_IB_DISABLE", "1")
    with pytest.raises(Refusal, match="2 lists"):
        manifest.set_variable(other, "NCCL_DEBUG", "INFO")


def test_values_that_differ_are_left_alone() -> None:
    with pytest.raises(Refusal, match="to different values"):
        manifest.set_variable(JOB.replace('"WARN"', '"INFO"'), "NCCL_DEBUG", "TRACE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("services:\n  t:\n    environment:\n      A: 1\n", '      A: 1\n      NEW: "7"\n'),
        ("services:\n  t:\n    environment:\n      - A=1\n", "      - A=1\n      - NEW=7\n"),
        ("envs:\n  A: x\n  NEW: 3\nrun: go\n", 'A: x\n  NEW: "7"\nrun'),
        ("services:\n  t:\n    environment:\n    - NEW=3\n", "    - NEW=7\n"),
    ],
)
def test_other_ways_to_say_it(text: str, expected: str) -> None:
    assert expected in manifest.set_variable(text, "NEW", "7")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Job\n", "no list of variables"),
        ("a: [\n", "parse"),
        ("envs: {A: 1}\n", "by hand"),
        ("env:\n  - name: NEW\n    valueFrom: {x: y}\n", "no plain value"),
    ],
)
def test_a_manifest_without_a_plain_place_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        manifest.set_variable(text, "NEW", "7")


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("A=1\nNEW=3\n", "A=1\nNEW=7\n"),
        ("A=1", "A=1\nNEW=7\n"),
        ("", "NEW=7\n"),
        ("export NEW = 3\n", "export NEW = 7\n"),
        ("# NEW=3\n", "# NEW=3\nNEW=7\n"),
    ],
)
def test_a_file_of_variables(text: str, after: str) -> None:
    assert variables.set_variable(text, "NEW", "7") == after


def test_a_variable_said_twice_or_computed_is_refused() -> None:
    with pytest.raises(Refusal, match="2 times"):
        variables.set_variable("NEW=1\nNEW=2\n", "NEW", "7")
    with pytest.raises(Refusal, match="computes"):
        variables.set_variable("NEW=$OLD\n", "NEW", "7")


DOCKER = 'FROM a AS build\nENV X=1\nFROM b\nENV A=1 \\\n    B=2\nRUN make\nCMD ["x"]\n'


@pytest.mark.parametrize(
    ("text", "name", "after"),
    [
        (DOCKER, "NEW", DOCKER.replace("B=2\n", "B=2\nENV NEW=7\n")),
        (DOCKER, "B", DOCKER.replace("B=2", "B=7")),
        ("FROM a\nRUN x\nCMD y\n", "NEW", "FROM a\nRUN x\nENV NEW=7\nCMD y\n"),
        ("FROM a\nENV NEW 3\n", "NEW", "FROM a\nENV NEW 7\n"),
        ("FROM a", "NEW", "FROM a\nENV NEW=7\n"),
    ],
)
def test_a_dockerfile(text: str, name: str, after: str) -> None:
    assert variables.set_docker_variable(text, name, "7") == after


def test_a_file_that_is_no_dockerfile_is_refused() -> None:
    with pytest.raises(Refusal, match="no FROM"):
        variables.set_docker_variable("RUN x\n", "NEW", "7")
