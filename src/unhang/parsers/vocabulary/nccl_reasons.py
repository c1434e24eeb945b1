"""From the text of an NCCL warning or `Last error:` to what it says and whom it names.

The class that NCCL prints ("internal error", "unhandled system error") decides little; the text
does. `nccl_texts` lists the texts.
"""

from __future__ import annotations

from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import DeviceProblem, NcclReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.parsers.vocabulary import cuda_errors
from unhang.parsers.vocabulary.nccl_texts import FOLLOW_UP, NOISE, TEXTS, pattern

_R = NcclReason

_CUDA = pattern(r"Cuda failure", r"CUDA (?:driver |runtime )?error", r"HIP (?:failure|error)")
_CUDA_REASONS: dict[DeviceProblem, NcclReason] = {
    DeviceProblem.OUT_OF_MEMORY: _R.CUDA_OOM,
    DeviceProblem.ILLEGAL_ACCESS: _R.CUDA_KERNEL,
    DeviceProblem.ASSERT: _R.CUDA_KERNEL,
    DeviceProblem.LAUNCH_FAILURE: _R.CUDA_KERNEL,
    DeviceProblem.ECC: _R.CUDA_HARDWARE,
    DeviceProblem.NVLINK: _R.CUDA_HARDWARE,
    DeviceProblem.FELL_OFF: _R.CUDA_HARDWARE,
    DeviceProblem.FABRIC: _R.FABRIC,
    DeviceProblem.DRIVER: _R.CUDA_DRIVER,
    DeviceProblem.NO_KERNEL: _R.CUDA_DRIVER,
    DeviceProblem.BAD_ORDINAL: _R.CUDA_ORDINAL,
    DeviceProblem.PEER: _R.PEER_ACCESS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclReading:
    """What one text says: the fields of `NcclFailure` that come from it."""

    reason: NcclReason
    peer: str | None = None
    hca: str | None = None
    status: int | None = None
    vendor_error: int | None = None
    ranks: Ranks = NO_RANKS
    operation: str | None = None


_PEER = re.compile(
    r"(?:peer|remote\s*peer|[Cc]onnect(?:\(\))?\s*to|recv\s*from|send\s*to|address)\s*"
    r"\[?(?P<peer>[A-Za-z0-9][\w.:%\-]{0,120}?)\]?(?=<|\s|,|$)"
)
_LOCAL_ID = re.compile(r"\bdlid=(?P<lid>\d{1,6})\b|\bdgid=(?:::ffff:)?(?P<gid>[\da-fA-F.:]{7,40})")
"""Where UCX's request went: a LID of InfiniBand, or an address of RoCE."""
_HCA = re.compile(r"\b(?P<hca>(?:mlx|bnxt_re|irdma|efa|rdmap|ionic|hns|erdma)[\w\-]{0,32})")
_STATUS = re.compile(r"(?:with\s*error|status)\s*=?\s*(?P<status>\d{1,4})")
_VENDOR = re.compile(r"vendor\s*err(?:or)?\s*(?P<vendor>\d{1,5})")
_RANKS = re.compile(r"\brank\s*(?P<rank>\d{1,6})")
_OPERATION = re.compile(r"operation\s*=?\s*(?P<op>[A-Z]\w{2,24})|\((?P<call>Setup|Connect|Init)\)")


def _peer(text: str) -> str | None:
    """Whom a text names: an address, a host, or the LID of an adapter."""
    went = _LOCAL_ID.search(text)
    if went is not None:
        return went["gid"] or f"lid {went['lid']}"
    peer = _PEER.search(text)
    return None if peer is None else peer["peer"]


def read(text: str) -> NcclReading:
    """Classify `text` and pick out whom it names."""
    reason = classify(text)
    hca = _HCA.search(text)
    status, vendor = _STATUS.search(text), _VENDOR.search(text)
    operation = _OPERATION.search(text)
    return NcclReading(
        reason=reason,
        peer=_peer(text),
        hca=None if hca is None else hca["hca"],
        status=None if status is None else int(status["status"]),
        vendor_error=None if vendor is None else int(vendor["vendor"]),
        ranks=_named_ranks(reason, text),
        operation=None if operation is None else operation["op"] or operation["call"],
    )


def classify(text: str) -> NcclReason:
    """Say what `text` is about; `UNSPECIFIED` when it is none of the known texts.

    >>> classify("NET/IB : Got completion from peer 10.0.0.7<1> with error 5, opcode 0").value
    'ib-flushed'
    >>> classify("Bootstrap : no socket interface found").value
    'no-interface'
    """
    if NOISE.search(text):
        return _R.PLUGIN_NOISE
    if FOLLOW_UP.search(text):
        return _R.LOCAL_PEER_CLOSED if _CLOSED_LOCALLY.search(text) else _R.PROXY_FOLLOW_UP
    found = next((reason for reason, pattern in TEXTS if pattern.search(text)), None)
    if found is not None:
        return found
    if _CUDA.search(text):
        return _CUDA_REASONS.get(cuda_errors.classify(text).problem, _R.CUDA_OTHER)
    return _R.UNSPECIFIED


_CLOSED_LOCALLY = pattern(r"Connection closed by local ?Rank")


def _named_ranks(reason: NcclReason, text: str) -> Ranks:
    if reason not in {_R.DUPLICATE_GPU, _R.NCCL_VERSIONS, _R.BOOTSTRAP_DUPLICATE}:
        return NO_RANKS
    return frozenset(Rank(int(match["rank"])) for match in _RANKS.finditer(text))
