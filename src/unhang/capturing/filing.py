"""From answers to the members of a bundle and the entries of its manifest, redacted."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence

from unhang.capturing.bundle import BundleMember
from unhang.capturing.schedule import Question
from unhang.capturing.spec import About, Piece, PieceFormat
from unhang.errors import ArtifactError
from unhang.model.capture import CapturedFile, Fate, ManifestEntry
from unhang.model.provenance import Message
from unhang.redaction import Redactor
from unhang.sources.pickles import Damaged, load_plain, salvage

MOST_BYTES = 512 << 20
"""Bytes of all members together."""


def file_pieces(
    asked: Sequence[Question], host: str, redactor: Redactor, room: int = MOST_BYTES
) -> tuple[list[BundleMember], tuple[ManifestEntry, ...]]:
    """Redact what was gathered and list it.

    Args:
        asked: the answered questions, the most telling first.
        host: this node.
        redactor: removes what may not leave the node.
        room: bytes for all members; what does not fit is left out and listed so.
    """
    for question in asked:
        for piece in question.pieces:
            redactor.learn(piece.data)
    members: list[BundleMember] = []
    entries: list[ManifestEntry] = []
    for question in asked:
        files: list[CapturedFile] = []
        why = question.why
        for piece in question.pieces:
            path = _path(question, piece, host, redactor)
            try:
                data = _redacted(piece, redactor)
            except ArtifactError as error:
                why = Message(key="capture.why.broke", values={"text": str(error)})
                continue
            if len(data) > room:
                why = Message(key="capture.why.full", values={"size": len(data)})
                continue
            room -= len(data)
            members.append(BundleMember(path, data))
            files.append(CapturedFile(path=path, size_bytes=len(data), cut=piece.cut))
        entries.append(_entry(question, tuple(files), _without_secrets(why, redactor)))
    return members, tuple(entries)


def _path(question: Question, piece: Piece, host: str, redactor: Redactor) -> str:
    """Below a folder that tells readers the host; what is of no host in particular is the run's."""
    told = piece.host or (None if question.spec.about is About.RUN else host)
    if told is None:
        return redactor.text(f"run/{piece.name}")
    folder = f"host={redactor.host(told)}"
    return "/".join(part for part in (folder, question.folder, redactor.text(piece.name)) if part)


def _redacted(piece: Piece, redactor: Redactor) -> bytes:
    if piece.form is PieceFormat.PICKLE:
        return redact_pickle(piece.data, redactor)
    if piece.form is PieceFormat.ENVIRONMENT:
        return redactor.environment(piece.data)
    return redactor.data(piece.data)


def redact_pickle(data: bytes, redactor: Redactor) -> bytes:
    """A pickle of plain data, written anew without secrets; what is cut is saved as it is.

    Raises:
        ArtifactError: it carries code, or nothing in it can be read.
    """
    try:
        tree = load_plain(lambda: io.BytesIO(data), len(data))
    except Damaged:
        tree = salvage(data)
        if tree is None:
            raise
    return pickle.dumps(redactor.tree(tree), protocol=2)


def _without_secrets(why: Message | None, redactor: Redactor) -> Message | None:
    """A reason may quote a path, or what a program said."""
    if why is None:
        return None
    values = {n: redactor.text(v) if isinstance(v, str) else v for n, v in why.values.items()}
    return Message(key=why.key, values=values)


def _entry(
    question: Question, files: tuple[CapturedFile, ...], why: Message | None
) -> ManifestEntry:
    assert question.fate is not None
    fate = question.fate
    if len(files) < len(question.pieces):
        fate = Fate.PARTLY if files else Fate.REFUSED
    return ManifestEntry(
        source=question.spec.name,
        subject=question.subject,
        fate=fate,
        seconds=question.seconds,
        why=why,
        files=files,
    )
