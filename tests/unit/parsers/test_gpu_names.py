"""Models of GPUs."""

import pytest

from support.feeding import feed
from unhang.model.events import VersionSeen
from unhang.parsers.gpu_names import GpuNamesParser


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("GPU 0: NVIDIA H20 (UUID: GPU-1)", "NVIDIA H20"),
        ("[0] NVIDIA A100-SXM4-80GB | 45'C, 0 %", "NVIDIA A100-SXM4-80GB"),
        ('Device 0: "NVIDIA H100 80GB HBM3"', "NVIDIA H100 80GB HBM3"),
        ("gpu_name: NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("| 0 NVIDIA A100 80GB PCIe On |", "NVIDIA A100 80GB PCIe"),
    ],
)
def test_models(text: str, model: str) -> None:
    (event,) = feed(GpuNamesParser, text, text)
    assert isinstance(event, VersionSeen)
    assert event.version == model


@pytest.mark.parametrize(
    "text", ["NVIDIA driver on your system is too old", "report to the NVIDIA NCCL team", "NVIDIA "]
)
def test_other_words_of_the_maker(text: str) -> None:
    assert feed(GpuNamesParser, text) == []
