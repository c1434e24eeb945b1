"""Work of unknown kind that lasted as long as the others waited; and bars that only look so."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang import diagnose
from unhang.model.causes import Cause
from unhang.model.diagnosis import Outcome

TIMEOUT = (
    "[rank{rank}]:[E1122 10:30:00.000000 10 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught"
    " collective operation timeout: WorkNCCL(SeqNum=120, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
    " Timeout(ms)=1800000) ran for 1800034 milliseconds before timing out.\n"
)
OTHERS = "".join(TIMEOUT.format(rank=rank) for rank in (1, 2))
EARLY = "Wibbling frobs:  20%|##        | 200/1000 [06:00<24:00,  1.80s/it]\n"
LATE = "Wibbling frobs:  60%|######### | 600/1000 [29:58<19:58,  3.00s/it]\n"
SOON = "Wibbling frobs:  98%|######### | 980/1000 [29:58<00:37,  1.80s/it]\n"

FAILED = (
    "W1122 10:30:01.000000 9 torch/distributed/elastic/multiprocessing/api.py:858] Sending process"
    " 11 closing signal SIGTERM\n"
    "E1122 10:30:02.000000 9 torch/distributed/elastic/multiprocessing/api.py:833] failed"
    " (exitcode: -6) local_rank: 1 (pid: 12) of binary: /usr/bin/python\n"
    "train.py FAILED\n"
    "Failures:\n"
    "[1]:\n"
    "  host      : box\n"
    "  rank      : 2 (local_rank: 2)\n"
    "  exitcode  : -6 (pid: 13)\n"
    "Root Cause (first observed failure):\n"
    "[0]:\n"
    "  host      : box\n"
    "  rank      : 1 (local_rank: 1)\n"
    "  exitcode  : -6 (pid: 12)\n"
)


def judge(tmp_path: Path, text: str) -> tuple[Outcome, frozenset[int], tuple[str, ...]]:
    log = tmp_path / "log.txt"
    log.write_text(text)
    found = diagnose(str(log))
    assert found.cause is None
    return found.outcome, frozenset(map(int, found.culprits)), found.fired


@pytest.mark.parametrize("bars", [EARLY + LATE, LATE], ids=["two states", "one state"])
def test_an_unknown_label_is_matched_by_its_time(tmp_path: Path, bars: str) -> None:
    (tmp_path / "log.txt").write_text(bars + OTHERS)
    found = diagnose(str(tmp_path / "log.txt"))
    assert found.cause is Cause.TIMEOUT_SHORT  # whatever it was: it advanced, towards an end
    assert found.culprits == {0}
    assert "SLO006" in found.fired


@pytest.mark.parametrize(
    ("before", "label", "cause"),
    [
        ("", "", Cause.DATA_SLOW),
        ("", "part.bin: ", Cause.TIMEOUT_SHORT),
        ("Saving model to /a\n", "", Cause.TIMEOUT_SHORT),
    ],
    ids=["a file", "named", "saved"],
)
def test_a_bar_of_bytes_reads_a_file(tmp_path: Path, before: str, label: str, cause: Cause) -> None:
    log = tmp_path / "log.txt"
    bar = "{label}{p}%|##     | {done}0000000/900000000000 [{t}<55:44, 404.4MB/s]\n"
    early = bar.format(label=label, p=7, done=63, t="06:00")
    late = bar.format(label=label, p=35, done=315, t="29:58")
    log.write_text(before + early + late + OTHERS)
    assert diagnose(str(log)).cause is cause


def test_what_a_launcher_says_of_rank_0_is_not_its_voice(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(EARLY + SOON + OTHERS + FAILED)
    assert diagnose(str(log)).cause is Cause.TIMEOUT_SHORT


def test_work_that_was_nearly_done_needed_a_longer_timeout(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(EARLY + SOON + OTHERS)
    found = diagnose(str(log))
    assert found.cause is Cause.TIMEOUT_SHORT
    assert found.culprits == {0}
    log.write_text("[rank0]: step 3/100 loss: 1.2\n" + EARLY + SOON + OTHERS)
    assert diagnose(str(log)).cause is None


@pytest.mark.parametrize(
    "text",
    [
        EARLY + LATE + TIMEOUT.format(rank=0) + OTHERS,
        "Wibbling frobs:   1%|          | 5/1000 [00:10<33:10,  2.00s/it]\n"
        + OTHERS
        + "Wibbling frobs:   1%|          | 5/1000 [30:02<33:10,  2.00s/it]\n",
        "Wibbling frobs:   1%|          | 5/1000 [30:02<33:10,  2.00s/it]\n" + OTHERS,
        "Wibbling frobs:   0%|          | 0/1000 [30:00<?, ?it/s]\n" + OTHERS,
        EARLY.replace("06:00", "01:00") + LATE.replace("29:58", "12:00") + OTHERS,
        EARLY + LATE.replace("29:58", "48:58") + OTHERS,
    ],
    ids=["rank 0 waits", "drawn at the end", "hung in a step", "no item", "shorter", "longer"],
)
def test_a_bar_that_shows_no_work_in_the_wait_is_not(tmp_path: Path, text: str) -> None:
    outcome, culprits, fired = judge(tmp_path, text)
    assert outcome is Outcome.UNDETERMINED
    assert culprits == frozenset()
    assert "SLO006" not in fired


def test_where_rank_0_speaks_for_itself_the_bar_names_nobody(tmp_path: Path) -> None:
    signed = "[rank0]: I am here\n[rank0]: Traceback (most recent call last):\n"
    warned = "[rank0]:[W1122 10:00:01.000000 10 ProcessGroupNCCL.cpp:1250] Warning: destroyed\n"
    text = signed + warned + "[rank0]: step 3/100 loss: 1.2\n" + EARLY + LATE + OTHERS
    _, culprits, _ = judge(tmp_path, text)
    assert culprits == frozenset()


@pytest.mark.parametrize(
    ("before", "named"),
    [
        ("", True),
        ("[rank0]: step 3/100 loss: 1.2\n", False),
        ("Map:  50%|#####     | 180/359 [15:00<14:58,  5.0s/it]\n" * 2, True),
        ("Map:  96%|######### | 345/359 [28:59<01:01,  5.0s/it]\n", False),
    ],
    ids=["alone", "rank 0 signs", "drawn twice", "another one is further"],
)
def test_the_owner_of_the_only_bar(tmp_path: Path, before: str, named: bool) -> None:
    log = tmp_path / "log.txt"
    bar = "Map:  92%|#########2| 330/359 [29:58<02:40,  5.4s/it]\n"
    log.write_text(before + bar + TIMEOUT.format(rank=1))
    found = diagnose(str(log))
    assert found.cause is Cause.DATA_SLOW
    assert found.culprits == (frozenset({0}) if named else frozenset())
