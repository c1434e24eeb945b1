"""As many processes on a node as it has visible GPUs."""

from __future__ import annotations

from unhang.fixing.config_file import Language
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job
from unhang.fixing.refusal import Refusal
from unhang.linting.device_counts import granted, started, visible


def fewer(job: Job) -> Job:
    """The job with the processes that its GPUs allow.

    Raises:
        Refusal: the files do not tell both numbers, or they fit.
    """
    scripts = [h.file.text for h in job.documents if h.file.language is Language.SHELL]
    devices = visible(job.value("CUDA_VISIBLE_DEVICES"))
    devices = devices or next(filter(None, map(granted, scripts)), None)
    processes = started(job.value)
    if devices is None or processes is None:
        raise Refusal("the files do not tell how many GPUs and how many processes a node has")
    key, count, nodes = processes
    if count <= devices * nodes:
        raise Refusal(f"`{key}` is {count}, and {devices * nodes} GPUs are visible: they fit")
    for held in job.documents:
        if key not in held.settings or held.owner is None:
            continue
        wanted = devices * nodes
        if held.file.language is Language.YAML:
            text = yaml_editor.set_key(held.file.text, [key], wanted)
        elif held.file.language is Language.SHELL:
            text = shell_editor.set_flag(held.file.text, key, str(wanted), "")
        else:
            continue
        return job.with_text(held, text)
    raise Refusal(f"`{key}` is set in a file that was not given")
