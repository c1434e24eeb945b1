"""What the cells of a notebook printed."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.model.causes import Cause
from unhang.sources.notebook import outputs

_FULL = "RuntimeError: unable to write to file </torch_412_22_7>: No space left on device (28)"


def _notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5})


def _cell(source: str, *told: dict[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "source": [source], "outputs": list(told), "metadata": {}}


_TEXT = _notebook(
    {"cell_type": "markdown", "source": [f"we once saw {_FULL}"], "metadata": {}},
    _cell(f"# {_FULL}", {"output_type": "stream", "name": "stdout", "text": ["step 1\n"]}),
    _cell("!df -h /dev/shm", {"output_type": "stream", "text": "shm  1G  1G  0 100% /dev/shm\n"}),
    _cell(
        "loop()", {"output_type": "error", "traceback": ["\u001b[0;31mTraceback\u001b[0m", _FULL]}
    ),
    _cell("1", {"output_type": "execute_result", "data": {"text/plain": ["1"]}}),
)


def test_outputs_and_shell_commands_and_no_code() -> None:
    told = outputs(BytesIO(_TEXT.encode())).decode()
    assert told.splitlines() == [
        "step 1",
        "$ df -h /dev/shm",
        "shm  1G  1G  0 100% /dev/shm",
        "\u001b[0;31mTraceback\u001b[0m",
        _FULL,
        "1",
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [3, {"outputs": [1]}]}'])
def test_anything_else_is_empty_and_never_raises(text: str) -> None:
    assert outputs(BytesIO(text.encode())) == b""


def test_a_lone_notebook_is_judged_and_a_collection_is_not(tmp_path: Path) -> None:
    (tmp_path / "train.ipynb").write_text(_TEXT)
    assert unhang.diagnose(str(tmp_path)).cause is Cause.SHM_SMALL
    (tmp_path / "examples.ipynb").write_text(_TEXT)
    with pytest.raises(UsageError):
        unhang.diagnose(str(tmp_path))
