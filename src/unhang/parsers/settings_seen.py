"""From launch commands, environment dumps and argument lists to `SettingSeen`.

Reads::

    export NCCL_TIMEOUT=7200
    env: NCCL_BLOCKING_WAIT=1 NCCL_IB_DISABLE=1 torchrun --nproc_per_node 8 train.py
    'TORCH_NCCL_ASYNC_ERROR_HANDLING': '1',
    --ddp_timeout 180000        ddp_timeout=1800,        ddp_timeout: 7200
    torch.distributed.init_process_group("nccl", timeout=timedelta(hours=2))

Traps: messages *advise* settings (`run with NCCL_DEBUG=WARN for details`, `by setting
TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value`, `you can set X=1`): those are in force nowhere.
What NCCL itself says it read (`set by environment to`) is another parser's.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, SettingSeen
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_VALUE = r"(?P<value>\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s,;)}\"']{1,200})"
_VARIABLE = re.compile(
    r"(?P<name>\b(?:NCCL|RCCL|TORCH|GLOO|TP|UCX|FI|OFI|DEEPSPEED|AXOLOTL|PYTORCH|CUDA|HIP|ROCR|NVSHMEM)"
    r"_[A-Z][A-Z0-9_]{1,60}"
    r"|\b(?:MASTER_ADDR|MASTER_PORT|OMP_NUM_THREADS|TOKENIZERS_PARALLELISM|HF_DATASETS_OFFLINE"
    r"|HF_HUB_OFFLINE|LOCAL_WORLD_SIZE|NODE_RANK))\b"
    rf"['\"]?\s*(?P<sign>=|:)\s*{_VALUE}"
)
_OPTION = re.compile(
    r"(?P<name>(?:--|\+{1,2}|\b)[\w.]{0,120}"
    r"(?:ddp_timeout|nccl_timeout|dist_timeout|distributed[-_]timeout[-_]minutes"
    r"|distributed[-_]timeout[-_]seconds[-_]after[-_]init|init_timeout_seconds"
    r"|train_timeout_seconds|timeout_minutes|zero3_save_16bit_model"
    r"|stage3_gather_16bit_weights_on_model_save|fsdp_state_dict_type|save_only_model"
    r"|preprocessing_num_workers|dataloader_num_workers|async_mode|ckpt_async_save|find_unused_parameters))"
    rf"['\"]?(?:\s*[=:]\s*|\s+){_VALUE}"
)
_DELTA = re.compile(r"\btimeout\s*=\s*(?P<value>(?:datetime\.)?timedelta\([^()]{1,60}\))")
_ADVICE = re.compile(
    r"(?:\b(?:set|setting|try|with|using|use|consider|passing|enable|disable|via|by|specify|or)"
    r"|\(e\.g\.,?)\s*[`'\"(]?$",
    re.IGNORECASE,
)
_IN_FORCE = re.compile(r"\b(?:export|env|os\.environ|set -x)\b|^\+ ")
_LINE_LIMIT = 8000


class SettingParser(LineParser, name="settings_seen", sampled=True):
    """Parser of settings in force or asked for."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the settings of this line."""
        text = line.text[:_LINE_LIMIT]
        if "set by environment" in text:
            return
        for match in _VARIABLE.finditer(text):
            if not _is_advice(text, match):
                yield _seen(line, match["name"], match["value"], _basis(text, match))
        for match in _OPTION.finditer(text):
            if not _is_advice(text, match):
                yield _seen(line, match["name"].lstrip("-+"), match["value"], "option")
        for match in _DELTA.finditer(text):
            yield _seen(line, "timeout", match["value"], "source line")


def _is_advice(text: str, match: re.Match[str]) -> bool:
    """Whether the words in front recommend the setting instead of reporting it."""
    before = text[max(0, match.start() - 40) : match.start()]
    return _ADVICE.search(before) is not None and _IN_FORCE.search(before) is None


def _basis(text: str, match: re.Match[str]) -> str:
    if match["sign"] == ":":
        return "environment dump"
    return "export" if "export" in text[: match.start()] else "environment"


def _seen(line: Line, name: str, value: str, basis: str) -> SettingSeen:
    return SettingSeen(**place(line), name=name, value=value.strip("'\""), basis=basis)
