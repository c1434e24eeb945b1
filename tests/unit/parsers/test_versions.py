"""Versions stated in texts."""

import pytest

from support.feeding import feed
from unhang.model.events import VersionSeen
from unhang.parsers.versions import VersionParser


def versions(*texts: str) -> set[tuple[str, str]]:
    return {
        (e.component, e.version) for e in feed(VersionParser, *texts) if isinstance(e, VersionSeen)
    }


@pytest.mark.parametrize(
    ("text", "component", "version"),
    [
        ("PyTorch version: 2.6.0+cu124", "torch", "2.6.0+cu124"),
        ("torch version .................... 2.1.0", "torch", "2.1.0"),
        ("- PyTorch version (GPU?): 2.5.1+cu121 (True)", "torch", "2.5.1+cu121"),
        (
            "NVIDIA Release 24.10 (build 9) PyTorch Version 2.5.0a0+e000cf0",
            "torch",
            "2.5.0a0+e000cf0",
        ),
        ("CUDA used to build PyTorch: 12.4", "cuda", "12.4"),
        ("| Driver Version: 550.54.14   CUDA Version: 12.4 |", "driver", "550.54.14"),
        ("| Driver Version: 550.54.14   CUDA Version: 12.4 |", "cuda-driver", "12.4"),
        ("Nvidia driver version: 535.104.05", "driver", "535.104.05"),
        ("nvidia-nccl-cu12==2.21.5", "nccl", "2.21.5"),
        ("nvidia-nccl-cu12          2.21.5", "nccl", "2.21.5"),
        ("RuntimeError: NCCL error in: x.cpp:1, unhandled, NCCL version 2.18.5", "nccl", "2.18.5"),
        ("Python version: 3.11.9 (main, x) [GCC 11]", "python", "3.11.9"),
        ('  File "/env/lib/python3.10/site-packages/a.py", line 1', "python", "3.10"),
        ("DeepSpeed info: version=0.14.4, git-hash=unknown", "deepspeed", "0.14.4"),
        ('  "transformers_version": "4.46.1",', "transformers", "4.46.1"),
        ("- `transformers` version: 4.57.1", "transformers", "4.57.1"),
        ("transformers==4.40.2", "transformers", "4.40.2"),
        ("torch                     2.5.1", "torch", "2.5.1"),
        ("Initializing a V1 LLM engine (v0.8.5) with config", "vllm", "0.8.5"),
    ],
)
def test_a_version(text: str, component: str, version: str) -> None:
    assert (component, version) in versions(text)


def test_a_version_is_said_once() -> None:
    assert len(feed(VersionParser, *["PyTorch version: 2.6.0"] * 8)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "torch  is a package",
        "NCCL version mismatch between ranks",
        "Python version not found",
    ],
)
def test_texts_without_a_version(text: str) -> None:
    assert versions(text) == set()
