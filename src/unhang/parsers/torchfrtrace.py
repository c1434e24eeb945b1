"""From what `torchfrtrace` prints of Flight Recorder dumps to who joins nothing, or something else.

Reads (torch 2.13, torch/distributed/flight_recorder/components/types.py and utils.py)::

    Not all ranks joining collective, sequence number: 12
    collective: nccl:all_reduce
    missing ranks: {3}
    expected ranks: {0, 1, 2, 3}

    Collective sequence number: 12 has errors
    expected ranks: {0, 1, 2, 3}
    error msg: Culprit rank 3; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type:
        'all_gather' does not match found collective type: 'all_reduce', Culprit rank …

Traps: it compares with the first rank that it finds, so that whoever it calls a culprit may be one
of the many; dumps that are missing make ranks missing; states differ between ranks that are well.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import DesyncReported, Event, Fingerprint, FingerprintMismatch
from unhang.model.ids import NO_RANKS, Rank, Ranks, SeqId
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_HEAD = re.compile(
    r"(?:Not all ranks joining collective, sequence number: (?P<missing>\d{1,15})$"
    r"|Collective (?:sequence number: )?(?P<errors>\d{1,15})\b.{0,40} (?:has )?errors$)"
)
_FIELD = re.compile(
    r"(?P<name>collective|missing ranks|expected ranks|error msg): (?P<value>\S.{0,60000})"
)
_CULPRIT = re.compile(
    r"Culprit rank (?P<rank>\d{1,6}); Error type: (?:COLLECTIVE_TYPE|SIZE_OR_SYNTAX)_MISMATCH,"
    r" Expected (?P<what>collective type|input sizes|output sizes): '(?P<other>[^']{1,4000})'"
    r" does not match found (?:collective type|input sizes|output sizes): '(?P<own>[^']{1,4000})'"
)
_MOST = 4_096
_MOST_SIZES = 256


class TorchfrtraceParser(
    LineParser,
    name="torchfrtrace",
    needles=("Not all ranks joining", " errors", "ted ranks: {"),
    after=12,
):
    """Parser of torchfrtrace's report."""

    def __init__(self) -> None:
        self._seq: SeqId | None = None
        self._fields: dict[str, str] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line of an entry; its last one that counts says what it tells."""
        head = line.says(_HEAD)
        if head is not None:
            self._seq = SeqId(int(head["missing"] or head["errors"]))
            self._fields = {}
            return
        field = line.says(_FIELD)
        if self._seq is None or field is None:
            return
        self._fields[field["name"]] = field["value"]
        expected = _ranks(self._fields.get("expected ranks", ""))
        if field["name"] == "expected ranks" and "missing ranks" in self._fields:
            missing = _ranks(self._fields["missing ranks"])
            yield DesyncReported(
                **place(line),
                absent=missing,
                joined=expected - missing,
                seq=self._seq,
                op=self._op,
                by_tool=True,
            )
        if field["name"] == "error msg":
            yield from self._errors(line, field["value"], expected)

    @property
    def _op(self) -> str | None:
        told = self._fields.get("collective")
        return None if told is None else told.rpartition(":")[2].upper()

    def _errors(self, line: Line, text: str, expected: Ranks) -> Iterator[Event]:
        """Pair each rank that differs with one that does not, and the first with all of them."""
        found = list(_CULPRIT.finditer(text))[:_MOST]
        alike = expected - {Rank(int(culprit["rank"])) for culprit in found}
        for index, culprit in enumerate(found):
            for other in sorted(alike)[: _MOST if index == 0 else 1]:
                yield FingerprintMismatch(
                    **place(line),
                    rank=Rank(int(culprit["rank"])),
                    runs=self._print(culprit["what"], culprit["own"]),
                    other_rank=other,
                    other_runs=self._print(culprit["what"], culprit["other"]),
                    by_tool=True,
                )

    def _print(self, what: str, value: str) -> Fingerprint:
        if what == "collective type":
            return Fingerprint(op=value.upper(), seq=self._seq)
        sizes = tuple(int(size) for size in re.findall(r"\d{1,15}", value)[:_MOST_SIZES])
        return Fingerprint(op=self._op, seq=self._seq, shape=sizes)


def _ranks(text: str) -> Ranks:
    listed = re.fullmatch(r"\{(?P<ranks>\d[\d, ]{0,40000})\}\s*", text)
    if listed is None:
        return NO_RANKS
    return frozenset(
        Rank(int(number)) for number in re.findall(r"\d{1,6}", listed["ranks"])[:_MOST]
    )
