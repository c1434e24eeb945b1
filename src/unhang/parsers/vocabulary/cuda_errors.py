"""From the text of a CUDA error to what it means: code, symbol and sentence all count.

The same error is written as `CUDA error: an illegal memory access was encountered`, as
`Cuda failure 700 'an illegal …'`, as `cudaErrorIllegalAddress` and as `CUDA_ERROR_ILLEGAL_ADDRESS`;
ROCm writes `HIP error: …`. The sentence is the most reliable: numbers changed before CUDA 10.1.
"""

from __future__ import annotations

from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import DeviceProblem
from unhang.model.toml import load

_P = DeviceProblem


class CudaError(NamedTuple):
    """A classified CUDA error; `code` is None where no number is printed."""

    problem: DeviceProblem
    code: int | None


_DATA = load("unhang.parsers.vocabulary", "data/cuda_errors.toml")

_TEXTS = tuple((DeviceProblem(problem), tuple(texts)) for problem, *texts in _DATA["texts"])
"""By sentence or symbol, first hit wins."""

_CODES = {
    code: DeviceProblem(problem) for problem, codes in _DATA["codes"].items() for code in codes
}
"""Numbers of CUDA 10.1 and later, for texts that print nothing else."""

_CODE = re.compile(
    r"(?:[Cc]uda\s*failure|(?:CUDA|HIP)\s*(?:driver\s*|runtime\s*)?[Ee]rror|"
    r"[Ee]rror\s*code|[Ee]rror)\s*[:(]?\s*(?P<code>\d{1,3})\b"
)


def classify(text: str) -> CudaError:
    """Say what a CUDA error means; `OTHER` when nothing in the text tells more.

    >>> classify("Cuda failure 700 'an illegal memory access was encountered'").problem.value
    'illegal-access'
    >>> classify("CUDA driver error: 802").code
    802
    """
    match = _CODE.search(text)
    code = None if match is None else int(match["code"])
    squeezed = _squeeze(text)
    for problem, needles in _SQUEEZED:
        if any(needle in squeezed for needle in needles):
            return CudaError(problem, code)
    return CudaError(_CODES.get(code, _P.OTHER) if code is not None else _P.OTHER, code)


def _squeeze(text: str) -> str:
    """Without blanks and case: a message may be wrapped inside words."""
    return "".join(text.split()).lower()


_SQUEEZED: tuple[tuple[DeviceProblem, tuple[str, ...]], ...] = tuple(
    (problem, tuple(_squeeze(needle) for needle in needles)) for problem, needles in _TEXTS
)
