"""From a capture to text: the manifest in the bundle, and what the command prints."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.capture import SCHEMA, CaptureResult, Fate, Manifest, ManifestEntry
from unhang.model.ids import format_ranks
from unhang.model.provenance import Message
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.fields import fields
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import BOLD, DIM, PLAIN, Style

FORMS = ("terminal", "json")


def manifest_json(manifest: Manifest, language: str = "en") -> str:
    """The text of `manifest.json`."""
    return dumps(_as_dict(manifest, language))


def render_capture(result: CaptureResult, form: str, style: Style = PLAIN) -> str:
    """Return what became of a capture, without a line end."""
    if form == "json":
        told = _as_dict(result.manifest, style.language)
        return dumps({**told, "path": str(result.path), "size_bytes": result.size_bytes})
    return "\n".join(_screen(result, style))


def _as_dict(manifest: Manifest, language: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        **fields(manifest, "unhang host at limit_s"),
        **fields(manifest, "seconds names_replaced redacted", digits=3),
        "processes": [fields(p, "pid role rank command") for p in manifest.processes],
        "sources": [_entry(entry, language) for entry in manifest.entries],
    }


def _entry(entry: ManifestEntry, language: str) -> dict[str, object]:
    return {
        **fields(entry, "source subject outcome=fate"),
        "why": None if entry.why is None else write(entry.why, language),
        "seconds": round(entry.seconds, 3),
        "files": [fields(f, "path bytes=size_bytes cut") for f in entry.files],
    }


def _screen(result: CaptureResult, style: Style) -> Iterator[str]:
    manifest = result.manifest
    taken = {Fate.TAKEN, Fate.PARTLY}
    values = {
        "files": sum(len(entry.files) for entry in manifest.entries),
        "size": result.size_bytes,
        "seconds": manifest.seconds,
        "path": one_line(str(result.path)),
    }
    done = Message(key="capture.done", values=values)
    yield style.paint(sentence(done, style.language), BOLD)
    yield sentence(_seen(manifest), style.language)
    for line in _lines(manifest, taken, style.language):
        yield f"  {line}"
    for line in _lines(manifest, set(Fate) - taken, style.language):
        yield f"  {style.paint(line, DIM)}"
    if manifest.redacted:
        told = ", ".join(f"{count} × {kind}" for kind, count in manifest.redacted.items())
        yield sentence(Message(key="capture.redacted", values={"kinds": told}), style.language)
    key = "capture.names_replaced" if manifest.names_replaced else "capture.names_stay"
    yield sentence(Message(key=key), style.language)
    yield sentence(Message(key="capture.next", values=values), style.language)


def _seen(manifest: Manifest) -> Message:
    ranks = frozenset(p.rank for p in manifest.processes if p.rank is not None)
    values = {"ranks": ranks, "processes": len(manifest.processes), "host": manifest.host}
    if not manifest.processes:
        return Message(key="capture.seen_nobody", values=values)
    return Message(key="capture.seen" if ranks else "capture.seen_no_rank", values=values)


def _lines(manifest: Manifest, fates: set[Fate], language: str) -> Iterator[str]:
    """One line for each source and what became of it; subjects of one fate share it."""
    grouped: dict[tuple[str, Fate, str], list[str]] = {}
    for entry in manifest.entries:
        if entry.fate in fates:
            why = "" if entry.why is None else write(entry.why, language)
            grouped.setdefault((entry.source, entry.fate, why), []).append(entry.subject)
    for (source, fate, why), subjects in grouped.items():
        word = write(Message(key=f"capture.fate.{fate.name.lower()}"), language)
        about = _subjects(subjects)
        told = f"{word} ({about})" if about else word
        yield one_line(f"{source:<16} {told}{': ' if why else ''}{why}")


def _subjects(subjects: list[str]) -> str:
    """Whom it is about, ranks as ranges; "" for the host and the run."""
    ranks = [int(s.removeprefix("rank ")) for s in subjects if s.startswith("rank ")]
    others = [s for s in subjects if not s.startswith("rank ") and s not in {"host", "run"}]
    told = [f"rank {format_ranks(ranks)}"] if ranks else []
    return ", ".join([*told, *others])
