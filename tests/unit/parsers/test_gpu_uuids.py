"""What the UUID of a GPU belongs to."""

from support.feeding import feed, only
from unhang.model.events import GpuUuid
from unhang.parsers.gpu_uuids import GpuUuidsParser

UUID = "GPU-5c0f1d22-0a1b-9c8d-77e6-0123456789ab"


def test_a_list_tells_the_index() -> None:
    events = feed(GpuUuidsParser, f"GPU 6: NVIDIA A100-SXM4-80GB (UUID: {UUID})")
    gpu = only(GpuUuid, events)
    assert (gpu.uuid, gpu.index, gpu.bus_id) == (UUID, 6, None)


def test_the_driver_tells_the_address() -> None:
    events = feed(GpuUuidsParser, f"kernel: NVRM: GPU at PCI:0000:c1:00: {UUID}")
    gpu = only(GpuUuid, events)
    assert (gpu.uuid, gpu.index, gpu.bus_id) == (UUID, None, "0000:c1:00")


def test_a_slice_of_a_gpu_is_none() -> None:
    assert not feed(GpuUuidsParser, "  MIG 1g.10gb Device 0: (UUID: MIG-5c0f1d22)")
