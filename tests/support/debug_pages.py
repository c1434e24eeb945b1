"""Pages and text dumps of torch's debug server, for tests."""

from __future__ import annotations

import html
from collections.abc import Sequence

WAITS = """\
Thread 0x00007f1b2c000740 (most recent call first):
  File "/opt/torch/distributed/distributed_c10d.py", line 2501 in all_reduce
  File "/opt/torch/distributed/c10d_logger.py", line 81 in wrapper
  File "/job/train.py", line 31 in training_step
  File "/job/train.py", line 41 in <module>
"""
SAVES = """\
Thread 0x00007f1b2c000740 (most recent call first):
  File "/opt/torch/serialization.py", line 944 in _save
  File "/opt/torch/serialization.py", line 619 in save
  File "/job/train.py", line 77 in save_checkpoint
  File "/job/train.py", line 41 in <module>
"""
Answer = str | int
"""A rank's text, or the status of one that gave none."""


def page(answers: Sequence[Answer], *, escaped: bool = False) -> str:
    """A page with the parts that a reader goes by; torch does not escape what ranks say."""
    blocks = [_block(rank, answer, escaped=escaped) for rank, answer in enumerate(answers)]
    head = "<!doctype html>\n<head>\n    <title>Stacks - PyTorch Distributed</title>\n</head>\n"
    return "\n\n" + head + '<section class="content">\n' + "\n".join(blocks) + "\n</section>\n"


def _block(rank: int, answer: Answer, *, escaped: bool) -> str:
    failed = f"<p>Failed to fetch: status={answer}</p>\n" if isinstance(answer, int) else ""
    text = answer if isinstance(answer, str) else "no answer"
    shown = html.escape(text) if escaped else text
    return f"<h2>Rank {rank}: {_address(rank)}</h2>\n\n{failed}<pre>{shown}</pre>\n"


def text_dump(answers: Sequence[Answer]) -> str:
    """What the server writes into its folder now and then."""
    parts = []
    for rank, answer in enumerate(answers):
        parts.append(f"=== Rank {rank}: {_address(rank)} ===")
        parts.append(answer if isinstance(answer, str) else f"Error: {answer}")
    return "\n".join(parts)


def _address(rank: int) -> str:
    return f"http://gpu-07:{4700 + rank}/handler/x?"
