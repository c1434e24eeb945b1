"""From frames of a native crash stack to the library in which a process died.

Reads, as UCX, glog, faulthandler and gdb print them::

     1 0x00000000005ce34a cublasLt_for_cublas_ZZZ()  ???:0
    #3 0x7f01c2 in cublasLtMatmulAlgoGetHeuristic () from …/libcublasLt.so.12

Only frames of libraries whose presence decides something are said, each once for each process.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, StackSeen
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_FRAME = re.compile(
    r"(?:^|\s)#?\d{1,3}\s+(?:0x)?[0-9a-f]{4,16}\s+(?:in\s+)?(?P<function>\w{0,80})"
    r"|@\s+0x[0-9a-f]{4,16}\s+(?P<glog>\w{1,80})|(?P<library>lib\w{1,40})\.so"
)
_TELLING = re.compile(r"(?P<name>cublasLt)", re.IGNORECASE)


class NativeStacksParser(LineParser, name="native-stacks", needles=("cublasLt",)):
    """Parser of native crash stacks."""

    def __init__(self) -> None:
        self._said: set[object] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the library of this frame, the first time."""
        told = _TELLING.search(line.text)
        if told is None or _FRAME.search(line.text) is None or line.origin in self._said:
            return
        self._said.add(line.origin)
        yield StackSeen(**place(line), frame=told["name"])
