"""What a probe dumps, and in which order."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from unhang.probe.dump import dump


@pytest.mark.parametrize("tells_stacks", [True, False])
def test_calls_are_there_before_their_stacks(
    tells_stacks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stacks may take seconds, and need not come at all."""
    seen: list[list[str]] = []

    def trace(_calls: bool, stacks: bool, _active: bool) -> bytes:
        seen.append(sorted(path.name for path in tmp_path.iterdir()))
        if stacks and not tells_stacks:
            raise RuntimeError
        return b"with stacks" if stacks else b"calls"

    native = SimpleNamespace(_dump_fr_trace=trace)
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", native)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert dump(str(tmp_path), label="3", owner="gn1-77") == []
    assert seen == [["stack_3.txt"], ["done_brief_gn1-77", "stack_3.txt", "trace_3.pickle"]]
    assert (tmp_path / "done_gn1-77").exists()
    left = b"with stacks" if tells_stacks else b"calls"
    assert (tmp_path / "trace_3.pickle").read_bytes() == left
