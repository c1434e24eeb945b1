"""PCI addresses in the forms of different tools."""

import pytest

from unhang.model.pci import pci_address


@pytest.mark.parametrize("text", ["00000000:3B:00.0", "0000:3b:00", "3b:00.0", "3b000", "0x3b000"])
def test_one_device_in_all_spellings(text: str) -> None:
    assert pci_address(text) == "3b:00"


@pytest.mark.parametrize("text", ["", "eth0", "3b", "GPU-3b000", "0000:3b:00.0,"])
def test_other_texts_are_none(text: str) -> None:
    assert pci_address(text) is None


def test_a_low_bus_has_two_digits_in_all_forms() -> None:
    assert pci_address("7000") == pci_address("0000:07:00.0") == "07:00"
