"""What must agree between the ranks of one call, by operation."""

from __future__ import annotations

from array import array
from math import prod

from unhang import lazy_re as re
from unhang.model.recording import CallKind

# The number of elements that all ranks of a call must agree on: of the inputs, of the outputs, or
# only the sum over the outputs. Of other operations only the name is compared: an all-to-all may
# be uneven, a gather has outputs on its root only, and of an unknown one nothing is known.
_BY_INPUT = frozenset(
    {"all_reduce", "allreduce", "all_reduce_coalesced", "allreduce_coalesced", "broadcast"}
    | {"_broadcast_oop", "reduce", "_reduce_oop", "gather", "all_reduce_sparse"}
)
_BY_BOTH = frozenset(
    {"_all_gather_base", "_allgather_base", "all_gather_into_tensor", "_reduce_scatter_base"}
    | {"all_gather_into_tensor_coalesced", "reduce_scatter_tensor_coalesced"}
    | {"allgather_into_tensor_coalesced"}
)
_BY_OUTPUT = frozenset({"scatter"})
_BY_TOTAL_OUTPUT = frozenset({"all_gather", "allgather", "all_gather_coalesced"})
_BY_TOTAL_INPUT = frozenset({"reduce_scatter"})
_TYPED = _BY_INPUT | _BY_BOTH | _BY_TOTAL_OUTPUT | _BY_TOTAL_INPUT

PAIR = "send/recv"
"""The operation of kinds of point-to-point calls: a send and its receive are of one kind."""
PAIR_NAME = re.compile(r"(send|recv)\s+(\d{1,6})\s*(->|<-)\s*(\d{1,6})")

_UNDESCRIBED = "undefined"
_MOST_REMEMBERED = 20_000
_MOST_TENSORS = 10_000

Raw = tuple[object, object, object, object]
"""Name, input sizes, output sizes and input types as an entry holds them."""


class KindTable:
    """All kinds of calls of a run, and which descriptions mean them.

    Descriptions are lists and cannot be looked up; making texts of them takes as long as reading
    the file. Programs repeat themselves: after one call usually comes what came after it last time,
    so the reader keeps a guess, compares, and asks only for what is new.
    """

    def __init__(self) -> None:
        self.kinds: list[CallKind] = []
        self.raws: list[Raw] = []
        self.kind_of_raw: list[int] = []
        self.moves: list[str] = []
        self._index: dict[CallKind, int] = {}
        self._move_index: dict[str, int] = {}
        self._move_of: dict[object, int] = {}
        self._courses: dict[bytes, array[int]] = {}
        self._raw_index: dict[object, int] = {}

    def raw(self, raw: Raw) -> int:
        """Index of a description, or -1 - k of its kind k where no more are remembered.

        Raises:
            TypeError: it is no description of a call.
        """
        name, inputs, outputs, dtypes = raw
        frozen = (_text(name), _frozen(inputs), _frozen(outputs), _texts(dtypes))
        known = self._raw_index.get(frozen)
        if known is not None:
            return known
        kind = self.intern(kind_of(*frozen))
        if len(self.raws) >= _MOST_REMEMBERED:
            return -1 - kind
        self._raw_index[frozen] = len(self.raws)
        self.raws.append(raw)
        self.kind_of_raw.append(kind)
        return len(self.raws) - 1

    def intern(self, kind: CallKind) -> int:
        """Index of a kind."""
        index = self._index.setdefault(kind, len(self.kinds))
        if index == len(self.kinds):
            self.kinds.append(kind)
        return index

    def carried(self, sizes: object, dtypes: object) -> int:
        """Index of what a point-to-point operation carries.

        Raises:
            TypeError: it is no description of a call.
        """
        return self.intern(CallKind(PAIR, tuple(map(prod, _frozen(sizes))), dtypes=_texts(dtypes)))

    def move(self, group: object, name: object) -> int:
        """Index of what the program does with a call, whatever its sizes."""
        key = (group, name)
        known = self._move_of.get(key)
        if known is None:
            known = self.intern_move(_move(group, _text(name)))
            if len(self._move_of) < _MOST_REMEMBERED:
                self._move_of[key] = known
        return known

    def intern_move(self, text: str) -> int:
        """Index of a move."""
        index = self._move_index.setdefault(text, len(self.moves))
        if index == len(self.moves):
            self.moves.append(text)
        return index

    def course(self, moves: array[int]) -> array[int]:
        """One object for equal courses: most ranks of a job do the same."""
        return self._courses.setdefault(moves.tobytes(), moves)

    def joined(self, one: int, other: int) -> int:
        """The kind of several calls that share a sequence number (a coalesced batch)."""
        a, b = self.kinds[one], self.kinds[other]
        if (
            a == b
            or b.op == "coalesced"
            or a.op.endswith(f"+{b.op}")
            or len(a.inputs) > _MOST_TENSORS
        ):
            return one
        op = a.op if a.op == b.op else f"{a.op}+{b.op}"
        dtypes = a.dtypes if a.dtypes == b.dtypes else a.dtypes + b.dtypes
        return self.intern(CallKind(op, a.inputs + b.inputs, a.outputs + b.outputs, dtypes))


def kind_of(
    name: str,
    inputs: tuple[tuple[int, ...], ...],
    outputs: tuple[tuple[int, ...], ...],
    dtypes: tuple[str, ...],
) -> CallKind:
    """Reduce a description to what the ranks must agree on.

    >>> kind_of("nccl:all_reduce", ((2, 5),), ((2, 5),), ("Float",))
    CallKind(op='all_reduce', inputs=(10,), outputs=(), dtypes=('Float',))
    """
    op = operation(name)
    sizes_in, sizes_out = tuple(map(prod, inputs)), tuple(map(prod, outputs))
    typed = dtypes if op in _TYPED else ()
    if op in _BY_INPUT:
        return CallKind(op, inputs=sizes_in, dtypes=typed)
    if op in _BY_BOTH:
        return CallKind(op, inputs=sizes_in, outputs=sizes_out, dtypes=typed)
    if op in _BY_OUTPUT:
        return CallKind(op, outputs=sizes_out)
    if op in _BY_TOTAL_OUTPUT:
        return CallKind(op, outputs=(sum(sizes_out),), dtypes=tuple(sorted(set(typed))))
    if op in _BY_TOTAL_INPUT:
        return CallKind(op, inputs=(sum(sizes_in),), dtypes=tuple(sorted(set(typed))))
    return CallKind(op)


def _move(group: object, name: str) -> str:
    """A call as all ranks of one role issue it: peers by their distance.

    >>> _move(("3", "pp"), "nccl:send 2->3"), _move(("3", ""), "nccl:all_reduce")
    ('pp send +1', '3 all_reduce')

    What torch calls groups to which the program gives no description tells nothing:

    >>> _move(("4", "undefined"), "gloo:all_reduce")
    '4 all_reduce'
    """
    name_and_use = group if isinstance(group, (list, tuple)) and len(group) == 2 else ("", "")
    of = name_and_use[0] if name_and_use[1] in {"", _UNDESCRIBED} else name_and_use[1]
    pair = PAIR_NAME.search(name)
    if pair is None:
        return f"{of} {operation(name)}"
    return f"{of} {pair[1]} {int(pair[4]) - int(pair[2]):+d}"


def operation(name: str) -> str:
    """The operation without its back end.

    >>> operation("nccl:all_reduce_barrier"), operation("gloo:barrier"), operation("send 0->1")
    ('barrier', 'barrier', 'send 0->1')
    """
    op = name.rpartition(":")[2].strip()
    return "barrier" if op.endswith("barrier") else op


def _text(value: object) -> str:
    if isinstance(value, str):
        return value[:200]
    raise TypeError("a name is not text")


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("types are not a list")
    return tuple(map(_text, value[:_MOST_TENSORS]))


def _frozen(value: object) -> tuple[tuple[int, ...], ...]:
    """Sizes as tuples; anything but a list of lists of numbers is refused."""
    if not isinstance(value, (list, tuple)):
        raise TypeError("sizes are not a list")
    return tuple(_shape(size) for size in value[:_MOST_TENSORS])


def _shape(value: object) -> tuple[int, ...]:
    if isinstance(value, (list, tuple)) and all(type(n) is int for n in value[:64]):
        return tuple(value[:64])
    raise TypeError("a size is not a list of numbers")
