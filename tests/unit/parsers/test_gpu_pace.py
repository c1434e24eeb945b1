"""GPUs that run far below the others of one listing."""

import pytest

from support.job_text import incident_of
from unhang.model.events import HostProblem, HostReport

QUERY = "$ nvidia-smi --query-gpu=index,power.draw,clocks.sm,clocks_throttle_reasons.active"


def behind(*lines: str) -> list[tuple[HostProblem, str | None, int | None]]:
    reports = incident_of(*lines).all(HostReport)
    return [(r.problem, r.origin.host, r.origin.local_rank) for r in reports]


def rows(host: str, *clocks: int, bits: str = "0000000000000000") -> list[str]:
    return [f"{host}: {i}, 688.12 W, {clock} MHz, 0x{bits}" for i, clock in enumerate(clocks)]


def test_one_is_slowed_by_the_hardware() -> None:
    slow = rows("h-17", 990, bits="0000000000000068")
    found = behind(QUERY, *rows("h-16", 1755, 1740, 1755), *slow)
    assert found == [(HostProblem.GPU_SLOWED_ALONE, "h-17", None)]


@pytest.mark.parametrize("bits", ["0000000000000000", "0000000000000004", "0000000000000001"])
def test_a_low_clock_alone_is_no_fault_of_the_hardware(bits: str) -> None:
    found = behind(QUERY, *rows("a", 1755, 1740, 1755), *rows("b", 345, bits=bits))
    assert [problem for problem, *_ in found] == [HostProblem.GPU_BEHIND]


def test_all_of_one_host_in_dmon() -> None:
    lines = []
    for host, clock in (("mx-a", 1531), ("mx-b", 379), ("mx-c", 1531)):
        lines += [f"{host}$ nvidia-smi dmon -s pc -c 1", "# gpu   pwr gtemp mtemp  mclk  pclk"]
        lines += [f"    {gpu}   101    71     -  3615  {clock}" for gpu in range(2)]
    assert {host for _, host, _ in behind(*lines)} == {"mx-b"}


def test_a_lower_limit_of_power() -> None:
    lines = ["| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |"]
    for gpu, limit in enumerate((400, 400, 150, 400)):
        lines.append(f"|   {gpu}  NVIDIA A100-SXM...  On   | 00000000:0{gpu}:00.0 Off |    0 |")
        lines.append(
            f"| N/A   52C    P0   {limit - 9}W / {limit}W |  61022MiB / 81251MiB |    100% |"
        )
    assert behind(*lines) == [(HostProblem.GPU_BEHIND, None, 2)]


def test_a_link_below_what_it_can() -> None:
    head = "index, name, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
    links = ("4, 4, 16, 16", "4, 4, 16, 16", "1, 4, 4, 16")
    lines = [f"{gpu}, NVIDIA GeForce RTX 3090, {link}" for gpu, link in enumerate(links)]
    found = behind(head + "pcie.link.width.max", *lines)
    assert found == [(HostProblem.GPU_LINK_SLOW, None, 2)]


def test_what_all_have_is_how_the_model_runs() -> None:
    assert not behind(QUERY, *rows("a", 990, 1005, 985, bits="0000000000000068"))
    assert not behind(QUERY, *rows("a", 1755, 400))  # two tell nothing of what is usual
