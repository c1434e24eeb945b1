"""GPUs by NVML, their fabric, how they are placed, and what stands between them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.util import find_spec

from unhang.capturing.bounded import Ran, run
from unhang.checking.host import Fact, Host, Skip, failed, passed, warned
from unhang.model.preflight import Stage

_DEVICE = re.compile(r"nvidia\d{1,4}")
_LIMIT_S = 7.0
_HOT = 85
"""Degrees Celsius; NVIDIA's data centre GPUs slow down at 85 to 90."""
_THROTTLES = ("HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown")
_USED_BYTES = 1 << 30
_PCI = "/sys/bus/pci/devices"
_DISPLAY, _NETWORK = "0x03", "0x02"


def gpus(host: Host) -> Iterator[Stage]:
    """Each GPU is asked by a process of its own: one that hangs takes no time from the others."""
    count = sum(_DEVICE.fullmatch(name) is not None for name in host.names("/dev"))
    if count == 0:
        raise Skip("no_device", what="NVIDIA GPU")
    if find_spec("pynvml") is None:
        raise Skip("no_package", package="nvidia-ml-py", extra="gpu")
    if count < host.request.ranks:
        yield failed("gpu_count", count=count, ranks=host.request.ranks)
    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(_ask, range(count)))
    names, firmware = [], set()
    for index, answer in enumerate(answers):
        text = answer.out.decode(errors="replace")
        asked = re.findall(r"^# asking (.+)$", text, re.MULTILINE)
        if answer.timed_out:
            last = asked[-1] if asked else "nvmlInit"
            yield failed("gpu_hangs", index=index, call=last, limit_s=_LIMIT_S)
        elif answer.code != 0:
            line = (answer.err or "?").splitlines()[-1][:160]
            yield failed("gpu_unanswered", index=index, error=line)
        else:
            yield from judge_gpu(index, text)
        names += re.findall(r"Product Name : (.+)", text)
        firmware |= {*re.findall(r"VBIOS : (.+)", text)}
    measured = {"names": names, "gpu_firmware": sorted(firmware)}
    yield passed("gpus", measured, count=count, name=", ".join(sorted({*names})))


def _ask(index: int) -> Ran:
    child = str(files("unhang.capturing.specs").joinpath("gpus_child.py"))
    return run((sys.executable, child, str(index)), limit_s=_LIMIT_S, limit_bytes=1 << 20)


def judge_gpu(index: int, text: str) -> Iterator[Stage]:
    """What the text of one GPU (`gpus_child.py`) tells against it."""
    facts = dict(re.findall(r"^\s*([\w /%-]+?) : (.+)$", text, re.MULTILINE))
    heat = _number(facts.get("Temperature C"))
    if heat is not None and heat >= _HOT:
        yield warned("gpu_hot", index=index, degrees=heat)
    for reason in _THROTTLES:
        if facts.get(reason) == "Active":
            yield failed("gpu_slowed", index=index, reason=reason)
    volatile = re.search(r"Volatile\n\s+DRAM Uncorrectable : (\d+)", text)
    if volatile is not None and int(volatile[1]) > 0:
        yield failed("gpu_ecc", index=index, count=int(volatile[1]))
    if facts.get("Remapping Failure Occurred") == "Yes":
        yield failed("gpu_rows", index=index)
    if facts.get("GPU Recovery Action", "None") != "None":
        yield failed("gpu_recovery", index=index, action=facts["GPU Recovery Action"])
    width, most = (_number(facts.get(f"PCIe Width{end}")) for end in ("", " Max"))
    if width is not None and most is not None and width < most:
        yield warned("gpu_width", index=index, width=width, most=most)
    down = re.findall(r"NVLink (\d+) : Down", text)
    up = re.findall(r"NVLink (\d+) : Up", text)
    if down and up:
        yield failed("gpu_link", index=index, links=", ".join(down))
    if facts.get("MIG Mode") == "1":
        yield warned("gpu_mig", index=index)
    yield from _others(index, text)


def _others(index: int, text: str) -> Iterator[Stage]:
    used = re.findall(r"Process ID : (\d+)\n\s+Used GPU Memory bytes : (\d+)", text)
    if used:
        size = sum(int(bytes_used) for _, bytes_used in used)
        yield warned("gpu_taken", index=index, pids=", ".join(pid for pid, _ in used), size=size)
    elif (whole := re.search(r"Memory Used bytes : (\d+)", text)) and int(whole[1]) > _USED_BYTES:
        yield warned("gpu_memory_taken", index=index, size=int(whole[1]))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdigit() else None


def fabric(host: Host) -> Iterator[Stage]:
    """GPUs behind NVSwitches compute nothing until the fabric manager has set the switches up."""
    if not any(name.startswith("nvidia-nvswitch") for name in host.names("/dev")):
        raise Skip("no_device", what="NVSwitch")
    comms = (host.find(f"/proc/{pid}/comm") for pid in host.names("/proc") if pid.isdigit())
    if any((comm or "").startswith("nv-fabricmanage") for comm in comms):
        yield passed("fabric")
    elif _in_container(host):
        raise Skip("in_container")
    else:
        yield failed("fabric_absent", "NVIDIA Fabric Manager User Guide")


def placement(host: Host) -> Iterator[Stage]:
    """NUMA nodes of GPUs and adapters; an IOMMU that translates, between GPUs that talk."""
    placed = {
        device: host.number(f"{_PCI}/{device}/numa_node")
        for device in host.names(_PCI)
        if (host.find(f"{_PCI}/{device}/class") or "")[:4] in (_DISPLAY, _NETWORK)
        and host.find(f"{_PCI}/{device}/vendor") in ("0x10de", "0x15b3", "0x1002")
    }
    if not placed:
        raise Skip("no_device", what="GPU / RDMA")
    nodes = [n for n in host.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", n)]
    lost = [device for device, node in placed.items() if node is None or node < 0]
    if len(nodes) > 1 and lost:
        yield warned("numa_unknown", devices=", ".join(lost[:8]), nodes=len(nodes))
    line = host.find("/proc/cmdline") or ""
    if host.names("/sys/class/iommu") and "iommu=pt" not in line and len(placed) > 1:
        yield warned("iommu", "NCCL troubleshooting: PCI Access Control Services (ACS)")
    yield passed("placement", {"numa_nodes": placed}, devices=len(placed))


def container(host: Host) -> Iterator[Stage]:
    """Whether this is a container, and what it was given."""
    inside = _in_container(host)
    seen = host.environ.get("NVIDIA_VISIBLE_DEVICES")
    hidden = host.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and hidden.strip() in ("", "-1"):
        yield warned("gpus_hidden", value=hidden)
    found = {"container": inside, "visible": seen}
    yield passed("container" if inside else "no_container", found)


def _in_container(host: Host) -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")
    if any(host.path(mark).exists() for mark in marks):
        return True
    return (
        re.search(r"docker|kubepods|containerd|libpod", host.find("/proc/1/cgroup") or "")
        is not None
    )


FACTS = (
    Fact(name="gpus", look=gpus, limit_s=9.0),
    Fact(name="fabric", look=fabric),
    Fact(name="placement", look=placement),
    Fact(name="container", look=container),
)
