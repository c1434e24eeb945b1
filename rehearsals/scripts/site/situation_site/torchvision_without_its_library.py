"""Two operators of torchvision are declared that its compiled library would register.

The library does not load beside a CPU build of torch, and torchvision's import asks for them.
Nothing here calls them.
"""

AFTER = "torch"

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def apply(module, settings):
    """Declare the operators; the library object must live as long as the process."""
    module._torchvision_declared = module.library.Library("torchvision", "DEF")
    for operator in _OPERATORS:
        module._torchvision_declared.define(operator)
