"""No text makes a reader of settings raise, or take long."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.linting.checks import Releases, check
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.json import read_json
from unhang.linting.readers.process import read_dump
from unhang.linting.readers.python import read_python
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.yaml import read_yaml

READERS = (read_shell, read_yaml, read_json, read_python)
PIECES = (
    *("export NCCL_DEBUG=", "NCCL_TIMEOUT=7200", "- name: ", "value: |\n", "--ddp_timeout"),
    *("DEEPSPEED_TIMEOUT=", "#SBATCH -N", "trainer.nnodes=", "NCCL_IB_TIMEOUT=", "if", "fi"),
    *("'", '"', "\\\n", "\n", " ", "  ", "=", "${", "}", "#", "{", "[", ":", "é", "\x00", "-"),
    *("1e999", "9" * 30, "nan"),
)

every_reader = pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)


@every_reader
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40))
def test_no_text_raises(read: Callable[[SettingsDocument, str], None], pieces: list[str]) -> None:
    document = SettingsDocument(name="x")
    read(document, "".join(pieces))
    check([document], Releases(torch="2.6.0", nccl="2.21.5"))


@given(st.binary(max_size=200))
def test_no_copy_of_an_environment_raises(content: bytes) -> None:
    document = SettingsDocument(name="x")
    read_dump(document, content)
    check([document], Releases())


@every_reader
@pytest.mark.parametrize("piece", ["'", '"', "\\", "a=", "- ", "{", "#", "$", "A=1 "])
def test_a_megabyte_takes_no_minute(
    read: Callable[[SettingsDocument, str], None], piece: str
) -> None:
    started = time.process_time()
    read(SettingsDocument(name="x"), piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 10
