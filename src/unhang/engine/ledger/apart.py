"""From what each rank said to the ranks that are not where the others are.

Four ways are told apart. Ranks *ended*: they say that their loop, their data or their training is
over, as often as no other has said it, and count no step after that. Ranks *passed*: all others end
at a line of one form, after which each time so far a line came that needs all of them; a few went
on from there with words of their own. A rank *skipped* what those that gave up wait for: its last
words are that it leaves something out. And a few may train a *different* model, by a line that all
print once and most print alike.

That shows a hang where something shows that the others wait: time that went by, somebody who gave
up, people's words; or that the ranks can never meet, because those that ended had less to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from unhang import lazy_re as re
from unhang.engine.ledger.streams import Entry, Ledger, signed
from unhang.model.events import ApartKind, RanksApart
from unhang.model.forms import named
from unhang.model.ids import Rank, Ranks
from unhang.model.time import Clock, Instant
from unhang.parsers.base import place
from unhang.parsers.loop_left import end_of

_PATTERNS = named("unhang.engine", "data/ledger.toml")
_UNITS = _PATTERNS["units"]
_TIME_WENT_BY = _PATTERNS["time_went_by"]
_AGREED = _PATTERNS["agreed"]
_WORKS = _PATTERNS["works"]
_STEPS = _PATTERNS["steps"]
_SKIPS = _PATTERNS["skips"]
_MODEL = _PATTERNS["model"]
_PIPELINE = _PATTERNS["pipeline"]
_OF = re.compile(r"(?<![\d./])\d{1,12}\s?/\s?(?P<total>\d{1,12})(?![\d./])")
_USUAL_VOICE = Rank(0)
_LONG_S = 300.0
_WIDEST_ZONE_S = 14 * 3600.0
_DETAIL = 100


def find_apart(ledger: Ledger, missing: Ranks) -> RanksApart | None:
    """Return who is apart, or None where all say the same.

    Args:
        ledger: what each rank said.
        missing: ranks that did not come to a call, by those that gave up.
    """
    if any(_AGREED.search(e.text) for entries in ledger.said.values() for e in entries[:40]):
        return None
    if ledger.partial:
        return _skipped(ledger, missing)
    return (
        _ended(ledger)
        or _skipped(ledger, missing)
        or _different(ledger, missing)
        or _passed(ledger)
    )


def _ended(ledger: Ledger) -> RanksApart | None:
    """Ranks that say more often than any other that they have come to an end."""
    said = ledger.said
    ends = {rank: [e for e in entries if _is_end(e, rank)] for rank, entries in said.items()}
    fewest = min(len(lines) for lines in ends.values())
    odd = frozenset(rank for rank, lines in ends.items() if len(lines) > fewest)
    others = frozenset(said) - odd
    if not odd or not others or any(len(ends[rank]) > fewest + 1 for rank in odd):
        return None
    counting = {form for rank in others for e in said[rank] if _is_step(e) for form in (e.form,)}
    if not counting or any(_steps_after(said[rank], ends[rank][-1], counting) for rank in odd):
        return None
    if not any(_is_step(e) and e.form in counting for rank in odd for e in said[rank]):
        return None  # one voice of its own, which others have not, ends alone
    totals = _totals(said, odd)
    if odd == {_USUAL_VOICE} and totals is None:
        return None
    last = ends[min(odd)][-1]
    stood = _stood(ledger, last)
    return _apart(ApartKind.ENDED, last, odd, others, stood=stood, totals=totals)


def _apart(
    kind: ApartKind,
    last: Entry,
    odd: Ranks,
    others: Ranks,
    *,
    stood: bool = True,
    totals: tuple[int, int] | None = None,
) -> RanksApart:
    """What is told of ranks that are apart, at the line of the first of them."""
    return RanksApart(
        **place(signed(last, min(odd))),
        kind=kind,
        ranks=odd,
        others=others,
        totals=totals,
        stood=stood,
        detail=" ".join(last.text.split())[:_DETAIL],
    )


def _is_end(entry: Entry, rank: Rank) -> bool:
    return end_of(signed(entry, rank)) is not None


def _is_step(entry: Entry) -> bool:
    return _STEPS.search(entry.text) is not None and len(entry.numbers) > 0


def _steps_after(entries: Sequence[Entry], end: Entry, forms: set[str]) -> bool:
    """Whether a rank counts steps below its end as the others do."""
    place_of_end = max(i for i, e in enumerate(entries) if e is end)
    return any(e.form in forms and _is_step(e) for e in entries[place_of_end + 1 :])


def _totals(said: Mapping[Rank, Sequence[Entry]], odd: Ranks) -> tuple[int, int] | None:
    """Counts of work that all ranks tell in the same words, of which some had less: least, most."""
    for told in (_planned(said), _of_counters(said)):
        for counts in told:
            few, many = (
                [counts[r] for r in counts if (r in odd) is side] for side in (True, False)
            )
            if few and many and len(counts) == len(said) and max(few) < min(many):
                return min(few), max(many)
    return None


def _planned(said: Mapping[Rank, Sequence[Entry]]) -> list[dict[Rank, int]]:
    """Numbers of units in lines that each rank prints once."""
    found: dict[tuple[str, int], dict[Rank, int]] = {}
    for rank, entries in said.items():
        forms = Counter(entry.form for entry in entries)
        for entry in entries:
            if forms[entry.form] == 1 and _UNITS.search(entry.text) is not None:
                for index, number in enumerate(entry.numbers):
                    if number.isdigit() and int(number) > 1:
                        found.setdefault((entry.form, index), {})[rank] = int(number)
    return list(found.values())


def _of_counters(said: Mapping[Rank, Sequence[Entry]]) -> list[dict[Rank, int]]:
    """Of how many the last counter of each rank counts."""
    last: dict[Rank, int] = {}
    for rank, entries in said.items():
        for entry in reversed(entries):
            if (counted := _OF.search(entry.text)) is not None:
                last[rank] = int(counted["total"])
                break
    return [last]


def _passed(ledger: Ledger) -> RanksApart | None:
    """A few that went on from where all others ended, with words that no other has."""
    said = {rank: entries for rank, entries in ledger.said.items() if entries}
    lasts = Counter(entries[-1].form for entries in said.values())
    form, count = lasts.most_common(1)[0]
    odd = frozenset(rank for rank, entries in said.items() if entries[-1].form != form)
    if not 0 < len(odd) < count or _USUAL_VOICE in odd or len(said) < _FEWEST_HEARD:
        return None
    others = frozenset(said) - odd
    if not all(_always_followed(said[rank], form) for rank in others):
        return None
    known = {entry.form for rank in others for entry in said[rank]}
    own = {rank: [e for e in said[rank][-_TAIL:] if e.form not in known] for rank in odd}
    if not all(own.values()) or any(_WORKS.search(e.text) for rank in odd for e in own[rank]):
        return None
    last = own[min(odd)][-1]
    if not _stood(ledger, last):
        return None
    return _apart(ApartKind.PASSED, last, odd, others)


_FEWEST_HEARD, _TAIL = 3, 4


def _always_followed(entries: Sequence[Entry], form: str) -> bool:
    """Whether the same line came after the one that a rank ends with, each time before."""
    places = [i for i, entry in enumerate(entries[:-1]) if entry.form == form]
    return len(places) > 0 and len({entries[i + 1].form for i in places}) == 1


def _stood(ledger: Ledger, last: Entry) -> bool:
    """Whether time went by after a line in which nobody said anything of work."""
    if any(_TIME_WENT_BY.search(line.text) for line in ledger.unsigned):
        return True
    newest = _last_said(ledger) or last.line.at
    return newest is not None and any(_is_long_after(later, newest) for later in ledger.last)


def _last_said(ledger: Ledger) -> Instant | None:
    """When a rank spoke last, by its lines or by what a tool says of its file."""
    entries = [e for told in ledger.said.values() for e in told]
    at = [e.line.at for e in entries if e.line.at is not None]
    if not at:
        names = {e.line.artifact.rpartition("/")[2] for e in entries}
        written = (ln for ln in ledger.unsigned if ln.text.split()[-1:] and ln.at is not None)
        at = [ln.at for ln in written if ln.at is not None and ln.text.split()[-1] in names]
    return max(at, key=lambda instant: instant.seconds, default=None)


def _is_long_after(later: Instant, earlier: Instant) -> bool:
    gap = later.since(earlier)
    if gap is None and {later.clock, earlier.clock} == {Clock.LOCAL, Clock.UTC}:
        gap = later.seconds - earlier.seconds - _WIDEST_ZONE_S
    return gap is not None and gap > _LONG_S


def _skipped(ledger: Ledger, missing: Ranks) -> RanksApart | None:
    """Ranks that did not come to a call, and that said last that they leave something out."""
    own = {rank: ledger.said.get(rank, [])[-_TAIL:] for rank in missing}
    told = {r: [e for e in own[r] if _SKIPS.search(e.text) is not None] for r in own}
    others = frozenset(ledger.said) - missing
    if not missing or not all(told.values()) or len(missing) >= len(others):
        return None
    if any(_SKIPS.search(e.text) for rank in others for e in ledger.said[rank][-_TAIL:]):
        return None
    last = told[min(missing)][-1]
    return _apart(ApartKind.PASSED, last, missing, others)


def _different(ledger: Ledger, missing: Ranks) -> RanksApart | None:
    """A few whose model is another one, by a line that all print once and most print alike."""
    told: dict[str, dict[Rank, Entry]] = {}
    for rank, entries in ledger.said.items():
        for entry in entries:
            if _MODEL.search(entry.text) is not None:
                told.setdefault(" ".join(entry.form.split()[:_HEAD]), {})[rank] = entry
    every = [line.text for line in ledger.unsigned]
    every += [e.text for entries in ledger.said.values() for e in entries]
    for lines in told.values():
        texts = {rank: re.sub(rf"\b0*{rank}\b", "#", e.text) for rank, e in lines.items()}
        variants = Counter(texts.values()).most_common()
        if len(lines) < len(ledger.said) or len(variants) != 2 or len(lines) < _FEWEST_HEARD:
            continue
        sides = [frozenset(r for r, text in texts.items() if text == v) for v, _ in variants]
        odd = missing if missing in sides else sides[1]
        if odd == missing or (
            2 * len(odd) < len(lines)
            and not any(map(_PIPELINE.search, every))
            and _stood(ledger, lines[min(odd)])
        ):
            return _apart(ApartKind.DIFFERENT, lines[min(odd)], odd, frozenset(lines) - odd)
    return None


_HEAD = 3
"""Words of a line that tell what it is about."""
