"""From progress bars and step lines to `Progress`: how far each kind of work had come.

Reads::

    Map (num_proc=8):  62%|██████▏   | 620000/1000000 [21:40<13:10, 480.5 examples/s]
    1021/100000 [45:39<73:45:27, 2.68s/it]                      (the bar itself is lost)
    Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:10<00:10, 5.1s/it]      (vLLM)
    Generating train split: 120000 examples [01:10, 1714.2 examples/s]      (no total)
    Validation ━━━━━━━━━━━╸━━━━ 12/50 0:00:41 • 0:05:01 6.85it/s            (rich)
    [00:05:15] Count pairs       ███░░░░   456715 /  1304921                (indicatif)
    iteration       10/     100 | consumed samples:         2560 |          (Megatron)
    RANK 0 - EPOCH 1 BATCH 70/inf
    [2026-09-10 08:07:41 TP0] repack weights: expert layout 22/61    (any count, by a rank, in time)
    {'loss': 1.4032, 'grad_norm': 0.8123, 'epoch': 0.12}        (no count, but training)

Traps: several states of a bar, or a bar and a message, stand on one line; counts may be scaled
(`1.2G/4.9G`); the percentage alone survives when a terminal cut the line; a label may name a
rank, but `worker process 7` is none; without a label nothing tells training from evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, PhaseMark, Progress
from unhang.model.ids import Rank
from unhang.model.phases import Phase, PhaseEdge
from unhang.model.time import Clock
from unhang.parsers.base import LineParser, needles, place
from unhang.parsers.vocabulary import bars, rank_needles
from unhang.parsers.vocabulary.phases import phase_of_label
from unhang.sources.line import Line

_LOGGED_LOSS = re.compile(
    r"(?<![A-Za-z])(?:train|lm|total|avg)?[ _]?loss['\"]?\s?[:=]?\s?-?\d", re.IGNORECASE
)
_MEASURED = re.compile(
    r"(?<![A-Za-z])(?:val|valid|validation|eval|test|dev)(?![A-Za-z])", re.IGNORECASE
)
_RANK = re.compile(r"\brank[ =:_#]{0,2}(\d{1,6})\b", re.IGNORECASE)
_LABEL_LIMIT = 80
_LINE_LIMIT = 8000
"""The last states of a bar stand at the end of a long line."""
_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_COUNTS = re.compile(
    r"(?P<label>\b[A-Za-z]\w{2,40}(?::|(?<=ing))\s(?:[a-z_][\w-]{0,30}\s){0,6}?)"
    r"(?P<done>\d{1,9})\s?(?:/|of)\s?(?P<total>\d{2,9})\s*(?:$|[,(\[;])"
)
"""`converting layer 12/61`, `repack weights: expert layout 22/61`."""
_DATA_UNIT = re.compile(r"\b(?:examples|ex|ba)/s|s/(?:examples|ex|ba)\b")

_OF_BARS = needles("progress")


class ProgressParser(
    LineParser,
    name="progress",
    needles=(*_OF_BARS, *rank_needles.NEEDLES),
    sampled=True,
):
    """Parser of progress bars and step lines."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the states of all bars on this line, or its step."""
        text = line.text[-_LINE_LIMIT:]
        if not any(needle in line.raw for needle in _OF_BARS):
            yield from _counts(line, text)
            return
        states = list(_bars(line, text))
        yield from states
        if not states:
            yield from _steps(line, text)


def _bars(line: Line, text: str) -> Iterator[Progress]:
    """All bars on a line, in order."""
    patterns = [bars.BAR, bars.ENDLESS] if "[" in text else []
    if "━" in text:
        patterns.append(bars.RICH)
    if "█" in text or "░" in text or "▰" in text:
        patterns.append(bars.BLOCKS)
    if "task/s" in text:
        patterns.append(bars.MMCV)
    hits = sorted(
        (m for pattern in patterns for m in pattern.finditer(text)), key=lambda m: m.start()
    )
    end = 0
    for hit in hits:
        if hit.start() >= end:
            phase = Phase.EVAL if hit.re == bars.MMCV else None
            yield _progress(line, hit, text[end : hit.start()], phase)
            end = hit.end()
    if "%" in text and (cut := bars.CUT.search(text, end)) is not None:
        yield _progress(line, cut, text[end : cut.start()])


def _steps(line: Line, text: str) -> Iterator[Event]:
    """The first step line that matches."""
    for needed, pattern, told in bars.STEPS:
        phase = told
        if needed in text and (match := pattern.search(text)) is not None:
            start = match.start("label")
            before = text[max(0, start - 20) : start]
            if phase is None and _MEASURED.search(before) is not None:
                phase = Phase.EVAL
            yield _progress(line, match, f"{before}] {match['label']}:", phase)
            return
    if _LOGGED_LOSS.search(text) is not None and _MEASURED.search(text) is None:
        yield PhaseMark(**place(line), phase=Phase.TRAIN, edge=PhaseEdge.DURING, detail="loss")


def _counts(line: Line, text: str) -> Iterator[Progress]:
    """Any count: who counts, and when, tells what it is worth."""
    if line.at is None or (line.origin.rank, line.origin.actor) == (None, None):
        return
    match = _COUNTS.search(text) if "/" in text or " of " in text else None
    if match is not None and not match["label"].lower().startswith("wait"):
        yield _progress(line, match, match["label"].strip(" :") + ":")


def _progress(
    line: Line, match: re.Match[str], before: str, phase: Phase | None = None
) -> Progress:
    """One state; the percentage serves where the counts are lost."""
    label = " ".join(before.split()) if match.re == bars.BLOCKS else _label(before)
    shown = label if len(label) <= _LABEL_LIMIT else label[: _LABEL_LIMIT - 1] + "…"
    found = match.groupdict()
    done, total = found.get("done"), found.get("total")
    if done is None:
        done, total = found["percent"], "100"
    if phase is None:
        phase = phase_of_label(label)
    if phase is None and _DATA_UNIT.search(found.get("rate") or ""):
        phase = Phase.DATA
    elapsed_s = _seconds(found.get("elapsed"))
    if match.re == bars.BLOCKS and line.at is not None and line.at.clock is Clock.TIME_OF_DAY:
        elapsed_s = line.at.seconds  # what looks like a clock in front of it is the elapsed time
    ranked = _RANK.search(before[-_LABEL_LIMIT:])
    return Progress(
        **place(line),
        label=shown,
        done=_number(done) or 0,
        total=_number(total),
        elapsed_s=elapsed_s,
        remaining_s=_seconds(found.get("remaining")),
        phase=phase,
        rank=None if ranked is None else Rank(int(ranked[1])),
    )


def _label(before: str) -> str:
    """The text before a bar up to its colon; text glued in front of it is cut off."""
    text = before[-4 * _LABEL_LIMIT :].rstrip()
    if "━" not in text and not text.endswith(":") and not _RICH_LABEL.search(text):
        return ""
    text = text.rstrip(": ").rpartition("] ")[2].rpartition("\r")[2]
    return " ".join(text.split())[-2 * _LABEL_LIMIT :]


_LONGEST_NUMBER = 30
_RICH_LABEL = re.compile(r"(?:Epoch \d+(?:/\d+)?|Validation|Testing|Predicting|Sanity Checking)$")


def _number(text: str | None) -> int | None:
    """`652383`, `1.2G`; None for `inf` and nothing."""
    if text is None or text.lower() == "inf" or len(text) > _LONGEST_NUMBER:
        return None
    scale = _SCALE.get(text[-1], 0.0)
    return round(float(text[:-1]) * scale) if scale else round(float(text))


def _seconds(text: str | None) -> float | None:
    """`05:01`, `6:39:53`, `1 day, 2:03:04`; None for `?` and nothing."""
    if text is None or not text[0].isdigit():
        return None
    days, _, clock = text.rpartition(",")
    total = 0.0
    for part in clock.split(":"):
        if part.strip():
            total = total * 60 + int(part[:9])
    return total + (int(days.split()[0][:9]) * 86_400 if days else 0)
