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
LATE = "Wibbling frobs:  98%|######### | 980/1000 [29:58<00:37,  1.80s/it]\n"


def judge(tmp_path: Path, text: str) -> tuple[Outcome, frozenset[int], tuple[str, ...]]:
    log = tmp_path / "log.txt"
    log.write_text(text)
    found = diagnose(str(log))
    assert found.cause is None
    return found.outcome, frozenset(map(int, found.culprits)), found.fired


@pytest.mark.parametrize("bars", [EARLY + LATE, LATE], ids=["two states", "one state"])
def test_an_unknown_label_is_matched_by_its_time(tmp_path: Path, bars: str) -> None:
    outcome, culprits, fired = judge(tmp_path, bars + OTHERS)
    assert outcome is Outcome.LOCATED
    assert culprits == {0}
    assert "SLO006" in fired


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
