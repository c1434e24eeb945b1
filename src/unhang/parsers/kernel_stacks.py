"""From the kernel's view of a process to a stack: which system call it stands in.

Reads::

    ==> /proc/4711/stack <==          (or a file `4711.stack`, `stack_rank3.txt`, …)
    [<0>] rpc_wait_bit_killable+0x24/0xc0 [sunrpc]
    [<0>] nfs4_proc_getattr+0x6a/0x110 [nfsv4]
    task:python3  state:D stack:    0 pid: 4711 ppid:  4600 flags:0x00000002   (dmesg, sysrq-w)
     nfs_wait_on_request+0x2c/0x30 [nfs]
    State:	D (disk sleep)                                            (/proc/4711/status)

The innermost function comes first. The kernel knows nothing of Python: such a stack tells only
where the process waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, Frame, StackKind, ThreadStack
from unhang.model.provenance import Origin, Provenance
from unhang.parsers.base import LineParser
from unhang.parsers.vocabulary import stack_owners
from unhang.sources.line import Line

_FUNCTION = re.compile(
    r"^\s*(?P<mark>\[<[0-9a-f]{1,16}>\]\s*)?(?P<function>[A-Za-z_][\w.]{1,80})\+0x[0-9a-f]{1,8}/0x"
    r"[0-9a-f]{1,8}(?: \[(?P<module>\w{1,40})\])?"
)
_PROC = re.compile(r"/proc/(?P<pid>\d{1,10})/(?:task/(?P<tid>\d{1,10})/)?(?:stack|status|wchan)")
_TASK = re.compile(
    r"\btask:\s*(?P<name>\S{1,40})\s+state:\s*(?P<state>[A-Z])\b.{0,60}?\bpid:\s*(?P<pid>\d{1,10})"
)
_MOST_FRAMES = 60


class KernelStacksParser(
    LineParser,
    name="kernel-stacks",
    needles=("[<0>]", "[<ffff", "/proc/", "state:D", *("==> ", "== r")),
    after=40,
):
    """Parser of kernel stacks of processes."""

    def __init__(self) -> None:
        self._owner: Origin | None = None
        self._uninterruptible = False
        self._frames: list[Frame] = []
        self._source: Provenance | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a stack when something else begins."""
        proc, task = _PROC.search(line.text), _TASK.search(line.text)
        if proc is not None or task is not None:
            yield from self._close()
            told = proc or task
            assert told is not None
            self._owner = replace(line.origin, pid=int(told["pid"]))
            self._uninterruptible = task is not None and task["state"] == "D"
            return
        owner = stack_owners.owner_of(line.text, line.origin)
        if owner is not None:
            yield from self._close()
            self._owner = owner
            return
        found = _FUNCTION.match(line.text)
        if found is None or "?" in line.text[: found.start("function")]:
            if not line.text.strip() or line.gap:
                yield from self._close()
            return
        if found["mark"] is None and self._owner is None:
            return  # a trace of the kernel's own trouble, of no process that is named
        if self._source is None:
            self._source = line.provenance()
            self._owner = self._owner or line.origin
        if len(self._frames) < _MOST_FRAMES:
            frame = Frame(file=found["module"] or "", line=None, function=found["function"])
            self._frames.append(frame)

    def finish(self) -> Iterator[Event]:
        """Say the last one."""
        yield from self._close()

    def _close(self) -> Iterator[Event]:
        frames, source, owner = self._frames, self._source, self._owner
        stuck = self._uninterruptible
        self._frames, self._source, self._owner, self._uninterruptible = [], None, None, False
        if source is None or owner is None:
            return
        yield ThreadStack(
            source=source,
            origin=owner,
            kind=StackKind.KERNEL,
            frames=tuple(reversed(frames)),
            main=True,
            uninterruptible=stuck,
        )
