"""As many processes on a node as it has visible GPUs."""

from __future__ import annotations

from pathlib import PurePath

from unhang import lazy_re as re
from unhang.fixing.config_file import Language
from unhang.fixing.editors import shell as shell_editor
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job
from unhang.fixing.refusal import Refusal
from unhang.linting.device_counts import granted, started, visible
from unhang.linting.slurm import multiplied, slurm

_TASKS = re.compile(r"^(#SBATCH\s+(?:.*\s)?--n?tasks-per-node[= ])(\d+)", re.MULTILINE)
_EACH = re.compile(
    r"^(#SBATCH\s+(?:.*\s)?"
    r"(?:--gpus-per-task[= ](?:[A-Za-z][\w.-]*:)?|--cpus-per-task[= ]|-c\s*))(\d+)",
    re.MULTILINE,
)
"""What a task gets: one that starts all processes of a node needs what the others had."""


def fewer(job: Job) -> Job:
    """The job with the processes that its GPUs allow.

    Raises:
        Refusal: the files do not tell both numbers, or they fit.
    """
    one_launcher = _one_launcher(job)
    if one_launcher is not None:
        return one_launcher
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


def _one_launcher(job: Job) -> Job | None:
    """The batch script with one task a node, where each of several starts a launcher."""
    texts = {PurePath(h.file.path).name: h.file.text for h in job.documents if h.within is None}
    for held in job.documents:
        text, name = held.file.text, held.file.path
        if held.file.language is not Language.SHELL or held.owner is None:
            continue
        topics = {f.reason.key for f in (*slurm(name, text), *multiplied(name, text, texts))}
        tasks = _TASKS.search(text)
        if "advice.launchers_multiply" not in topics or tasks is None:
            continue
        count = int(tasks[2])
        text = _EACH.sub(lambda each, count=count: f"{each[1]}{int(each[2]) * count}", text)  # type: ignore[misc]
        return job.with_text(held, _TASKS.sub(r"\g<1>1", text))
    return None
