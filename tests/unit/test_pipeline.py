"""The pipeline end to end on two lines."""

from pathlib import Path

import unhang


def test_two_operations_at_one_sequence_number(tmp_path: Path) -> None:
    line = (
        "[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType={op}, Timeout(ms)=1800000) ran for 1800100 milliseconds "
        "before timing out.\n"
    )
    log = tmp_path / "job.log"
    log.write_text(line.format(rank=0, op="ALLGATHER") + line.format(rank=1, op="BROADCAST"))
    diagnosis = unhang.diagnose(str(log))
    assert diagnosis.cause is not None
    assert diagnosis.cause.value == "desync"
