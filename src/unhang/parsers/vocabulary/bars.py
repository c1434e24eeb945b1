"""What progress bars and step lines look like: the patterns, each with named groups.

Groups: `done`, `total`, `percent`, `elapsed`, `remaining`, `rate`, `label`; any may be absent.
"""

from __future__ import annotations

import re

from unhang.model.phases import Phase

_COUNT = r"\d{1,15}(?:\.\d{1,3})?[kKMGTP]?"
_TIME = r"(?:\d{1,4} days?,\s*)?\d{1,5}(?::\d\d){1,2}"
BAR = re.compile(
    rf"(?:(?P<percent>\d{{1,3}})%\s?(?:\|[^|\r]{{0,400}}\||Completed \|)\s*)?"
    rf"(?P<done>{_COUNT})\s?/\s?(?P<total>{_COUNT})\s*"
    rf"\[\s*(?P<elapsed>{_TIME})\s*<\s*(?P<remaining>{_TIME}|\?)(?:,\s*(?P<rate>[^\],]{{1,40}}))?"
)
ENDLESS = re.compile(
    rf"(?P<done>{_COUNT})\s?(?P<unit>[A-Za-z]{{1,20}})?\s*"
    rf"\[\s*(?P<elapsed>{_TIME})\s*,\s*(?P<rate>[\d.?]+\s*(?:[A-Za-z]{{1,20}}/s|s/[A-Za-z]{{1,20}}))"
)
CUT = re.compile(r"(?P<percent>\d{1,3})%\s?\|")
RICH = re.compile(
    rf"[━╸╺]{{3,400}}\s*(?:(?P<done>{_COUNT})/(?P<total>{_COUNT})|(?P<percent>\d{{1,3}})%)"
    rf"(?:\s*(?P<elapsed>{_TIME})\s*•\s*(?P<remaining>{_TIME}|[-:]+))?"
)
BLOCKS = re.compile(
    rf"[█▓▒░▏▎▍▌▋▊▉▰▱]{{5,400}}\s*(?P<done>{_COUNT})\s*/\s*(?P<total>{_COUNT})(?![\d/])"
)
"""indicatif's (tokenizers, polars): `[00:05:15] Count pairs    ███░░░   456715 /  1304921`."""
MMCV = re.compile(
    r"\]\s*(?P<done>\d+)/(?P<total>\d+),\s*[\d.]+ task/s, elapsed:\s*(?P<elapsed>\d+)s,"
    r"\s*ETA:\s*(?P<remaining>\d+)s"
)
STEPS: tuple[tuple[re.Pattern[str], Phase | None], ...] = (
    (re.compile(r"(?P<label>iteration)\s+(?P<done>\d+)\s*/\s*(?P<total>\d+)\s*\|"), Phase.TRAIN),
    (re.compile(r"(?P<label>Evaluating iter)\s+(?P<done>\d+)\s*/\s*(?P<total>\d+)"), Phase.EVAL),
    (re.compile(r"(?P<label>global_step)=(?P<done>\d+),\s*RunningAvg"), Phase.TRAIN),
    (re.compile(r"(?P<label>step)=(?P<done>\d+),\s*skipped="), Phase.TRAIN),
    (re.compile(r"(?P<label>step):\s*(?P<done>\d+)\s+loss:"), Phase.TRAIN),
    (re.compile(r"(?P<label>step):(?P<done>\d+) - "), Phase.TRAIN),
    (
        re.compile(r"(?P<label>Training epoch \d+, iteration)\s+(?P<done>\d+)/(?P<total>\d+)"),
        Phase.TRAIN,
    ),
    (
        re.compile(
            r"(?P<label>(?:Epoch|Iter)\((?:train|val|test)\))\s*(?:\[\d+\]\s*)?"
            r"\[\s*(?P<done>\d+)/\s*(?P<total>\d+)\]"
        ),
        None,
    ),
    (
        re.compile(
            r"(?P<label>(?:Train |Eval )?Epoch:?\s*\[?\s*\d+\]?|Test:|Val(?:idation)?:)"
            r"\s{0,4}\[\s*(?P<done>\d+)\s*/\s*(?P<total>\d+)\b"
        ),
        None,
    ),
    (
        re.compile(
            r"(?P<label>[A-Za-z][\w /-]{2,60}):?\s{1,3}(?P<percent>\d{1,3})(?:\.\d{1,3})?\s?%"
            r" (?:of (?:\d|all\b|total)|done\b|complete|finished\b|processed\b)"
        ),
        None,
    ),
    (
        re.compile(
            r"(?P<label>(?:[a-z_]\w*\.){1,6}\w+:[\w<>]{1,60}:\d{1,6} - [a-z]\w{1,40})"
            r"\s?[:=]?\s?(?P<done>\d{1,12})\s?/\s?(?P<total>\d{1,12})\b"
        ),
        None,
    ),
    (re.compile(r"(?P<label>Inference done)\s+(?P<done>\d+)/(?P<total>\d+)"), Phase.EVAL),
    (re.compile(r"\b(?P<label>iter):\s*(?P<done>\d+)\s+total_loss:"), Phase.TRAIN),
    (re.compile(r"(?P<label>epoch \d+):\s+(?P<done>\d+)\s*/\s*(?P<total>\d+)\s"), Phase.TRAIN),
    (re.compile(r"(?P<label>\[\d+),\s+(?P<done>\d+)\]\s+loss:"), Phase.TRAIN),
    (
        re.compile(
            r"\b(?P<label>(?:(?:rank|valid\w*|val|eval\w*|test\w*|train\w*)\b\W{0,4}(?:\d{1,6}\W{1,4})?)?"
            r"(?:epoch\s{0,2}\d{1,6}\W{1,4})?(?:batch|step|iter(?:ation)?))"
            r"[ #:=\[]{0,4}(?P<done>\d{1,12})\s{0,8}(?:/|of)\s{0,8}(?P<total>\d{1,12}\b|inf\b)",
            re.IGNORECASE,
        ),
        None,
    ),
    (
        re.compile(
            r"(?<![\w.])(?P<label>(?:it|iter|iteration|step|global[_ ]step|batch|update)s?)"
            r"['\"\]]?\W{1,4}(?P<done>\d{1,12})\b(?=.{0,300}\bloss)",
            re.IGNORECASE,
        ),
        None,
    ),
)
"""Step lines with the phase that their text proves; None where the label tells."""
