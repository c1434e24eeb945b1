"""From what all hosts of a job answer or print to the few that say something else.

Reads, whatever was asked, and what NCCL says of its network::

    dgx-r1: 1                      bio1: 1 HCA found:           el08:  State: Active
    dgx-r2: 1                      bio2: 0 HCAs found:          el09:  State: Down
    dgx-r3: 0                      bio3: 1 HCA found:           el10:  State: Active
    dgx-r3:5000:5400 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'

An answer counts where at least two other hosts agree on it word for word, and none of the rest says
it. Addresses, times and counters differ on every host and tell nothing; who says nothing of a
subject tells nothing either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, HostsDiffer
from unhang.model.provenance import NOBODY
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import nccl_header
from unhang.sources.line import Line
from unhang.sources.terminals import HostsAbove

_SUBJECT = re.compile(r"[A-Za-z][\w/-]{0,40}")
_BLANKS = re.compile(r"\s+")
_LONGEST, _MOST_SUBJECTS, _MOST_TEXTS = 160, 256, 64
_FEWEST = 3
_NCCL = ("NCCL INFO NET", "NCCL INFO Using", "NCCL INFO NCCL_")

_Said = dict[str, dict[str, Line]]
"""Of a subject: the texts of each host."""


class HostAnswersParser(
    LineParser,
    name="host-answers",
    needles=(*HostsAbove.WANTED.needles, *_NCCL),
    after=HostsAbove.WANTED.after,
    sampled=True,
):
    """Parser of what hosts say of the same thing."""

    def __init__(self) -> None:
        self._subjects: dict[str, _Said] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep what a host says."""
        messages = [m for m in nccl_header.messages(line.text) if m.level == "INFO"]
        for message in messages:
            if message.body.startswith(("NET", "Using", "NCCL_")):
                self._take(message.origin(line.origin).host, message.body, line)
        if not messages and "NCCL" not in line.text:
            self._take(line.origin.host, line.text, line)
        return iter(())

    def _take(self, host: str | None, text: str, line: Line) -> None:
        text = _BLANKS.sub(" ", text).strip()
        if host is None or not text or len(text) > _LONGEST:
            return
        found = _SUBJECT.match(text)
        subject = "" if found is None else found[0]
        if subject not in self._subjects and len(self._subjects) >= _MOST_SUBJECTS:
            return
        said = self._subjects.setdefault(subject, {}).setdefault(host, {})
        if len(said) < _MOST_TEXTS:
            said.setdefault(text.replace(host, "HOST"), line)

    def finish(self) -> Iterator[Event]:
        """Tell who differs, once for each host."""
        told: set[frozenset[str]] = set()
        for said in self._subjects.values():
            for few, mine, others in _odd(said):
                if few in told:
                    continue
                told.add(few)
                line = said[min(few)].get(mine) or next(iter(said[min(few)].values()))
                one = min(few) if len(few) == 1 else None
                where = place(line)
                where["origin"] = replace(NOBODY, host=one)
                yield HostsDiffer(
                    **where, hosts=few, among=frozenset(said), says=mine, others=others
                )
        self._subjects = {}


def _odd(said: Mapping[str, Mapping[str, Line]]) -> Iterator[tuple[frozenset[str], str, str]]:
    """Hosts that lack what all others say, what they say instead, and what the others say."""
    if len(said) < _FEWEST:
        return
    saying: dict[str, set[str]] = defaultdict(set)
    for host, texts in said.items():
        for text in texts:
            saying[text].add(host)
    everybody = frozenset(said)
    for text, hosts in saying.items():
        few = everybody - hosts
        if not few or 2 * len(few) >= len(everybody) or len(hosts) < _FEWEST - 1:
            continue
        instead = [t for t in said[min(few)] if saying[t] == few]
        if instead:
            yield few, instead[0], text
