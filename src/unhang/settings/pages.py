"""From a name to its manual page, for `unhang explain`."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.model.provenance import Message
from unhang.settings.frameworks import frameworks
from unhang.settings.knobs import Knob
from unhang.settings.lookup import bare, find_other, find_setting, suggest
from unhang.settings.tables import NameKind, OtherName, Setting, TimeoutKnob
from unhang.settings.verdicts import judge

_ADVICE = {
    "NCCL_ALGO": "page_algo",
    "NCCL_IB_TC": "traffic_class",
    "NCCL_NVLS_ENABLE": "nvls_on",
    "NCCL_BUFFSIZE": "page_buffsize",
    "NCCL_IB_HCA": "page_hca",
    "NCCL_DEBUG": "page_debug",
    "NCCL_MIN_NRINGS": "page_nrings",
    "NCCL_MAX_NRINGS": "page_nrings",
    "NCCL_IB_TIMEOUT": "page_ib_timeout",
    "NCCL_P2P_DISABLE": "page_slow_path",
    "NCCL_IB_DISABLE": "page_slow_path",
    "NCCL_SHM_DISABLE": "page_slow_path",
    "NCCL_BLOCKING_WAIT": "blocking_wait",
    "TORCH_NCCL_BLOCKING_WAIT": "blocking_wait",
    "NCCL_ASYNC_ERROR_HANDLING": "page_async",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "page_async",
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "heartbeat",
    "TORCH_FR_BUFFER_SIZE": "page_recorder",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "page_recorder",
    "ddp_timeout": "page_ddp_timeout",
    "DEEPSPEED_TIMEOUT": "page_deepspeed",
    "actor_rollout_ref.nccl_timeout": "page_verl",
    "batch_size": "page_batch",
    "batch_size_training": "page_batch",
    "per_device_train_batch_size": "page_batch",
    "train_batch_size": "page_batch",
    "zero3_save_16bit_model": "page_sharded",
    "stage3_gather_16bit_weights_on_model_save": "page_sharded",
    "fsdp_state_dict_type": "page_sharded",
}
"""Settings of which advice circulates: the verdict on it, `advice.<value>` in the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything known of one name.

    Attributes:
        reader: who reads it: `nccl`, `torch`, a plugin, a framework; None = nobody.
        verdict: what to think of the advice to set it.
        use: what to use in its place.
        timeout_knobs: how frameworks write it, where it is their timeout.
        similar: names that were probably meant, where this one is unknown.
    """

    name: str
    reader: str | None = None
    about: str | None = None
    since: str | None = None
    last: str | None = None
    ignored_since: str | None = None
    default: str | None = None
    defaults: tuple[tuple[str, str], ...] = ()
    values: str | None = None
    risk: str | None = None
    note: str | None = None
    verdict: Message | None = None
    use: str | None = None
    documented: bool = False
    timeout_knobs: tuple[TimeoutKnob, ...] = ()
    knobs: tuple[Knob, ...] = ()
    similar: tuple[str, ...] = ()
    source: tuple[str, ...] = ()


def page(name: str) -> Page | None:
    """The page of a setting, a myth or a framework's key; None where nothing is known of it.

    A value may follow (`NCCL_DEBUG=WARN`): the page is that of the name, the verdict that on the
    value. So may the program of a flag (`diagnose.py --check-nccl`) stand before it.

    >>> page("NCCL_TIMEOUT").reader is None
    True
    """
    word, _, value = name.strip().rpartition(" ")[2].partition("=")
    setting = find_setting(word) or find_setting(word.upper())
    if setting is not None:
        return _of_setting(setting, value)
    other = find_other(word) or find_other(word.upper())
    knobs = _timeout_knobs(bare(word))
    if other is not None and other.kind is not NameKind.FRAMEWORK:
        return _of_other(other)
    if knobs:
        return _of_timeout(bare(word), knobs, value)
    rows = _rows(bare(word))
    if rows:
        return Page(
            name=rows[0].key,
            verdict=_verdict(rows[0].key.rpartition(".")[2], value),
            reader=", ".join(sorted({k.framework for k in rows})),
            about=rows[0].about,
            default=rows[0].default,
            use=rows[0].renamed_to,
            knobs=rows,
            source=tuple(sorted({k.source for k in rows})),
        )
    similar = suggest(word)
    return Page(name=word, similar=similar) if similar else None


def _rows(key: str) -> tuple[Knob, ...]:
    """Rows of a key; where there is none, of the same key inside of a section."""
    knobs = [k for f in frameworks().values() for k in f.knobs.values()]
    own = tuple(k for k in knobs if k.key == key)
    return own or tuple(k for k in knobs if k.key.endswith(f".{key}"))


def _of_setting(setting: Setting, value: str) -> Page:
    return Page(
        name=setting.name,
        reader=setting.reader or setting.library.value,
        about=setting.about,
        since=setting.since,
        last=setting.last,
        ignored_since=setting.ignored_since,
        default=setting.default,
        defaults=setting.defaults,
        values=setting.values,
        risk=setting.risk,
        note=setting.note,
        verdict=_verdict(setting.name, value),
        use=setting.renamed_to,
        documented=setting.documented,
        timeout_knobs=_timeout_knobs(setting.name),
        source=(setting.source,),
    )


def _of_other(other: OtherName) -> Page:
    return Page(
        name=other.name,
        reader=other.reader,
        about=other.about,
        verdict=_verdict(other.name, ""),
        use=other.use,
        similar=suggest(other.name),
        source=other.source,
    )


def _of_timeout(name: str, knobs: tuple[TimeoutKnob, ...], value: str) -> Page:
    return Page(
        name=name,
        reader=", ".join(dict.fromkeys(k.framework for k in knobs)),
        verdict=_verdict(name, value),
        timeout_knobs=knobs,
        source=tuple(dict.fromkeys(s for k in knobs for s in k.source)),
    )


def _timeout_knobs(name: str) -> tuple[TimeoutKnob, ...]:
    """Knobs of that key; `timeout` alone is too many things."""
    knobs = (k for f in frameworks().values() for k in f.timeouts)
    return tuple(k for k in knobs if bare(k.key).lower() == name.lower())


def _verdict(name: str, value: str) -> Message | None:
    """On the value where one is given and wrong, else on the advice to set it at all."""
    other = find_other(name)
    if other is not None and other.advice is not None:
        return Message(
            key=f"advice.{other.advice}",
            values={
                "name": other.name,
                "value": value,
                "use": other.use,
                "reader": other.reader,
                "about": other.about,
            },
        )
    judged = judge(name, value) if value else ()
    if judged:
        return judged[0].reason
    topic = _ADVICE.get(name)
    if topic is not None:
        return Message(key=f"advice.{topic}", values={"name": name, "value": value})
    gone = find_setting(name)
    if gone is not None and gone.last is not None:
        return judge(name, "")[0].reason
    return None
