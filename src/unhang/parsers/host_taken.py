"""From what autoscalers, clusters and clouds say to hosts that are taken from a job.

Reads::

    node gpu-7 was reclaimed by the provider
    [scaler] scaled down worker group from 4 to 3: removed host gpu-7
    disrupting node via consolidation
    node 5aa1 is being drained: DRAIN_NODE_REASON_PREEMPTION
    Normal  ScaleDown  pod/train-3  deleting pod for node scale down
    Scheduled event: Preempt for virtual machine gpu-7
    systemd-logind[1701]: The system will reboot now!
    i-0c3f9a    instance-terminated-no-capacity    2022-05-09T22:39:21+00:00

Traps: an idle host that is removed had no work of the job, unless its death is told next; a node of
a graph is no host; a host that is drained because it is ill failed by itself; words like
"terminated" are also said of what ended by itself, so they count only where a keeper of hosts
speaks.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, StopKind, StopSeen
from unhang.parsers.base import LineParser, place
from unhang.sources.context import LineContext
from unhang.sources.line import Line

_HOST = r"(?:nodes?|hosts?|instances?|machines?|VMs?|virtual machines?|servers?|droplets?)"
_HELD = rf"(?:{_HOST}|pods?|workers?|worker groups?|replicas?|node pools?)"
_BE = r"(?:(?:was|were|is|are|got|gets|has been|have been|is being|are being|will be|being) )?"
_TAKEN = (
    r"(?:drained|evicted|reclaimed|cordoned and drained|decommissioned|deprovisioned|preempted"
    r"|scaled[ -](?:down|in|away)|downscaled|taken away)"
)
_TAKES = re.compile(
    rf"\b{_HELD}[ /](?:(?!and\b)\S{{1,80}},? ){{0,4}}?{_BE}{_TAKEN}\b"
    rf"|\b(?:drain|evict|reclaim|decommission|deprovision|disrupt|preempt)(?:ing|ed|s)?\s"
    rf"(?:\S{{1,40}} ){{0,3}}?{_HELD}\b"
    rf"|\b(?:scal(?:ed?|ing)[ -](?:down|in)|downscal(?:ed?|ing))\b.{{0,60}}?\b{_HELD}\b"
    rf"|\b{_HELD} scale[ -]?down\b|\bScaleDown\b.{{0,40}}\bpod\b|\bTaintManagerEviction\b"
    rf"|\bpreempted=TRUE\b|\bDRAIN_NODE_REASON_PREEMPTION\b",
    re.IGNORECASE,
)
_CODES = re.compile(
    r"\binstance-(?:terminated|stopped)-(?:by-price|no-capacity|capacity-oversubscribed)\b"
    r"|\bmarked-for-(?:termination|stop)\b|\bcompute\.instances\.preempted\s+\S{0,120}instances/"
)
"""AWS's status codes of spot requests (EC2 User Guide, 2026-11), and GCP's operation."""
_SHUTS = re.compile(
    r"The system will (?:reboot|power ?off|halt|be (?:halted|powered off|rebooted))\b"
    r"|System is (?:rebooting|powering down|halting)\b"
    r"|Reached target (?:reboot|poweroff|halt)\.target|reboot: (?:Restarting system|Power down)\b"
)
"""systemd's words (login/logind-dbus.c, units/reboot.target) and the kernel's of an orderly end."""
_ENDS = re.compile(
    rf"\b(?:remov|terminat|delet|releas|stopp?|shutt?)(?:ing|ed|s)?\b(?: down)?\s(?:\S{{1,40}} )"
    rf"{{0,3}}?{_HOST}\b"
    rf"|\b{_HOST} (?:\S{{1,80}},? ){{0,4}}?{_BE}"
    r"(?:removed|terminated|deleted|released|stopped|shut down)\b",
    re.IGNORECASE,
)
_KEEPER = re.compile(
    r"auto-?scal|\bscaler\b|karpenter|metadata|scheduled event|\bcloud\b|provider|\bspot\b"
    r"|capacity|consolidation|outdated|maintenance|node ?(?:pool|group|claim)|bidding|outbid",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\bempty\b|\bgraph\b|\bfx\b|\bxid\b|\becc\b|hardware|unhealthy|fail|error|not ready"
    r"|unreachable|unresponsive|low on|pressure|\bkill task"
    r"|\b(?:not|cannot|can't|never|would|could|may|might) \S{0,20} ?(?:be )?(?:drain|evict|reclaim"
    r"|preempt|remov|terminat|scal)"
    r"|\b(?:if|unless|when|in case) "
    r"|\b(?:no|0|zero) (?:\S{1,20} )?(?:nodes?|hosts?|instances?|pods?|workers?)\b",
    re.IGNORECASE,
)
_IDLE = re.compile(r"\bidle\b", re.IGNORECASE)
_DEAD = re.compile(r"because its node has died\b|.{0,200}has been marked dead\b")


class HostTakenParser(LineParser, name="host-taken"):
    """Parser of hosts that are taken from a job."""

    def __init__(self) -> None:
        self._idle: StopSeen | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say that a host is taken, whoever tells it in whatever words."""
        if self._idle is not None and line.says(_DEAD, within=True):
            yield self._idle
            self._idle = None
        if line.says(_SHUTS) is not None:
            yield StopSeen(**place(line), kind=StopKind.REMOVED, told_later=True)
            return
        told = line.says(_TAKES, within=True)
        if told is None and line.context is LineContext.MESSAGE:
            told = _CODES.search(line.text)
            if told is None and _KEEPER.search(line.raw):
                told = _TAKES.search(line.text) or _ENDS.search(line.text)
        if told is not None and _OTHER.search(line.text) is None:
            stop = StopSeen(**place(line), kind=StopKind.REMOVED)
            if _IDLE.search(line.text) is None:
                yield stop
            else:
                self._idle = self._idle or stop
