"""How environment variables reach the ranks: by the shell, or by Ray."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from unhang.remedies.cures import PatchLanguage
from unhang.settings import Framework


def spell(framework: Framework, values: Mapping[str, str]) -> tuple[PatchLanguage, str]:
    """How variables reach a framework's ranks: the form and the patch."""
    match framework.environment:
        case "env-file":
            return _by_deepspeed(values)
        case "ray-job":
            return _by_ray_job(framework.command, values)
        case "ray-init":
            return _by_ray_init(values)
        case _:
            return _by_shell(values)


def _by_shell(values: Mapping[str, str]) -> tuple[PatchLanguage, str]:
    """Exports before the launch command, on every node."""
    lines = (
        f"export {name}={value if '$(' in value else shlex.quote(value)}"
        for name, value in values.items()
    )
    return PatchLanguage.ENV, "\n".join(lines)


def _by_deepspeed(values: Mapping[str, str]) -> tuple[PatchLanguage, str]:
    """Exports, and a file: DeepSpeed's launcher passes few variables on to other nodes.

    Among them are NCCL's (`EXPORT_ENVS` of deepspeed/launcher/runner.py): no later job should find
    these in a file.
    """
    lines = []
    for name, value in values.items():
        lines.append(f"export {name}={value if '$(' in value else shlex.quote(value)}")
        if not name.startswith("NCCL_"):
            lines.append(f'echo "{name}=${name}" >> ~/.deepspeed_env')
    return PatchLanguage.ENV, "\n".join(lines)


def _by_ray_job(command: str, values: Mapping[str, str]) -> tuple[PatchLanguage, str]:
    """Variables of a Ray job: exports of the shell do not reach the workers of other nodes."""
    runtime = shlex.quote(json.dumps({"env_vars": dict(values)}))
    return PatchLanguage.SHELL, f'ray job submit --runtime-env-json {runtime} -- {command} "$@"'


def _by_ray_init(values: Mapping[str, str]) -> tuple[PatchLanguage, str]:
    """Variables in `ray.init`: they reach every worker."""
    names = "".join(f"        {name!r}: {value!r},\n" for name, value in values.items())
    text = f'import ray\n\nray.init(runtime_env={{\n    "env_vars": {{\n{names}    }}\n}})'
    return PatchLanguage.PYTHON, text.replace("'", '"') if '"' not in names else text
