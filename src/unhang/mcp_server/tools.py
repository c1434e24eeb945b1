"""The tools; their names, arguments and docstrings are what a model is shown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp.types import CallToolResult, TextContent

from unhang import api
from unhang.errors import UnhangError, UsageError
from unhang.mcp_server.bounded import bounded
from unhang.mcp_server.confinement import Roots
from unhang.redaction import Redactor
from unhang.reporters import redacted, render
from unhang.reporters.explain import render_explanation
from unhang.reporters.lint import render_lint
from unhang.reporters.plan import render_plan
from unhang.reporters.printable import one_line
from unhang.reporters.prompt import MOST_TOKENS
from unhang.screens.feed import Feed
from unhang.screens.pages import overview, view

_MOST_LINES, _MOST_LINE = 8, 150
"""Lines of a kind, and characters of each: all together fit, whatever the tokenizer."""


class Tools:
    """What each tool answers, within the roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots

    def diagnose(
        self, paths: list[str], framework: str | None = None, model: str | None = None
    ) -> CallToolResult:
        """Name the guilty ranks and the root cause of a job that hung, crashed or timed out.

        Args:
            paths: logs, dumps, archives, or best the whole folder of the job.
            framework: such as trl, verl, deepspeed, lightning: fixes are given in its syntax.
            model: what is trained (llama-3-8b), so that the stuck call's size tells its tensors.
        """

        def answer() -> tuple[dict[str, Any], str]:
            admitted = [self._roots.admit(path) for path in paths]
            found = api.diagnose(*admitted, framework=framework, model=self._model(model))
            found = redacted(found, Redactor([os.environ]))
            return json.loads(render(found, "json", redact=False)), render(
                found, "prompt", redact=False
            )

        return _answered(answer)

    def watch(self, run: str) -> CallToolResult:
        """Show what each rank of a watched job does: who waits for whom, and since when.

        Args:
            run: the folder that `unhang run` writes; the job may be running or finished.
        """

        def answer() -> tuple[dict[str, Any], str]:
            feed = Feed(Path(self._roots.admit(run)))
            known, standing = overview(feed, "en"), feed.standing()
            seen = {} if standing is None else view(standing, "en")
            told: dict[str, Any] = {
                "schema": "unhang.watch/1",
                **{name: known[name] for name in ("record", "live", "span", "verdict")},
                "standing": {name: seen[name] for name in seen if name != "graph"} or None,
            }
            return told, "\n".join(_lines(told))

        return _answered(answer)

    def explain(self, word: str) -> CallToolResult:
        """Say what a rule, a cause, a setting or a log line means, and what to do about it.

        Args:
            word: SLO001, checkpoint_slow, NCCL_TIMEOUT, or the line itself.
        """

        def answer() -> tuple[dict[str, Any], str]:
            found = api.explain(word[:4_000])
            told = json.loads(render_explanation(found, "json"))
            return told, render_explanation(found, "markdown")

        return _answered(answer)

    def lint(
        self,
        paths: list[str],
        framework: str | None = None,
        torch: str | None = None,
        nccl: str | None = None,
    ) -> CallToolResult:
        """Find settings in launch scripts and configurations that do nothing, or harm.

        Args:
            paths: shell scripts, YAML, JSON, Python, or folders of them.
            framework: `name` or `name==version`.
            torch: its release, where the files do not tell.
            nccl: likewise.
        """

        def answer() -> tuple[dict[str, Any], str]:
            if not paths:
                raise UsageError("no path was given; name the files to look at")
            admitted = [self._roots.admit(path) for path in paths]
            found = api.lint(*admitted, framework=framework, torch=torch, nccl=nccl)
            return json.loads(render_lint(found, "json")), render_lint(found, "terminal")

        return _answered(answer)

    def plan(  # noqa: PLR0917 - named by the protocol, never by place
        self,
        model: str,
        gpus: int,
        gpu_memory: str | None = None,
        gpus_per_host: int | None = None,
        strategy: str | None = None,
        tensor_parallel: int | None = None,
        pipeline_parallel: int | None = None,
        sequence: int | None = None,
        batch: int | None = None,
        write_speed: str | None = None,
        framework: str | None = None,
    ) -> CallToolResult:
        """Compute memory of each rank, checkpoints, and the time limits that a job needs.

        Args:
            model: llama-3-8b, 7B, or the path of a config.json.
            gpus: of the whole job.
            gpu_memory: of one GPU, as 80GB.
            gpus_per_host: 8 unless given.
            strategy: fsdp, zero3, ddp and others.
            tensor_parallel: its degree.
            pipeline_parallel: its degree.
            sequence: tokens of a sample.
            batch: samples of a rank and micro-batch.
            write_speed: of one writer to the storage, as 1GB/s.
            framework: settings are given in its syntax.
        """

        def answer() -> tuple[dict[str, Any], str]:
            asked: dict[str, Any] = {
                "world": gpus,
                "gpu_memory": gpu_memory,
                "gpus_per_host": gpus_per_host,
                "strategy": strategy,
                "tensor_parallel": tensor_parallel,
                "pipeline_parallel": pipeline_parallel,
                "seq": sequence,
                "batch": batch,
                "write_speed": write_speed,
                "framework": framework,
            }
            known = {name: value for name, value in asked.items() if value is not None}
            found = api.plan(self._model(model), **known)
            return json.loads(render_plan(found, "json")), render_plan(found, "markdown")

        return _answered(answer)

    def _model(self, name: str | None) -> str | None:
        """A name as it is; what may be a path only below the roots."""
        if name is None or not (os.path.lexists(name) or name.startswith((".", "/", "~"))):
            return name
        return self._roots.admit(name)


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    """A watched run as text; what the job itself names stays in a fence, in short lines."""
    yield "The job is running." if told["live"] else "No agent watches this job now."
    yield "The fence holds data; `standing` has all of it."
    yield "```text"
    yield from (one_line(line)[:_MOST_LINE] for line in _facts(told))
    yield "```"


def _facts(told: Mapping[str, Any]) -> Iterator[str]:
    standing, verdict = told["standing"], told["verdict"]
    yield f"exit code: {told['record']['exit_code']}"
    if verdict is not None:
        kept = ("outcome", "cause", "culprits", "confidence", "summary")
        yield ", ".join(f"{name}: {verdict[name]}" for name in kept)
    if standing is None:
        return
    yield f"{standing['world_size']} ranks, up for {standing['up_s']:.0f} s"
    for one in standing["suspicions"][:_MOST_LINES]:
        yield f"{one['title']}: {one['why']}"
    for edge in standing["edges"][:_MOST_LINES]:
        where = f"{edge['call']} of {edge['group']} since {edge['since_s']:.0f} s"
        yield f"ranks {edge['waiters']} wait for ranks {edge['on']} in {where}"
    for one in standing["classes"][:_MOST_LINES]:
        since = "" if one["since_s"] is None else f"since {one['since_s']:.0f} s"
        parts = (f"ranks {one['ranks']}", one["doing"], one["phase"], one["place"], since)
        yield " | ".join(part for part in parts if part)


def _answered(answer: Callable[[], tuple[Mapping[str, Any], str]]) -> CallToolResult:
    """What a tool tells; a refusal is one sentence, and never a traceback."""
    try:
        told, text = answer()
    except (UnhangError, OSError) as error:
        refused = Redactor([os.environ]).text(one_line(str(error)))
        return CallToolResult(content=[TextContent(type="text", text=refused)], is_error=True)
    redactor = Redactor([os.environ])
    most = MOST_TOKENS * 4
    shown = redactor.text(text)
    shown = shown if len(shown) <= most else shown[:most] + "\n…"
    return CallToolResult(
        content=[TextContent(type="text", text=shown)],
        structured_content=bounded(redactor.tree(dict(told))),
    )
