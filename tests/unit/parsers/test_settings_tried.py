"""Runs of one command with and without a setting, and words on them."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import SettingTried
from unhang.parsers.settings_tried import SettingsTriedParser

COMMAND = "torchrun --nproc_per_node=2 ar.py"
STUCK = [f"$ NCCL_DEBUG=INFO {COMMAND}", "rank 0: all_reduce start", "^C"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("- NCCL_P2P_DISABLE=1 python serve.py : starts, no hang", "NCCL_P2P_DISABLE"),
        ("default hangs; NCCL_LAUNCH_ORDER_IMPLICIT=1: no hang", "NCCL_LAUNCH_ORDER_IMPLICIT"),
        ("with NCCL_IB_DISABLE=1 it works", "NCCL_IB_DISABLE"),
        ("booted with iommu=off: runs fine for days", "iommu"),
    ],
)
def test_words_say_what_cured_it(text: str, name: str) -> None:
    event = only(SettingTried, feed(SettingsTriedParser, text))
    assert (event.name, event.measured) == (name, False)


@pytest.mark.parametrize(
    "text",
    [
        "try NCCL_P2P_DISABLE=1, it works for many",
        "set NCCL_P2P_DISABLE=1 if it works without P2P",
        "NCCL_P2P_DISABLE=1: still hangs, no more than before",
        "NCCL_P2P_DISABLE=0 works",
        "NCCL_P2P_DISABLE=1 python finetune.py --task fine-tune",
        "export NCCL_P2P_DISABLE=1  # works around the driver",
        "does it work with NCCL_IB_DISABLE=1? It works here",
        "NCCL_BUFFSIZE=1 works",
    ],
)
def test_advice_and_failures_say_nothing(text: str) -> None:
    assert feed(SettingsTriedParser, text) == []


def test_two_runs_of_one_command_are_compared() -> None:
    lines = [*STUCK, f"$ NCCL_P2P_DISABLE=1 {COMMAND}", "rank 0: all_reduce done"]
    event = only(SettingTried, feed(SettingsTriedParser, *lines))
    assert (event.name, event.value, event.measured) == ("NCCL_P2P_DISABLE", "1", True)


def test_a_run_that_a_limit_ended_was_stuck() -> None:
    begun = "gpu-07:9701:9807 [0] NCCL INFO ncclCommInitAll comm 0x55 rank 0 - Init COMPLETE"
    stuck = [f"$ timeout 300 {COMMAND}", begun, "Terminated"]
    lines = [*stuck, f"$ NCCL_P2P_DISABLE=1 {COMMAND}", "rank 0: all_reduce done"]
    assert only(SettingTried, feed(SettingsTriedParser, *lines)).measured


@pytest.mark.parametrize(
    "prompt", ["root@node1:~#", "root@node1:/srv/job#", "[root@n1 job]#", "(env) j@n:~$"]
)
def test_any_shell_prompts(prompt: str) -> None:
    lines = [f"{prompt} {COMMAND}    # one call", "rank0: before all_reduce", "^C"]
    cured = [f"{prompt} NCCL_P2P_DISABLE=1 {COMMAND}", "rank1: ok 3.1 ms"]
    assert only(SettingTried, feed(SettingsTriedParser, *lines, *cured)).measured


def test_what_is_exported_counts_for_the_runs_after_it() -> None:
    before = ["$ export NCCL_P2P_DISABLE=0", f"$ {COMMAND}", "^C", "$ export NCCL_P2P_DISABLE=1"]
    done = [f"$ {COMMAND}", "rank1: ok 3.1 ms"]
    assert only(SettingTried, feed(SettingsTriedParser, *before, *done)).value == "1"
    assert feed(SettingsTriedParser, *before, "$ unset NCCL_P2P_DISABLE", *done) == []


@pytest.mark.parametrize(
    "second",
    [
        [f"$ NCCL_P2P_DISABLE=1 {COMMAND}", "rank 0: all_reduce start", "^C"],
        [f"$ NCCL_P2P_DISABLE=1 {COMMAND}", "rank 0: all_reduce start"],
        [f"$ NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1 {COMMAND}", "done"],
        ["$ NCCL_P2P_DISABLE=1 python other.py --x", "done"],
        [f"$ {COMMAND}", "done"],
    ],
)
def test_other_second_runs_tell_nothing(second: list[str]) -> None:
    assert feed(SettingsTriedParser, *STUCK, *second) == []


@pytest.mark.parametrize(("items", "told"), [(40, True), (3, False)])
def test_a_bar_that_comes_farther_is_a_result(items: int, told: bool) -> None:
    begun = "  0%|          | 1/900 [00:09<2:20:01,  9.33s/it]"
    stuck = [f"$ {COMMAND}", begun, "^C after half an hour"]
    bar = f"  4%|▍         | {items}/900 [00:49<17:05,  1.20s/it]"
    found = feed(SettingsTriedParser, *stuck, f"$ NCCL_P2P_DISABLE=1 {COMMAND}", bar)
    assert bool(found) is told


def test_a_first_run_that_was_not_stuck_tells_nothing() -> None:
    lines = [f"$ {COMMAND}", "done", f"$ NCCL_P2P_DISABLE=1 {COMMAND}", "done"]
    assert feed(SettingsTriedParser, *lines) == []
