r"""From what a program prints of its own speed to how fast it steps, whatever it calls that.

Reads::

    step 7 loss 3.55 step_time 42.6s fwd 14.5s bwd 26.8s tokens/s 3215
    Train throughput/batches_per_sec: 0.0173
    [12/29 14:03:52 d2.utils.events]:  eta: 10 days  iter: 19  time: 3.4278  data_time: 0.0121
      3%|▎     | 23/751 [45:32<24:01:23, 118.80s/it]
    Step 9 | Time: 653.1s | Throughput: 3118 tokens/s | MFU: 0.19%

One file holds many values of a measure: their median is told, once. Traps: `time/batch` may count
batches; the first steps are slow; a bar of a loader has a speed too, so that its label is part of
the measure, and only values of one measure are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import Event, StepsTimed
from unhang.parsers.base import EventFields, LineParser, place
from unhang.sources.line import Line

_VALUE = re.compile(
    r"(?:(?P<name>[A-Za-z][\w/+.]{1,40})[\"']?(?:\s?[:=]\s{0,2}|\s))?"
    r"(?<![\w.,-])(?P<value>\d{1,9}(?:\.\d{1,9})?)(?P<unit>\s?%|\s?[A-Za-z]{1,12}/[A-Za-z]{1,9}\b|s?\b)"
)
_SECONDS = re.compile(
    r"(?:(?:train|avg|mean)[_/])?(?:(?:step|iter(?:ation)?|batch)_?)?time(?:_per_\w+|_avg|_s)?"
    r"|sec(?:ond)?s?_per_\w+|s/(?:it|iter|step|batch)",
    re.IGNORECASE,
)
_SPEED = re.compile(
    r"(?:\w+/)*(?:mfu|throughput|\w*(?:_per_|/)s(?:ec(?:ond)?)?(?:_\w+)?|it/s)", re.IGNORECASE
)
_BAR = re.compile(r"(?P<label>[^:|%]{0,60}?)[:|]?\s*\d{1,3}%[|┃]")
"""What a bar is of: an evaluation is no training, however fast."""
_DIGITS = re.compile(r"\d+")
_OF_BYTES = re.compile(r"[kmgt]?i?b(?:ytes|its?)?(?:/|_per_)", re.IGNORECASE)
_MOST_MEASURES, _MOST_VALUES, _LONGEST = 32, 4_096, 1_000


class StepsTimedParser(LineParser, name="steps-timed", sampled=True):
    """Parser of the speed that programs print."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._falls: dict[str, bool] = {}
        self._last: dict[str, EventFields] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the values of this line."""
        for match in _VALUE.finditer(line.text[:_LONGEST]):
            self._keep(line, match)
        return iter(())

    def _keep(self, line: Line, match: re.Match[str]) -> None:
        name, unit = match["name"] or "", match["unit"].strip()
        for word in (unit, name):
            falls = _SECONDS.fullmatch(word) is not None
            if (falls or _SPEED.fullmatch(word) is not None) and _OF_BYTES.match(word) is None:
                break
        else:
            return
        measure = word.lower()
        bar = _BAR.search(line.text) if "/" in measure and "it" in measure else None
        if bar is not None:
            measure = f"{_DIGITS.sub('', bar['label']).strip()} {measure}".strip()
        if measure not in self._values and len(self._values) >= _MOST_MEASURES:
            return
        values = self._values.setdefault(measure, [])
        if len(values) < _MOST_VALUES:
            values.append(float(match["value"]) / (100 if unit == "%" else 1))
        self._falls[measure] = falls
        self._last[measure] = place(line)

    def finish(self) -> Iterator[Event]:
        """Tell the median of each measure."""
        for measure, values in self._values.items():
            yield StepsTimed(
                **self._last[measure],
                measure=measure,
                median=median(values),
                count=len(values),
                falls=self._falls[measure],
            )
