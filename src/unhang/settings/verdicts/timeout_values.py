"""Whether a framework's timeout setting does anything, and anything sensible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.model.lint import Severity
from unhang.settings.frameworks import family_of, frameworks
from unhang.settings.lookup import bare, timeout_knobs
from unhang.settings.tables import DeadRange
from unhang.settings.verdicts.base import Check, Given, SettingVerdict, say
from unhang.settings.versions import covers

_DAY_S = 86_400
_MINUTE_S = 60
"""No start-up, save or evaluation of a real job is sure to stay below it."""


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge a timeout setting of a framework."""
    own = _CHECKS.get(given.name)
    if own is not None:
        yield from own(given)


def _ddp_timeout(given: Given) -> Iterator[SettingVerdict]:
    seconds = given.number
    if seconds is None:
        return
    yield from _expired(given, seconds)
    if seconds >= _DAY_S:
        yield say(given, "CFG111", Severity.WARNING, "timeout_endless", seconds=seconds)
    elif 0 < seconds < _MINUTE_S:
        use = f"{given.name}={round(seconds * 60)}"
        yield say(
            given,
            "CFG121",
            Severity.WARNING,
            "seconds_not_minutes",
            seconds=seconds,
            replacement=use,
        )
    elif seconds == 1_800 and _default_s(given) == seconds:
        yield say(given, "CFG110", Severity.INFO, "ddp_timeout_default", futile=True)
    yield from _reaches(given)


def _reaches(given: Given) -> Iterator[SettingVerdict]:
    """Frameworks that make the group before `ddp_timeout` is read."""
    context = given.context
    if "accelerate-yaml" in context.frameworks:
        yield say(given, "CFG120", Severity.WARNING, "accelerate_yaml", futile=True)
        return
    if "deepspeed-json" in context.frameworks:
        yield from _in_deepspeed_json(given)
        return
    dead = _dead(given)
    if dead is not None:
        known = context.framework_version is not None
        yield say(
            given,
            "CFG120",
            Severity.WARNING if known else Severity.INFO,
            dead.advice or "not_passed_on",
            version=context.framework_version,
            replacement=None if dead.use is None else dead.use.replace("{value}", given.value),
            futile=known,
        )
    elif any(f.overtakes for f in frameworks().values() if f.name in context.frameworks):
        yield say(
            given,
            "CFG120",
            Severity.WARNING,
            "ray_first",
            replacement=f"TorchConfig(timeout_s={given.value})",
            futile=True,
        )


def _dead(given: Given) -> DeadRange | None:
    """Why nobody hears of the setting in this release, or in some beside such frameworks."""
    context = given.context
    for knob in timeout_knobs(context.framework or "", context.framework_version):
        if bare(knob.key) != given.name:
            continue
        if context.framework_version is not None:
            return knob.dead_in(context.framework_version, context.frameworks)
        beside = [d for d in knob.dead if d.when is not None and d.when in context.frameworks]
        return beside[0] if beside else None
    return None


def _default_s(given: Given) -> float:
    """The default of the framework at hand, or of most."""
    context = given.context
    for knob in timeout_knobs(context.framework or "", context.framework_version):
        default = knob.default_in(context.framework_version)
        if bare(knob.key) == given.name and default is not None:
            return default
    return 1_800


def _deepspeed(given: Given) -> Iterator[SettingVerdict]:
    minutes = given.number
    if minutes is None or minutes != int(minutes):
        yield say(given, "CFG108", Severity.ERROR, "deepspeed_integer")
        return
    context = given.context
    yield from _expired(given, minutes * 60)
    if minutes * 60 >= _DAY_S:
        use = f"DEEPSPEED_TIMEOUT={max(1, round(minutes / 60))}"
        yield say(
            given,
            "CFG121",
            Severity.WARNING,
            "deepspeed_minutes",
            seconds=minutes * 60,
            replacement=use,
        )
    if _made_first(context.framework):
        yield say(
            given,
            "CFG120",
            Severity.WARNING,
            "deepspeed_not_first",
            replacement="ddp_timeout",
            futile=True,
        )
    elif context.expired_ms == 600_000 and minutes * 60_000 != context.expired_ms:
        yield say(given, "CFG120", Severity.WARNING, "deepspeed_clone", futile=True)


def _made_first(framework: str | None) -> bool:
    """Whether the group is made by the framework itself, before DeepSpeed looks at it.

    Where it has a variable of its own, that is the one to set.
    """
    own = {bare(k.key) for k in timeout_knobs(framework or "") if k.where == "env"}
    return any(f.makes_group for f in family_of(framework)) and not own


def _seconds(given: Given) -> Iterator[SettingVerdict]:
    seconds = given.number
    if seconds is not None:
        yield from _expired(given, seconds)
        if seconds >= _DAY_S:
            yield say(given, "CFG111", Severity.WARNING, "timeout_endless", seconds=seconds)


def _minutes(given: Given) -> Iterator[SettingVerdict]:
    minutes = given.number
    if minutes is None:
        return
    yield from _expired(given, minutes * 60)
    if minutes * 60 >= _DAY_S:
        yield say(given, "CFG121", Severity.WARNING, "minutes_not_seconds", seconds=minutes * 60)


def _verl(given: Given) -> Iterator[SettingVerdict]:
    version = given.context.framework_version
    if covers(version, "0.8", None) is True or covers(version, None, "0.4.0") is True:
        yield say(given, "CFG120", Severity.WARNING, "verl_dead", version=version, futile=True)
    elif (
        given.written.startswith("+")
        and not given.written.startswith("++")
        and covers(version, "0.6", "0.7") is True
    ):
        yield say(
            given,
            "CFG120",
            Severity.ERROR,
            "verl_plus",
            replacement=f"{given.name}={given.value}",
            mechanical=True,
        )
    elif version is None and given.context.expired_ms is None:
        plus = given.written.startswith("+") and not given.written.startswith("++")
        severity = Severity.WARNING if plus else Severity.INFO
        yield say(given, "CFG120", severity, "verl_by_release")
    if given.number is not None:
        yield from _expired(given, given.number)


def _clock(given: Given) -> Iterator[SettingVerdict]:
    """Lightning's command line takes a length of time; a number is refused."""
    if given.number is not None:
        seconds = int(given.number)
        clock = f"'{seconds // 3_600}:{seconds % 3_600 // 60:02d}:{seconds % 60:02d}'"
        yield say(given, "CFG108", Severity.ERROR, "clock_number", replacement=clock)


def _rendezvous(given: Given) -> Iterator[SettingVerdict]:
    if "timeout=" in given.value:
        yield say(given, "CFG116", Severity.INFO, "rendezvous_only")


def _in_deepspeed_json(given: Given) -> Iterator[SettingVerdict]:
    if "deepspeed-json" in given.context.frameworks:
        yield say(
            given,
            "CFG101",
            Severity.WARNING,
            "deepspeed_json_timeout",
            replacement="DEEPSPEED_TIMEOUT",
            futile=True,
        )


def _expired(given: Given, seconds: float) -> Iterator[SettingVerdict]:
    """The value is the one that ran out: it changed nothing, and would again."""
    expired = given.context.expired_ms
    if expired is not None and round(seconds * 1_000) == expired:
        yield say(
            given, "CFG110", Severity.WARNING, "timeout_expired", seconds=seconds, futile=True
        )


_CHECKS: Mapping[str, Check] = {
    "ddp_timeout": _ddp_timeout,
    "DEEPSPEED_TIMEOUT": _deepspeed,
    "AXOLOTL_NCCL_TIMEOUT": _seconds,
    "comm.init_timeout_seconds": _seconds,
    "comm.train_timeout_seconds": _seconds,
    "distributed-timeout-seconds-after-init": _seconds,
    "dist.distributed_timeout_minutes": _minutes,
    "dist_env.timeout_minutes": _minutes,
    "trainer.strategy.init_args.timeout": _clock,
    "rdzv-conf": _rendezvous,
    "rdzv_conf": _rendezvous,
    "timeout": _in_deepspeed_json,
    "nccl_timeout": _in_deepspeed_json,
    "distributed-timeout-minutes": _minutes,
    "distributed_timeout_minutes": _minutes,
    "actor_rollout_ref.nccl_timeout": _verl,
    "critic.nccl_timeout": _verl,
    "reward_model.nccl_timeout": _verl,
}
