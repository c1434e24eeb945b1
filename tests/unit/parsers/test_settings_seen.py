"""Settings in force or asked for."""

import pytest

from support.feeding import feed
from unhang.model.events import SettingSeen
from unhang.parsers.settings_seen import SettingParser


def settings(text: str) -> dict[str, str]:
    return {e.name: e.value for e in feed(SettingParser, text) if isinstance(e, SettingSeen)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export NCCL_TIMEOUT=7200", {"NCCL_TIMEOUT": "7200"}),
        (
            "env: NCCL_BLOCKING_WAIT=1 NCCL_IB_DISABLE=1 torchrun --nproc_per_node 8 train.py",
            {"NCCL_BLOCKING_WAIT": "1", "NCCL_IB_DISABLE": "1"},
        ),
        (
            "'TORCH_NCCL_ASYNC_ERROR_HANDLING': '1',",
            {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"},
        ),
        (
            'MASTER_ADDR="10.0.0.5" MASTER_PORT=29500',
            {"MASTER_ADDR": "10.0.0.5", "MASTER_PORT": "29500"},
        ),
        ("python train.py --ddp_timeout 180000 --bf16", {"ddp_timeout": "180000"}),
        ("ddp_timeout=1800,", {"ddp_timeout": "1800"}),
        ("ddp_timeout: 7200", {"ddp_timeout": "7200"}),
        (
            "+actor_rollout_ref.nccl_timeout=1200",
            {"actor_rollout_ref.nccl_timeout": "1200"},
        ),
        ("--distributed-timeout-minutes 60", {"distributed-timeout-minutes": "60"}),
        (
            'init_process_group("nccl", timeout=timedelta(hours=2))',
            {"timeout": "timedelta(hours=2)"},
        ),
        (
            "timed out in blocking wait (NCCL_BLOCKING_WAIT=1).",
            {"NCCL_BLOCKING_WAIT": "1"},
        ),
    ],
)
def test_a_setting(text: str, found: dict[str, str]) -> None:
    assert settings(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "unhandled system error (run with NCCL_DEBUG=WARN for details)",
        "You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "you can set TORCH_NCCL_ENABLE_MONITORING=0 to disable it",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.",
        "NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth1",
    ],
)
def test_advice_is_in_force_nowhere(text: str) -> None:
    assert settings(text) == {}
