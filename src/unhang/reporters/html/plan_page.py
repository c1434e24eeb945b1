"""A plan as one self-contained page."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.plan import Memory, Plan
from unhang.model.provenance import Message
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.catalogue.by_text import translated_patch
from unhang.reporters.html.frame import Section, page, words
from unhang.reporters.html.markup import Html, join, prose, table, tag
from unhang.reporters.printable import block, one_line

_TONES = {True: "healthy", False: "cause", None: "undetermined"}


def plan_page(plan: Plan, head: str, language: str) -> str:
    """Return the document; `head` names the model and how it is trained."""
    return _PlanPage(plan, language).document(head)


class _PlanPage:
    """The sections of one plan."""

    def __init__(self, plan: Plan, language: str) -> None:
        self._plan = plan
        self._language = language

    def document(self, head: str) -> str:
        plan = self._plan
        sections = [
            self._section("gpu", self._memory(plan.gpu)),
            self._section("changes", self._changes()),
            self._section("limits", self._limits()),
            self._section("patches", self._patches()),
            self._section("save", self._saves()),
            self._section("host", self._memory(plan.host)),
            self._section("calls", self._calls()),
        ]
        return page(
            f"{one_line(plan.model)} · unhang plan", self._verdict(head), sections, self._language
        )

    def _verdict(self, head: str) -> Html:
        plan = self._plan
        return tag(
            "section",
            tag("h1", one_line(head)),
            tag("p", self._fit(plan.gpu, "--gpu-memory")),
            [
                tag("p", one_line(sentence(note, self._language)), class_="quiet")
                for note in plan.notes
            ],
            class_=f"verdict {_TONES[plan.gpu.fits]}",
        )

    def _words(self, key: str, **values: object) -> str:
        return one_line(write(Message(key=key, values=values), self._language))

    def _column(self, name: str) -> str:
        return words(f"plan.{name}", self._language)

    def _section(self, name: str, body: Html | None) -> Section:
        return Section(name=name, title=self._words(f"plan_title.{name}"), body=body)

    def _fit(self, memory: Memory, option: str) -> str:
        fits = {True: "yes", False: "no", None: "unknown"}[memory.fits]
        return self._words(
            f"plan_fit.{fits}",
            total=memory.total_bytes,
            available=memory.available_bytes,
            option=option,
        )

    def _size(self, size: int) -> str:
        return self._words("plan_size.bytes", size=size)

    def _memory(self, memory: Memory) -> Html:
        option = "--gpu-memory" if memory is self._plan.gpu else "--host-memory"
        rows = [
            (
                self._words(f"amount.{a.what}"),
                self._size(a.size_bytes),
                prose(one_line(sentence(a.how, self._language))),
            )
            for a in memory.amounts
        ]
        head = (self._column("what"), self._column("size"), self._column("how"))
        return join(table(head, rows), tag("p", tag("strong", self._fit(memory, option))))

    def _changes(self) -> Html | None:
        items = [
            tag(
                "li",
                prose(one_line(sentence(change.what, self._language))),
                " ",
                tag(
                    "span",
                    self._words(
                        "plan_head.first" if change.fits else "plan_head.not_yet",
                        size=change.gpu_bytes,
                    ),
                    class_="quiet",
                ),
            )
            for change in self._plan.changes
        ]
        return tag("ol", items) if items else None

    def _saves(self) -> Html:
        return table(
            (
                self._column("style"),
                self._column("size"),
                self._column("wait"),
                self._column("how"),
            ),
            self._save_rows(),
        )

    def _save_rows(self) -> Iterator[tuple[Html | str, ...]]:
        for save in self._plan.saves:
            label = self._words(f"save_style.{save.style.value}")
            chosen = save.style is self._plan.chosen
            wait = self._words("plan_head.no_speed")
            if save.wait_s is not None:
                wait = self._words("plan_head.wait", wait_s=save.wait_s)
            yield (
                tag("strong", label) if chosen else label,
                self._size(save.size_bytes),
                wait,
                prose(one_line(sentence(save.how, self._language))),
            )

    def _limits(self) -> Html:
        rows = [
            (
                tag("code", limit.group),
                self._words("plan_head.seconds", seconds=limit.seconds),
                "" if limit.phase is None else self._words(f"phase.{limit.phase.value}"),
                prose(one_line(sentence(limit.because, self._language))),
            )
            for limit in self._plan.time_limits
        ]
        head = (self._column(n) for n in ("group", "limit", "phase", "how"))
        return table(head, rows)

    def _calls(self) -> Html | None:
        rows = [
            (
                tag("code", call.op),
                f"{call.numel:,}",
                self._size(call.size_bytes),
                str(call.ranks),
                one_line(write(call.what, self._language)),
            )
            for call in self._plan.collectives
        ]
        head = (self._column(n) for n in ("op", "numel", "size", "ranks", "what"))
        return table(head, rows) if rows else None

    def _patches(self) -> Html | None:
        found = [
            join(
                tag("h3", one_line(f"{patch.setting} ({patch.framework}, {patch.where})")),
                tag(
                    "pre",
                    "\n".join(block(translated_patch(patch.text, self._language))),
                    tabindex="0",
                ),
            )
            for patch in self._plan.patches
        ]
        return join(found) if found else None
