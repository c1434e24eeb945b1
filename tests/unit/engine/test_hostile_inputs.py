"""What mutated inputs broke once, as small as it is: each is told of, and none ends the run."""

from __future__ import annotations

import zipfile
from pathlib import Path

import unhang


def test_a_member_whose_checksum_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "job.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("job.log", "step 1/9 loss 2.0\n" * 50_000)
    path.write_bytes(path.read_bytes().replace(b"step 1/9", b"step 2/9", 1))
    assert any("CRC" in problem.message for problem in unhang.diagnose(str(path)).problems)


def test_numbers_that_nothing_can_hold(tmp_path: Path) -> None:
    many = "9" * 5_000
    (tmp_path / "job.log").write_text(
        f"NCCL version 2.{many}.3+cuda12.4\n"
        f"PyTorch version 2.{many}.0\n"
        f"Epoch 1:  10%|#         | {'9' * 400}/{'9' * 400} [00:12<01:00,  9.1it/s]\n"
        f"Epoch 1:  20%|##        | 2e999/1e999 [{many}:12<01:00,  9.1it/s]\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total "
        "capacity of 79.15 GiB of which 1.12 GiB is free.\n"
    )
    found = unhang.diagnose(str(tmp_path))
    assert not [p for p in found.problems if "failed" in p.message]
