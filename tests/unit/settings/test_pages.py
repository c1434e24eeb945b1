"""Every piece of advice in circulation has its page, with what to think of it."""

import pytest

from unhang.reporters.catalogue import sentences, write
from unhang.settings import page


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_TIMEOUT",
        "NCCL_ALGO",
        "ddp_timeout",
        "--ddp_timeout",
        "ddp_timeout=1800",
        "NCCL_IBEXT_DISABLE=1",
        "NCCL_NVLS_ENABLE=1",
        "NCCL_DEBUG=WARN",
        "NCCL_MAX_RINGS",
        "NCCL_MIN_NRINGS",
        "NCCL_BUFFSIZE=2097152",
        "NCCL_IB_HCA=mlx5",
        "NCCL_IB_TC=106",
        "NCCL_IB_MTU",
        "NCCL_P2P_DISABLE",
        "+actor_rollout_ref.nccl_timeout",
        "+trainer.dist_backend=gloo",
        "diagnose.py --check-nccl",
        "rollout_viewer.py --timeline",
        "535.104.05",
        "gloo",
        "NCCL_BLOCKING_WAIT",
        "NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
        "TORCH_FR_BUFFER_SIZE",
        "DEEPSPEED_TIMEOUT",
        "nccl_tree_threshold",
    ],
)
def test_advice_has_a_verdict_and_a_source(name: str) -> None:
    found = page(name)
    assert found is not None
    assert found.source
    assert found.verdict is not None
    assert found.verdict.key in sentences("en")
    assert "{" not in write(found.verdict)


def test_a_myth_has_no_reader() -> None:
    found = page("NCCL_TIMEOUT")
    assert found is not None
    assert found.reader is None
    assert found.use is not None


def test_a_setting_tells_its_releases() -> None:
    found = page("NCCL_TREE_THRESHOLD")
    assert found is not None
    assert (found.reader, found.last, found.use) == ("nccl", "2.4.8", "NCCL_ALGO")


def test_a_timeout_key_lists_how_frameworks_write_it() -> None:
    found = page("ddp_timeout")
    assert found is not None
    assert {k.framework for k in found.timeout_knobs} >= {"transformers", "trl", "axolotl"}


def test_a_frameworks_key() -> None:
    key = "zero_optimization.stage3_gather_16bit_weights_on_model_save"
    for name in (key, "stage3_gather_16bit_weights_on_model_save"):
        found = page(name)
        assert found is not None
        assert (found.name, found.reader) == (key, "deepspeed")


def test_an_unknown_name_is_compared_or_unknown() -> None:
    found = page("NCCL_SOCKET_IFNAM")
    assert found is not None
    assert found.similar[0] == "NCCL_SOCKET_IFNAME"
    assert page("nothing like it") is None
