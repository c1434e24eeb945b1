"""From a plan to text: for a terminal, Markdown and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from unhang.model.plan import Amount, Memory, Plan
from unhang.model.provenance import Message
from unhang.reporters import public
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.catalogue.by_text import translated_patch
from unhang.reporters.fields import fields
from unhang.reporters.json import dumps
from unhang.reporters.printable import columns, one_line, padded
from unhang.reporters.style import BOLD, BRIGHT_GREEN, DIM, PLAIN, RED, Style

SCHEMA = "unhang.plan/1"
FORMS = ("terminal", "json", "markdown", "html")
"""The forms of a plan."""

_LABEL = 22
_OF_A_SAVE = "style bytes=size_bytes others_wait_s=wait_s seconds=total_s how"


def render_plan(plan: Plan, form: str, style: Style = PLAIN) -> str:
    """Return the plan in one of the forms, without a line end."""
    plan = public(plan, form)
    if form == "json":
        return dumps(_as_dict(plan, style.language))
    if form == "html":
        from unhang.reporters.html.plan_page import plan_page

        head = write(Message(key="plan_head.model", values=_head(plan)), style.language)
        return plan_page(plan, head, style.language)
    return "\n".join(_Page(plan, style, markdown=form == "markdown").lines())


class _Page:
    """Sections of one plan, as text for people."""

    def __init__(self, plan: Plan, style: Style, *, markdown: bool) -> None:
        self.plan = plan
        self.style = style
        self.markdown = markdown

    def lines(self) -> Iterator[str]:
        """The whole page."""
        yield self._bold(self._words("plan_head.model", **_head(self.plan)))
        yield from (f"  {one_line(sentence(n, self.style.language))}" for n in self.plan.notes)
        yield from self._memory("gpu", self.plan.gpu, "--gpu-memory")
        if self.plan.changes:
            yield from self._heading("changes")
            yield from self._changes()
        yield from self._memory("host", self.plan.host, "--host-memory")
        yield from self._heading("save")
        yield from self._saves()
        yield from self._heading("limits")
        yield from self._limits()
        if self.plan.collectives:
            yield from self._heading("calls")
            yield from self._calls()
        if self.plan.patches:
            yield from self._heading("patches")
            yield from self._patches()

    def _heading(self, name: str) -> Iterator[str]:
        title = self._words(f"plan_title.{name}")
        yield ""
        yield f"## {title}" if self.markdown else self._bold(title)

    def _memory(self, name: str, memory: Memory, option: str) -> Iterator[str]:
        yield from self._heading(name)
        for amount in memory.amounts:
            yield from self._amount(amount)
        fits = {True: "yes", False: "no", None: "unknown"}[memory.fits]
        values = {
            "total": memory.total_bytes,
            "available": memory.available_bytes,
            "option": option,
        }
        colors = {True: BRIGHT_GREEN, False: RED, None: BOLD}
        yield self._item(
            self._color(self._words(f"plan_fit.{fits}", **values), colors[memory.fits])
        )

    def _amount(self, amount: Amount) -> Iterator[str]:
        label = self._words(f"amount.{amount.what}")
        size = self._words("plan_size.bytes", size=amount.size_bytes)
        how = write(amount.how, self.style.language)
        if self.markdown:
            yield f"- {label}: **{size}** ({how})"
            return
        first = f"  {padded(label, _LABEL)}{size:>10}  "
        yield from textwrap.wrap(
            how,
            max(60, self.style.width),
            initial_indent=first,
            subsequent_indent=" " * columns(first),
        )

    def _changes(self) -> Iterator[str]:
        for number, change in enumerate(self.plan.changes, start=1):
            key = "plan_head.first" if change.fits else "plan_head.not_yet"
            told = self._words(key, size=change.gpu_bytes)
            yield self._item(f"{number}. {sentence(change.what, self.style.language)} ({told})")

    def _saves(self) -> Iterator[str]:
        for save in self.plan.saves:
            mark = "*" if save.style is self.plan.chosen else " "
            label = self._words(f"save_style.{save.style.value}")
            if save.wait_s is None:
                wait = self._words("plan_head.no_speed")
            else:
                wait = self._words("plan_head.wait", wait_s=save.wait_s)
            size = self._words("plan_size.bytes", size=save.size_bytes)
            yield self._item(f"{mark} {padded(label, 24)}{size:>10}  {wait}")
            yield f"      {self._dim(sentence(save.how, self.style.language))}"

    def _limits(self) -> Iterator[str]:
        for limit in self.plan.time_limits:
            values: dict[str, object] = {"group": limit.group, "seconds": limit.seconds}
            key = "plan_head.limit"
            if limit.phase is not None:
                key = "plan_head.limit_for"
                values["phase"] = self._words(f"phase.{limit.phase.value}")
            yield self._item(self._words(key, **values))
            yield f"      {self._dim(sentence(limit.because, self.style.language))}"

    def _calls(self) -> Iterator[str]:
        for call in self.plan.collectives:
            yield self._item(
                self._words(
                    "plan_head.call",
                    op=call.op,
                    numel=call.numel,
                    size=call.size_bytes,
                    ranks=call.ranks,
                    what=write(call.what, self.style.language),
                )
            )

    def _patches(self) -> Iterator[str]:
        for fix in self.plan.patches:
            yield self._item(f"{fix.setting} ({fix.framework}, {fix.where})")
            text = translated_patch(fix.text, self.style.language)
            yield from (f"      {line}" for line in text.strip().splitlines())

    def _item(self, text: str) -> str:
        return f"- {text}" if self.markdown else f"  {text}"

    def _words(self, key: str, **values: object) -> str:
        return write(Message(key=key, values=values), self.style.language)

    def _bold(self, text: str) -> str:
        return f"**{text}**" if self.markdown else self._color(text, BOLD)

    def _dim(self, text: str) -> str:
        return self._color(text, DIM)

    def _color(self, text: str, code: str) -> str:
        return text if self.markdown else self.style.paint(text, code)


def _head(plan: Plan) -> dict[str, object]:
    return {
        "model": one_line(plan.model),
        "parameters": f"{plan.parameters:,}",
        "trained": f"{plan.trained:,}",
        "world": plan.world,
        "strategy": plan.strategy.value,
        "method": plan.method.value,
        "precision": plan.precision.value,
    }


def _as_dict(plan: Plan, language: str) -> dict[str, object]:
    chosen = next(save for save in plan.saves if save.style is plan.chosen)
    return {
        "schema": SCHEMA,
        "model": fields(plan, "name=model parameters trained"),
        "job": fields(plan, "world strategy method precision"),
        "memory": {
            "gpu": _memory_dict(plan.gpu, language),
            "host": _memory_dict(plan.host, language),
        },
        "checkpoint": {
            **fields(chosen, "bytes=size_bytes seconds=total_s style"),
            "styles": [fields(s, _OF_A_SAVE, language) for s in plan.saves],
        },
        "timeouts": [
            fields(limit, "group seconds phase because", language) for limit in plan.time_limits
        ],
        "collectives": [
            {
                "op": call.op,
                "what": write(call.what, language),
                **fields(call, "numel bytes=size_bytes ranks"),
            }
            for call in plan.collectives
        ],
        "changes": [fields(change, "what gpu_bytes fits", language) for change in plan.changes],
        "patches": [
            fields(fix, "setting framework where patch=text reaches") for fix in plan.patches
        ],
        "notes": [sentence(note, language) for note in plan.notes],
    }


def _memory_dict(memory: Memory, language: str) -> dict[str, object]:
    return {
        **fields(memory, "bytes=total_bytes available=available_bytes fits"),
        "amounts": [
            {"what": a.what, "bytes": a.size_bytes, "how": write(a.how, language)}
            for a in memory.amounts
        ],
    }
