"""The sources of evidence: one file each; `SPECS` lists them."""

from __future__ import annotations

from unhang.capturing.spec import Spec
from unhang.capturing.specs import (
    commands,
    environment,
    faulthandler_files,
    files,
    gpus,
    kernel_log,
    memory,
    network,
    output,
    proc,
    ras,
    rdma,
    recorder,
    run_folder,
    scheduler,
    stacks,
    versions,
)

SPECS: tuple[Spec, ...] = (
    environment.SPEC,
    faulthandler_files.SPEC,
    files.SPEC,
    gpus.SPEC,
    kernel_log.SPEC,
    memory.SPEC,
    network.SPEC,
    output.SPEC,
    proc.SPEC,
    ras.SPEC,
    rdma.SPEC,
    recorder.SPEC,
    run_folder.SPEC,
    scheduler.SPEC,
    stacks.SPEC,
    versions.SPEC,
    *commands.SPECS,
)
"""Every source."""
