"""Every myth and trap that is known of a setting: one row each, with what is said of it."""

from typing import TypeAlias

import pytest

from unhang import explain
from unhang.model.lint import Severity
from unhang.reporters.catalogue import sentence, sentences
from unhang.reporters.explain import render_explanation
from unhang.settings import SettingContext, judge
from unhang.settings.versions import at_least

E, W, I = Severity.ERROR, Severity.WARNING, Severity.INFO  # noqa: E741

Trap: TypeAlias = tuple[str, str, dict[str, object], Severity, str]


def verl(plus: str, version: str | None, severity: Severity, topic: str) -> Trap:
    context: dict[str, object] = {"framework": "verl", "framework_version": version}
    return f"{plus}actor_rollout_ref.nccl_timeout", "1200", context, severity, topic


TRAPS: list[Trap] = [
    # Nobody reads them.
    ("NCCL_TIMEOUT", "1200000", {}, W, "timeout_env"),
    ("NCCL_COMM_TIMEOUT", "60", {}, W, "timeout_env"),
    ("NCCL_SOCKET_TIMEOUT", "60", {}, W, "unread"),
    ("NCCL_MAX_RINGS", "8", {}, W, "max_rings"),
    ("NCCL_MIN_RINGS", "8", {}, W, "max_rings"),
    ("NCCL_IB_MTU", "4096", {}, W, "ib_mtu"),
    ("+trainer.dist_backend", "gloo", {}, W, "verl_backend"),
    ("--check-nccl", "1", {"framework": "verl"}, W, "verl_check_nccl"),
    ("--timeline", "x", {"framework": "verl"}, W, "verl_timeline"),
    ("timeout", "60", {"frameworks": frozenset({"deepspeed-json"})}, W, "deepspeed_json_timeout"),
    # Misspelt.
    ("NCCL_IB_RETRY_COUNT", "7", {}, W, "misspelt"),
    ("NCCL_BUFFER_SIZE", "1", {}, W, "misspelt"),
    ("NCCL_DEBUG_LEVEL", "INFO", {}, W, "misspelt"),
    ("NCCL_NVLS_DISABLE", "1", {}, W, "misspelt"),
    ("ddp_time_out", "7200", {}, W, "misspelt"),
    ("--distributed-timeout-minute", "60", {}, W, "misspelt"),
    # Gone, renamed, never consulted, too new.
    ("NCCL_TREE_THRESHOLD", "0", {}, W, "obsolete_use"),
    ("NCCL_LL_THRESHOLD", "0", {}, W, "obsolete_use"),
    ("NCCL_THREAD_THRESHOLD", "0", {}, W, "obsolete_use"),
    ("NCCL_RINGS", "0", {}, W, "obsolete_use"),
    ("NCCL_SINGLE_RING_THRESHOLD", "0", {}, W, "obsolete_always"),
    ("NCCL_CHECKS_DISABLE", "1", {}, W, "obsolete_always"),
    ("NCCL_IB_CUDA_SUPPORT", "1", {}, W, "obsolete_use"),
    ("NCCL_IB_GDR_LEVEL", "1", {}, W, "obsolete_use"),
    ("NCCL_SHM_USE_CUDA_MEMCPY", "1", {"nccl": "2.30.7"}, W, "obsolete"),
    ("NCCL_SHM_MEMCPY_MODE", "1", {"nccl": "2.30.7"}, W, "obsolete"),
    ("NCCL_CREATE_THREAD_CONTEXT", "1", {"nccl": "2.30.7"}, W, "obsolete"),
    ("NCCL_MAX_NRINGS", "8", {}, I, "renamed"),
    ("NCCL_MIN_NRINGS", "4", {}, I, "renamed"),
    ("NCCL_MIN_NCHANNELS", "4", {}, I, "renamed"),
    ("NCCL_CHECK_POINTERS", "1", {"nccl": "2.30.7"}, I, "renamed"),
    ("NCCL_GROUP_CUDA_STREAM", "1", {}, I, "declared_only"),
    ("NCCL_GRAPH_HELPER_DISABLE", "1", {}, I, "declared_only"),
    ("NCCL_ALLOC_P2P_NET_LL_BUFFERS", "1", {"nccl": "2.15.5"}, W, "too_new"),
    ("NCCL_BLOCKING_WAIT", "0", {"torch": "2.6.0"}, I, "renamed"),
    ("NCCL_DESYNC_DEBUG", "1", {"torch": "2.6.0"}, I, "renamed"),
    ("NCCL_ENABLE_TIMING", "1", {"torch": "2.6.0"}, I, "renamed"),
    (
        "NCCL_ASYNC_ERROR_HANDLING",
        "0",
        {"torch": "2.6.0", "torchrun": True},
        W,
        "overridden_by_torchrun",
    ),
    (
        "evaluation_strategy",
        "steps",
        {"framework": "transformers", "framework_version": "5.1.0"},
        W,
        "key_renamed",
    ),
    ("evaluation_strategy", "steps", {"framework": "trl"}, I, "key_renamed"),
    (
        "save_safetensors",
        "true",
        {"framework": "transformers", "framework_version": "5.1.0"},
        W,
        "key_gone",
    ),
    (
        "save_only_model",
        "true",
        {"framework": "transformers", "framework_version": "4.30.0"},
        W,
        "key_new",
    ),
    # Read by somebody else only.
    ("NCCL_IBEXT_DISABLE", "1", {}, I, "plugin_only"),
    ("NCCL_IBEXT_DISABLE", "1", {"plugin": False}, W, "plugin_only"),
    ("NCCL_SHARP_DISABLE", "1", {}, I, "plugin_only"),
    ("NCCL_UCX_TLS", "rc", {}, I, "plugin_only"),
    # Values that are refused, ignored, or silence the library.
    *(("NCCL_DEBUG", word, {}, E, "debug_word") for word in ("WARNING", "ERROR", "DEBUG", "1")),
    ("NCCL_DEBUG_SUBSYS", "NETWORK", {}, W, "subsystem_word"),
    ("NCCL_DEBUG_FILE", "/tmp/nccl.%r.log", {}, W, "debug_file"),
    ("TORCH_NCCL_DESYNC_DEBUG", "on", {}, E, "boolean_word"),
    ("TORCH_NCCL_DUMP_ON_TIMEOUT", "2", {}, E, "boolean_word"),
    ("NCCL_P2P_LEVEL", "sys", {}, W, "lower_case"),
    ("NCCL_NET_GDR_LEVEL", "phb", {}, W, "lower_case"),
    *(("NCCL_P2P_DISABLE", word, {}, I, "only_one_counts") for word in ("0", "true", "yes")),
    ("NCCL_MIN_CTAS", "many", {}, W, "no_number"),
    ("NCCL_IB_TIMEOUT", "20s", {}, W, "no_number"),
    ("GLOO_SOCKET_IFNAME", "^lo", {}, E, "gloo_exact"),
    ("DEEPSPEED_TIMEOUT", "1.5", {}, E, "deepspeed_integer"),
    ("trainer.strategy.init_args.timeout", "7200", {}, E, "clock_number"),
    # The default anyway.
    ("ddp_timeout", "1800", {}, I, "ddp_timeout_default"),
    ("ddp_timeout", "30", {}, W, "seconds_not_minutes"),
    ("NCCL_NVLS_ENABLE", "1", {}, I, "nvls_on"),
    ("NCCL_LAUNCH_MODE", "PARALLEL", {}, I, "same_as_default"),
    ("NCCL_IB_HCA", "mlx5", {}, I, "hca_all"),
    ("ddp_timeout", "3600", {"expired_ms": 3_600_000}, W, "timeout_expired"),
    # Hang detection off.
    ("ddp_timeout", "180000000", {}, W, "timeout_endless"),
    ("ddp_timeout", "18000000", {"framework": "ms-swift"}, W, "timeout_endless"),
    ("AXOLOTL_NCCL_TIMEOUT", "1800000", {}, W, "timeout_endless"),
    ("comm.train_timeout_seconds", "100000", {}, W, "timeout_endless"),
    ("TORCH_NCCL_BLOCKING_WAIT", "1", {}, W, "blocking_wait"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", {}, E, "async_handling_0"),
    ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2", {}, E, "async_handling_2"),
    ("TORCH_NCCL_ENABLE_MONITORING", "0", {}, W, "monitoring_off"),
    # The recorder.
    ("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000", {"torch": "2.9.1"}, W, "recorder_both"),
    ("TORCH_FR_BUFFER_SIZE", "2000", {"torch": "2.8.0"}, W, "recorder_both"),
    # Slow paths and dangerous values.
    *((f"NCCL_{what}_DISABLE", "1", {}, W, "slow_path") for what in ("IB", "P2P", "SHM", "PXN")),
    ("NCCL_NET_GDR_LEVEL", "LOC", {}, W, "slow_path"),
    (
        "NCCL_IB_DISABLE",
        "1",
        {"others": {"NCCL_IB_DISABLE": "1", "NCCL_P2P_DISABLE": "1"}},
        W,
        "slow_paths",
    ),
    ("NCCL_IB_TIMEOUT", "0", {}, E, "ib_timeout_forever"),
    ("NCCL_IB_TIMEOUT", "32", {}, E, "ib_timeout_forever"),
    ("NCCL_IB_TIMEOUT", "24", {}, I, "ib_timeout_long"),
    ("NCCL_BUFFSIZE", "2097152", {}, I, "buffsize_small"),
    ("NCCL_IB_GID_INDEX", "3", {"nccl": "2.27.5"}, I, "gid_index"),
    ("NCCL_IB_HCA", "mlx5_1", {}, I, "hca_prefix"),
    ("NCCL_IB_TC", "106", {}, I, "traffic_class"),
    ("NCCL_PROTO", "LL128", {}, W, "proto_ll128"),
    # Algorithms by release.
    ("NCCL_ALGO", "Tree", {"nccl": "2.6.4"}, W, "algo_tree"),
    ("NCCL_ALGO", "Tree", {"nccl": "2.18.3"}, E, "algo_tree"),
    ("NCCL_ALGO", "Tree", {"nccl": "2.27.5"}, E, "algo_tree"),
    ("NCCL_ALGO", "Collnet", {"nccl": "2.27.5"}, E, "algo_word"),
    ("NCCL_ALGO", "allreduce:tree", {"nccl": "2.21.5"}, W, "algo_by_function"),
    (
        "NCCL_ALGO",
        "allreduce:tree",
        {"nccl": "2.32.3", "others": {"NCCL_PROTO": "Simple"}},
        W,
        "algo_unnamed",
    ),
    # The wrong knob, the wrong unit, the wrong place.
    ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "7200", {}, I, "heartbeat"),
    ("--rdzv-conf", "timeout=7200", {}, I, "rendezvous_only"),
    ("DEEPSPEED_TIMEOUT", "5400", {}, W, "deepspeed_minutes"),
    ("--distributed-timeout-minutes", "7200", {}, W, "minutes_not_seconds"),
    ("dist_env.timeout_minutes", "1800", {}, W, "minutes_not_seconds"),
    ("NCCL_SOCKET_IFNAME", "docker0", {"nodes": 2}, E, "interface_local"),
    ("GLOO_SOCKET_IFNAME", "lo", {"nodes": 2}, E, "interface_local"),
    ("MASTER_ADDR", "localhost", {"nodes": 2}, E, "address_local"),
    ("TORCHELASTIC_USE_AGENT_STORE", "True", {}, E, "agent_store"),
    ("--max-restarts", "3", {"torch": "2.5.1"}, W, "restarts_share_store"),
    ("--max_restarts", "3", {}, I, "restarts_share_store"),
    # Frameworks in which a timeout is read too late, or by nobody.
    ("ddp_timeout", "7200", {"frameworks": frozenset({"accelerate-yaml"})}, W, "accelerate_yaml"),
    ("ddp_timeout", "7200", {"frameworks": frozenset({"ray-train"})}, W, "ray_first"),
    (
        "ddp_timeout",
        "7200",
        {
            "framework": "axolotl",
            "framework_version": "0.9.2",
            "frameworks": frozenset({"deepspeed"}),
        },
        W,
        "axolotl_first",
    ),
    (
        "ddp_timeout",
        "7200",
        {"framework": "transformers", "framework_version": "4.30.2"},
        W,
        "not_passed_on",
    ),
    ("DEEPSPEED_TIMEOUT", "60", {"framework": "trl"}, W, "deepspeed_not_first"),
    (
        "DEEPSPEED_TIMEOUT",
        "60",
        {"framework": "deepspeed", "expired_ms": 600_000},
        W,
        "deepspeed_clone",
    ),
    verl("+", "0.3.0", W, "verl_dead"),
    verl("+", "0.7.1", E, "verl_plus"),
    verl("", "0.8.0", W, "verl_dead"),
    verl("+", None, W, "verl_by_release"),
    verl("", None, I, "verl_by_release"),
]


@pytest.mark.parametrize(("name", "value", "context", "severity", "topic"), TRAPS)
def test_a_trap_is_told(
    name: str, value: str, context: dict[str, object], severity: Severity, topic: str
) -> None:
    verdicts = judge(name, value, SettingContext(**context))  # type: ignore[arg-type]
    found = {verdict.reason.key: verdict for verdict in verdicts}
    assert f"advice.{topic}" in found
    verdict = found[f"advice.{topic}"]
    assert verdict.severity is severity
    assert f"advice.{topic}" in sentences("en")
    assert "advice." not in sentence(verdict.reason)


@pytest.mark.parametrize(
    ("name", "value", "context"),
    [
        ("NCCL_ALGO", "Ring", {"nccl": "2.27.5"}),
        ("NCCL_ALGO", "allreduce:tree;broadcast:ring", {"nccl": "2.27.5"}),
        ("NCCL_ALGO", "^NVLS,Tree", {"nccl": "2.27.5"}),
        ("NCCL_ALGO", "Tree", {"nccl": "2.10.3"}),
        ("NCCL_ALGO", "ring,tree;allreduce:tree", {"nccl": "2.32.3"}),
        ("NCCL_DEBUG_SUBSYS", "INIT,NET,^ENV", {}),
        ("NCCL_MIN_CTAS", "0x10", {}),
        ("--rdzv-conf", "is_host=1", {}),
        ("timeout", "60", {}),
        ("timeout", "60", {"frameworks": frozenset({"deepspeed"})}),
        ("trainer.strategy.init_args.timeout", "2:00:00", {}),
        ("ddp_timeout", "7200", {"framework": "transformers", "framework_version": "4.31.0"}),
        (
            "actor_rollout_ref.nccl_timeout",
            "7200",
            {"framework": "verl", "framework_version": "0.7.1"},
        ),
        ("TORCHELASTIC_USE_AGENT_STORE", "True", {"others": {"TORCHELASTIC_RUN_ID": "x"}}),
        ("--max-restarts", "0", {"torch": "2.9.0"}),
        ("--max-restarts", "3", {"torch": "2.4.1"}),
        ("--max-restarts", "3", {"torch": "2.9.0", "torchrun": False}),
        (
            "--max-restarts",
            "3",
            {"torch": "2.9.0", "others": {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}},
        ),
        ("--check-nccl", "1", {}),
        ("timeout_s", "60", {}),
        ("dataloader_timeout", "60", {}),
        ("save_only_model", "true", {"framework": "trl", "framework_version": "0.9.0"}),
    ],
)
def test_what_is_right_or_somebody_elses_is_quiet(
    name: str, value: str, context: dict[str, object]
) -> None:
    assert judge(name, value, SettingContext(**context)) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("NCCL_TIMEOUT=1200000", "changes no timeout"),
        ("NCCL_MAX_RINGS", "never had"),
        ("NCCL_MIN_NRINGS=4", "old name"),
        ("NCCL_IB_MTU", "never had"),
        ("NCCL_IBEXT_DISABLE", "nccl-rdma-sharp-plugins"),
        ("NCCL_NVLS_ENABLE=1", "gains nothing"),
        ("NCCL_BUFFSIZE=2097152", "below the default"),
        ("NCCL_IB_HCA=mlx5", "prefix"),
        ("NCCL_IB_TC=106", "switches"),
        ("NCCL_ALGO=Ring", "no cure for timeouts"),
        ("NCCL_DEBUG=WARN", "Real and right"),
        ("NCCL_BLOCKING_WAIT", "lengthens no timeout"),
        ("ddp_timeout=1800", "is the default"),
        ("DEEPSPEED_TIMEOUT", "minutes"),
        ("actor_rollout_ref.nccl_timeout", "0.8.0"),
        ("trainer.dist_backend=gloo", "never had"),
        ("diagnose.py --check-nccl", "no"),
        ("rollout_viewer.py --timeline", "no"),
        ("535.104.05", "driver"),
        ("2.18.3", "driver"),
        ("gloo", "host memory"),
        ("ddp_backend", "host memory"),
        ("zero3_save_16bit_model", "gather"),
        ("stage3_gather_16bit_weights_on_model_save", "gather"),
        ("fsdp_state_dict_type", "gather"),
        ("per_device_train_batch_size", "frees memory"),
        ("batch_size_training", "frees memory"),
        ("webdataset", "who evaluates"),
        ("swap", "slower still"),
        ("TORCH_FR_BUFFER_SIZE", "2.11"),
        ("TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC", "watchdog"),
    ],
)
def test_advice_in_circulation_has_its_page(word: str, said: str) -> None:
    page = render_explanation(explain(word), "terminal")
    assert said in " ".join(page.split())


def test_a_release_is_compared_by_number() -> None:
    assert at_least("2.9.9", "2.11") is False
