"""Changes of a job's files that must not change its verdict, or must change it in a known way."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Mapping

from metamorphic.jobs import Files

_COLOURS = (b"\x1b[36m", b"\x1b[1;31m", b"\x1b[0m", b"\x1b[32;2m")
_CLOCK = re.compile(rb"(?<=[ T_])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?=[.,\sZ\]+]|$)", re.MULTILINE)
_C10_TIME = re.compile(rb"\[([IWEF])\d{3,4} [\d:.]+ (\w+\.[ch]pp:\d+)\]")
_BAR = "Epoch 2:  37%|███▋      | 100/270 [02:31<04:17,  1.51s/it]".encode()
_WATCHDOG = re.compile(rb"^\[rank(\d+)\]:\[E.*Watchdog caught.*$", re.MULTILINE)

# Every form in which these logs name a rank. A number of a list is renamed one by one.
_RANK_FORMS = re.compile(
    r"(?P<head>\[rank|\[default|\[Rank |\bRank |\brank |\brank=|\brank: +|local_rank: |rank_"
    r"|\bDL?rank)(?P<number>\d+)(?!\d)",
)
_RANK_LISTS = re.compile(
    r"(?P<head>\branks \[|\bRanks |\t   - \[|\t     \[|\t - \[)(?P<list>\d+(?:, \d+)*)"
)
_RANK_FILES = re.compile(r"(?P<head>\brank|\br|/attempt_0/)(?P<number>\d+)(?=[./])")


def crlf(files: Files) -> Files:
    """Line ends of Windows."""
    return _each(files, lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def quoted(files: Files) -> Files:
    """Pasted into a mail: `> ` before each line."""
    return _each_line(files, lambda line, _: b"> " + line)


def from_pod(files: Files) -> Files:
    """Read through `kubectl logs --prefix`."""
    return _each_line(files, lambda line, _: b"[pod/train-0/main] " + line)


def coloured(files: Files) -> Files:
    """Colour around each line, and a reset in the middle of it."""

    def paint(line: bytes, number: int) -> bytes:
        half = len(line.partition(b" ")[0])
        colour = _COLOURS[number % len(_COLOURS)]
        return colour + line[:half] + b"\x1b[0m" + colour + line[half:] + b"\x1b[0m"

    return _each_line(files, paint)


def untimed(files: Files) -> Files:
    """Headers without their time, as torch wrote them before 2.4."""
    return _each(files, lambda data: _C10_TIME.sub(rb"[\1 \2]", data))


def anonymous(files: Files) -> Files:
    """Lines without `[rankN]:` in front, as torch wrote them before 2.3."""
    return _each(files, lambda data: re.sub(rb"^\[rank\d+\]: ?", b"", data, flags=re.MULTILINE))


def wrapped(files: Files) -> Files:
    """Pasted from a terminal of 118 columns, which breaks words."""
    return _each_line(files, lambda line, _: re.sub(rb"(.{118})(?=.)", rb"\1\n", line))


def glued(files: Files) -> Files:
    """Watchdog lines behind a progress bar that had not ended its line."""

    def glue(line: bytes, _: int) -> bytes:
        return _BAR + line if b"Watchdog caught" in line and line[:1] == b"[" else line

    return _each_line(files, glue)


def torn(files: Files, seed: int) -> Files:
    """Four of ten lines lost, as in an excerpt; one line at least is left of each file."""
    chance = random.Random(seed)

    def keep(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(x for x in lines if chance.random() > 0.4) or b"".join(lines[:1])

    return _each(files, keep)


def compressed(files: Files) -> Files:
    """Each file as gzip."""
    return {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in files.items()}


def cut(files: Files, share: float) -> Files:
    """The first part of each file, down to a line end."""

    def head(data: bytes) -> bytes:
        kept = data[: int(len(data) * share)]
        return kept[: kept.rfind(b"\n") + 1]

    return _each(files, head)


def without(files: Files, dropped: str) -> Files:
    """All files but one."""
    return {name: data for name, data in files.items() if name != dropped}


def shifted(files: Files, late: str, seconds: int) -> Files:
    """The clock of the host that wrote `late` runs ahead; no time passes midnight."""

    def shift(match: re.Match[bytes]) -> bytes:
        hours, minutes, rest = map(int, match.groups())
        total = hours * 3600 + minutes * 60 + rest + seconds
        if not 0 <= total < 86_400:
            return match.group()
        return b"%02d:%02d:%02d" % (total // 3600, total % 3600 // 60, total % 60)

    return {n: _CLOCK.sub(shift, d) if n == late else d for n, d in files.items()}


def with_waiter(files: Files, rank: int, unlike: frozenset[int]) -> Files:
    """One more rank that waits like the others: its watchdog says what another one's said.

    Ranks in `unlike` are not copied: they are the odd ones. Without a watchdog to copy, a file
    that names no rank and shows ordinary work.
    """
    for data in files.values():
        for found in _WATCHDOG.finditer(data):
            own = found.group(1)
            if int(own) in unlike:
                continue
            lines = [x for x in data.splitlines() if x.startswith(b"[rank%s]:[E" % own)]
            text = b"\n".join(lines).replace(b"[rank%s]" % own, b"[rank%d]" % rank)
            text = text.replace(b"Rank %s]" % own, b"Rank %d]" % rank)
            return {**files, "one-more.log": text + b"\n"}
    return {**files, "one-more.log": b"".join(b"step %d loss 2.5\n" % i for i in range(99))}


def ranks_of(data: bytes) -> frozenset[int]:
    """The ranks that print lines of a file, as far as the lines say so."""
    return frozenset(int(n) for n in re.findall(rb"^\[rank(\d+)\]", data, re.MULTILINE))


def renamed(files: Files, names: Mapping[int, int]) -> Files:
    """The same job with its ranks numbered otherwise, in texts and file names."""

    def one(match: re.Match[str]) -> str:
        number = int(match["number"])
        return f"{match['head']}{names.get(number, number)}"

    def many(match: re.Match[str]) -> str:
        numbers = [int(n) for n in match["list"].split(", ")]
        return match["head"] + ", ".join(str(n) for n in sorted(names.get(n, n) for n in numbers))

    def text(data: bytes) -> bytes:
        # Lists first: their numbers must not be met again by the forms of one rank.
        whole = data.decode()
        parts: list[str] = []
        end = 0
        for match in _RANK_LISTS.finditer(whole):
            parts += [_RANK_FORMS.sub(one, whole[end : match.start()]), many(match)]
            end = match.end()
        return "".join([*parts, _RANK_FORMS.sub(one, whole[end:])]).encode()

    return {_RANK_FILES.sub(one, "/" + n)[1:]: text(d) for n, d in files.items()}


def _each(files: Files, change: Callable[[bytes], bytes]) -> Files:
    return {name: change(data) for name, data in files.items()}


def _each_line(files: Files, change: Callable[[bytes, int], bytes]) -> Files:
    def lines(data: bytes) -> bytes:
        changed = [change(line, number) for number, line in enumerate(data.split(b"\n"))]
        return b"\n".join(changed)

    return _each(files, lines)
