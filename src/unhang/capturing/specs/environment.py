"""The environment that each rank and launcher was started with; secrets are redacted by name."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.source_context import SourceContext, refused
from unhang.capturing.spec import About, Piece, PieceFormat, Spec


def gather(context: SourceContext) -> Iterator[Piece]:
    """It was read when the processes were found."""
    process = context.process
    assert process is not None
    if process.environment is None:
        raise refused("no_environment", pid=process.pid)
    pairs = (f"{name}={value}\0" for name, value in process.environment.items())
    data = "".join(pairs).encode(errors="replace")
    yield Piece(name="environment.txt", data=data, form=PieceFormat.ENVIRONMENT)


SPEC = Spec(name="environment", about=About.PROCESS, gather=gather, order=3)
