"""What a job lived with does not convict it, in whatever words it then works on."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome

_ERRORS = {
    "network": "requests.exceptions.ReadTimeout: Pool(host='a', port=443): Read timed out.",
    "storage": "OSError: [Errno 5] Input/output error: '/mnt/nfs/ck/tmp.pt'",
    "data": "TypeError: 'NoneType' object is not subscriptable",
}


def traceback(error: str) -> list[str]:
    frame = '  File "/srv/fit/io.py", line 52, in write'
    return ["Traceback (most recent call last):", frame, "    f.write(buf)", error]


def work(first: int, last: int, style: str) -> list[str]:
    """Rows and counts that no parser knows."""
    if style == "rows":
        form = "2024-05-20 {h:02d}:{m:02d}:42 | epoch {n:3d}/90 | train_mae {loss:.4f} | {s}.3 s"
    else:
        form = "[2024-05-20 {h:02d}:{m:02d}:42] it={n} ce={loss:.3f} acc={acc:.3f} t={s}s"
    return [
        form.format(h=18 + n // 60, m=n % 60, n=n, loss=0.4 - n / 900, acc=n / 99, s=400 + n % 4)
        for n in range(first, last)
    ]


def judged(folder: Path, *lines: str, **others: list[str]) -> Diagnosis:
    for name, text in {"train": list(lines), **others}.items():
        (folder / f"{name}.log").write_text("\n".join(text) + "\n")
    return unhang.diagnose(str(folder))


@pytest.mark.parametrize("style", ["rows", "counts"])
@pytest.mark.parametrize("error", _ERRORS.values(), ids=_ERRORS)
def test_an_error_that_comes_again_amid_work(error: str, style: str, tmp_path: Path) -> None:
    log: list[str] = []
    for n in range(1, 49, 12):
        log += [*work(n, n + 12, style), *traceback(error)]
    assert judged(tmp_path, *log, *work(49, 57, style)).outcome is Outcome.UNDETERMINED
    assert judged(tmp_path, *work(1, 49, style), *traceback(error)).outcome is Outcome.CAUSE


def request(minute: int, pid: int = 1) -> str:
    return (
        f"(Api pid={pid}) ERROR 10-01 09:{minute:02d}:30 [chat.py:257] ValueError: too long: 40112"
    )


def test_a_process_that_prints_its_error_again_later_lives(tmp_path: Path) -> None:
    ready = "(Api pid=1) INFO 10-01 09:00:00 [launcher.py:36] Application startup complete."
    assert judged(tmp_path, ready, request(10), request(14)).outcome is not Outcome.CAUSE
    assert judged(tmp_path, ready, request(10), request(10)).cause is Cause.RANK_EXCEPTION
    others = [request(10, 1), request(14, 2)]
    assert judged(tmp_path, ready, *others).cause is Cause.RANK_EXCEPTION


def test_what_is_torn_down_may_complain(tmp_path: Path) -> None:
    ignored = "Exception ignored in: <function _Iter.__del__ at 0x7f2b1c0d8ca0>"
    busy = "OSError: [Errno 16] Device or resource busy: '.nfs00000018c22f'"
    assert judged(tmp_path, *work(1, 30, "rows"), ignored, busy).outcome is not Outcome.CAUSE
    assert judged(tmp_path, *work(1, 30, "rows"), busy).outcome is Outcome.CAUSE


@pytest.mark.parametrize(
    "told",
    [
        "NVRM: Xid (PCI:0000:cb:00): 92, pid='<unknown>', name=<unknown>, High single-bit ECC rate",
        "NVRM: Xid (PCI:0000:cb:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row",
        "NVRM: Xid (PCI:0000:1b:00): 94, pid=551200, name=python3, Contained: SM (0x1)",
        "NVRM: Xid (PCI:0000:1b:00): 31, pid=77120, name=jupyter, Ch 00000018, MMU Fault",
        "LustreError: 11-0: scratch-OST001a: operation ost_read to node 10.1.0.1@o2ib failed",
    ],
)
def test_the_kernel_tells_of_something_amid_work(told: str, tmp_path: Path) -> None:
    kernel = [f"[Mon May 20 18:20:02 2024] {told}"]
    found = judged(tmp_path, *work(1, 60, "rows"), "training complete, bye", dmesg=kernel)
    assert found.outcome is not Outcome.CAUSE


def test_a_fault_that_the_gpu_did_not_correct_still_convicts(tmp_path: Path) -> None:
    told = "NVRM: Xid (PCI:0000:cb:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off"
    kernel = [f"[Mon May 20 18:30:02 2024] {told} the bus."]
    found = judged(tmp_path, *work(1, 30, "rows"), dmesg=kernel)
    assert found.cause is Cause.GPU_HARDWARE


def test_a_hang_that_somebody_ended_is_no_stop(tmp_path: Path) -> None:
    stacks = [
        f"[rank {rank}] {line}"
        for rank in range(3)
        for line in (
            "Timeout (0:02:00)!",
            f"Thread 0x00007f{rank}a11fc1740 (most recent call first):",
            '  File "torch/distributed/distributed_c10d.py", line 5095 in new_group',
            '  File "torch/distributed/device_mesh.py", line 355 in _init_process_groups',
            '  File "mesh.py", line 88 in __init__',
        )
    ]
    assert judged(tmp_path, *stacks, "Terminated").cause is None


def test_nccl_in_the_words_of_another_framework_is_an_echo(tmp_path: Path) -> None:
    warned = "dgx-a3:217733:218704 [4] ibvwrap.c:130 NCCL WARN Call to ibv_create_qp failed"
    error = "tensorflow.python.framework.errors_impl.InternalError: NCCL: unhandled system error."
    assert judged(tmp_path, warned, "", *traceback(error)).cause is Cause.RDMA_FAULT
