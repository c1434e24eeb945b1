"""The version of torch from line numbers in headers."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import VersionSeen
from unhang.parsers.torch_version import TorchVersionParser
from unhang.parsers.vocabulary.torch_lines import RELEASES, TorchMessage
from unhang.sources.line import Line

ALARM = "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1"
FAILED = "[Rank 0] Some NCCL operations have failed or timed out."
REPORT = "[PG ID 0 PG GUID 0 Rank 0]  failure detected by watchdog at work sequence id: 1"


def version(*lines: Line) -> VersionSeen:
    return only(VersionSeen, feed(TorchVersionParser, *(_visible(item) for item in lines)))


def _visible(item: Line) -> Line:
    """With the header in the raw text, as it stands in a log."""
    header = item.header
    prefix = "" if header is None else f"[E {header.file}:{header.line}] "
    return Line(
        artifact=item.artifact,
        number=item.number,
        text=item.text,
        raw=prefix + item.text,
        origin=item.origin,
        header=header,
    )


def test_two_lines_of_one_release_name_it() -> None:
    found = version(line(ALARM, cpp=629), line(REPORT, cpp=2168))
    assert found.version == "2.6.0"
    assert found.basis == "ProcessGroupNCCL.cpp:629/2168"


def test_one_line_is_about() -> None:
    assert version(line(ALARM, cpp=607)).version == "about 2.4"


def test_patch_releases_that_share_lines_are_not_told_apart() -> None:
    assert version(line(ALARM, cpp=632), line(FAILED, cpp=684)).version == "2.7"


def test_a_time_out_at_an_unknown_line_is_a_custom_build() -> None:
    assert version(line(ALARM, cpp=655), line(FAILED, cpp=693)).version == "custom build"


def test_unknown_lines_of_other_messages_tell_nothing() -> None:
    assert feed(TorchVersionParser, _visible(line("terminated, somehow", cpp=1414))) == []


def test_the_place_of_the_exception_counts_too() -> None:
    text = (
        "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/"
        "ProcessGroupNCCL.cpp:565 (most recent call first):"
    )
    assert version(line(text)).version == "about 2.3"


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_is_told_by_its_own_lines(release: str) -> None:
    texts = {TorchMessage.TIMEOUT: ALARM, TorchMessage.FAILED: FAILED, TorchMessage.REPORT: REPORT}
    lines = [
        line(texts[message], cpp=number)
        for message, numbers in RELEASES[release].items()
        if message in texts
        for number in numbers
    ]
    assert release.rpartition(".")[0] in version(*lines).version
