"""Settings are judged by who reads them, in which release, and what their value means."""

import pytest

from unhang.model.lint import Severity
from unhang.reporters.catalogue import sentences, write
from unhang.settings import SettingContext, judge


def codes(name: str, value: str, **context: object) -> list[str]:
    return [v.code for v in judge(name, value, SettingContext(**context))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("NCCL_TIMEOUT", "1200000", "CFG101"),
        ("NCCL_MAX_RINGS", "8", "CFG101"),
        ("NCCL_IB_MTU", "4096", "CFG101"),
        ("+trainer.dist_backend", "gloo", "CFG101"),
        ("NCCL_IB_RETRY_COUNT", "7", "CFG102"),
        ("NCCL_TREE_THRESHOLD", "0", "CFG103"),
        ("NCCL_CHECKS_DISABLE", "1", "CFG103"),
        ("NCCL_MIN_NRINGS", "4", "CFG104"),
        ("NCCL_GROUP_CUDA_STREAM", "1", "CFG105"),
        ("NCCL_IBEXT_DISABLE", "1", "CFG107"),
        ("NCCL_DEBUG", "WARNING", "CFG108"),
        ("TORCH_NCCL_DESYNC_DEBUG", "on", "CFG108"),
        ("GLOO_SOCKET_IFNAME", "^lo", "CFG108"),
        ("DEEPSPEED_TIMEOUT", "0.5", "CFG108"),
        ("NCCL_P2P_LEVEL", "sys", "CFG109"),
        ("NCCL_P2P_DISABLE", "true", "CFG109"),
        ("ddp_timeout", "1800", "CFG110"),
        ("--ddp_timeout", "1800", "CFG110"),
        ("NCCL_NVLS_ENABLE", "1", "CFG110"),
        ("NCCL_IB_HCA", "mlx5", "CFG110"),
        ("ddp_timeout", "180000000", "CFG111"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", "CFG111"),
        ("TORCH_NCCL_BLOCKING_WAIT", "1", "CFG111"),
        ("TORCH_NCCL_ENABLE_MONITORING", "0", "CFG111"),
        ("NCCL_IB_DISABLE", "1", "CFG113"),
        ("NCCL_IB_TIMEOUT", "32", "CFG114"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "7200", "CFG116"),
        ("DEEPSPEED_TIMEOUT", "5400", "CFG121"),
        ("NCCL_BUFFSIZE", "2097152", "CFG122"),
        ("NCCL_PROTO", "LL128", "CFG123"),
    ],
)
def test_what_is_wrong(name: str, value: str, code: str) -> None:
    assert code in codes(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_DEBUG", "warn"),
        ("NCCL_IB_TIMEOUT", "20"),
        ("NCCL_P2P_LEVEL", "SYS"),
        ("NCCL_NVLS_ENABLE", "0"),
        ("NCCL_IB_HCA", "=mlx5_0,mlx5_1"),
        ("NCCL_IB_DISABLE", "0"),
        ("NCCL_ALGO", "Ring"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "600"),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "true"),
        ("ddp_timeout", "7200"),
        ("DEEPSPEED_TIMEOUT", "120"),
        ("AXOLOTL_NCCL_TIMEOUT", "7200"),
        ("MASTER_ADDR", "localhost"),
        ("NCCL_SOMETHING_NEW_OF_2_33", "1"),
        ("NCCL_DEBUG", ""),
        ("PATH", "/usr/bin"),
    ],
)
def test_what_is_right_or_unknown_is_not_judged(name: str, value: str) -> None:
    assert codes(name, value) == []


def test_every_reason_is_in_the_catalogue() -> None:
    keys = {
        v.reason.key
        for name, value in [("NCCL_TIMEOUT", "1"), ("NCCL_DEBUG", "1"), ("ddp_timeout", "1800")]
        for v in judge(name, value)
    }
    assert keys <= sentences("en").keys()


def test_a_name_that_the_projects_own_code_reads_is_no_myth() -> None:
    assert codes("NCCL_TIMEOUT", "7200", read_by_code=frozenset({"NCCL_TIMEOUT"})) == []


def test_a_variable_may_be_too_new_for_the_release() -> None:
    assert codes("NCCL_RAS_ENABLE", "1", nccl="2.21.5") == ["CFG106"]
    assert codes("NCCL_RAS_ENABLE", "1", nccl="2.27.5") == []
    assert codes("NCCL_TREE_THRESHOLD", "0", nccl="2.4.8") == []


@pytest.mark.parametrize(
    ("nccl", "severity"),
    [
        ("2.27.5", Severity.ERROR),
        ("2.18.3", Severity.ERROR),
        ("2.21.5", None),
        ("2.14.3", None),
        (None, Severity.WARNING),
    ],
)
def test_tree_alone_fails_in_some_releases(nccl: str | None, severity: Severity | None) -> None:
    verdicts = judge("NCCL_ALGO", "Tree", SettingContext(nccl=nccl))
    assert [v.severity for v in verdicts] == ([] if severity is None else [severity])


def test_old_names_are_not_old_in_old_releases() -> None:
    assert codes("NCCL_DESYNC_DEBUG", "1", torch="2.1.2") == []
    assert codes("NCCL_DESYNC_DEBUG", "1", torch="2.6.0") == ["CFG104"]
    assert codes("TORCH_NCCL_DESYNC_DEBUG", "1", torch="2.1.2") == ["CFG106"]


def test_torchrun_overrides_the_old_name() -> None:
    verdict = judge("NCCL_ASYNC_ERROR_HANDLING", "1", SettingContext(torch="2.6.0", torchrun=True))[
        0
    ]
    assert verdict.futile
    assert verdict.replacement == "TORCH_NCCL_ASYNC_ERROR_HANDLING"


def test_the_recorder_needs_both_names_in_three_releases() -> None:
    assert codes("TORCH_FR_BUFFER_SIZE", "2000", torch="2.9.1") == ["CFG112"]
    both = {"TORCH_FR_BUFFER_SIZE": "2000", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"}
    assert codes("TORCH_FR_BUFFER_SIZE", "2000", torch="2.9.1", others=both) == []
    assert codes("TORCH_FR_BUFFER_SIZE", "2000", torch="2.11.0") == []
    assert codes("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", torch="2.6.0") == []


def test_the_expired_value_is_rejected() -> None:
    verdicts = judge("ddp_timeout", "3600", SettingContext(expired_ms=3_600_000))
    assert verdicts[0].futile
    assert "1 h" in write(verdicts[0].reason)
    assert judge("ddp_timeout", "7200", SettingContext(expired_ms=3_600_000)) == ()
    assert judge("DEEPSPEED_TIMEOUT", "60", SettingContext(expired_ms=3_600_000))[0].futile


def test_deepspeeds_variable_does_not_reach_its_own_copy_of_the_world() -> None:
    verdicts = judge("DEEPSPEED_TIMEOUT", "120", SettingContext(expired_ms=600_000))
    assert verdicts[0].reason.key == "advice.deepspeed_clone"
    assert codes("DEEPSPEED_TIMEOUT", "120", framework="trl") == ["CFG120"]


@pytest.mark.parametrize(
    ("key", "version", "topic"),
    [
        ("actor_rollout_ref.nccl_timeout", "0.8.0", "advice.verl_dead"),
        ("+actor_rollout_ref.nccl_timeout", "0.3.1", "advice.verl_dead"),
        ("+actor_rollout_ref.nccl_timeout", "0.7.1", "advice.verl_plus"),
        ("++actor_rollout_ref.nccl_timeout", "0.7.1", None),
        ("actor_rollout_ref.nccl_timeout", "0.6.0", None),
        ("actor_rollout_ref.nccl_timeout", None, "advice.verl_by_release"),
    ],
)
def test_verls_key_by_release(key: str, version: str | None, topic: str | None) -> None:
    verdicts = judge(key, "1200", SettingContext(framework="verl", framework_version=version))
    assert [v.reason.key for v in verdicts] == ([] if topic is None else [topic])


def test_who_makes_the_group_first_wins() -> None:
    beside = frozenset({"axolotl", "deepspeed"})
    axolotl = SettingContext(framework="axolotl", framework_version="0.18.0", frameworks=beside)
    assert judge("ddp_timeout", "7200", axolotl)[0].reason.key == "advice.axolotl_first"
    assert judge("ddp_timeout", "7200", axolotl)[0].futile
    repaired = SettingContext(framework="axolotl", framework_version="0.19.0", frameworks=beside)
    assert judge("ddp_timeout", "7200", repaired) == ()
    unknown = SettingContext(framework="axolotl", frameworks=beside)
    assert not judge("ddp_timeout", "7200", unknown)[0].futile
    ray = SettingContext(framework="transformers", frameworks=frozenset({"ray-train"}))
    assert judge("ddp_timeout", "7200", ray)[0].reason.key == "advice.ray_first"


def test_nemo_does_read_the_heartbeat_as_a_timeout() -> None:
    nemo = {"framework": "nemo", "framework_version": "2.4.0"}
    assert codes("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "3600", **nemo) == []


def test_local_names_on_several_hosts() -> None:
    assert codes("MASTER_ADDR", "127.0.0.1", nodes=2) == ["CFG117"]
    assert codes("MASTER_ADDR", "127.0.0.1", nodes=1) == []
    assert codes("NCCL_SOCKET_IFNAME", "lo", nodes=2) == ["CFG117"]
    assert codes("GLOO_SOCKET_IFNAME", "lo", nodes=2) == ["CFG117"]


def test_two_slow_paths_are_said_together() -> None:
    others = {"NCCL_IB_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}
    verdict = judge("NCCL_P2P_DISABLE", "1", SettingContext(others=others))[0]
    assert verdict.reason.key == "advice.slow_paths"
    assert "NCCL_IB_DISABLE" in write(verdict.reason)
