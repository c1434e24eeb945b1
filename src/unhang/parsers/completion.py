"""From the last words of a log to what may be a good end, in any wording.

Programs end with words of their own: `all 30 epochs done; goodbye`, `[smoke] PASS`, `max_iters
reached, bye`, `[done] ok`, `run complete exit_code=0`. One such word proves nothing: `epoch 3
finished` stands in every log. So only the last one of a log is told, and `assemble` believes it
where the work was counted to its end, or where it speaks of all the work, and no work goes on
after it.

Traps: `not done`, `done with 3 errors`, `finished with code 1`, `waiting until all are done`; a
sentence that tells what would be; a part of the work (a step, a checkpoint, a download); the name
of a host in front (`tpu-job-jax-0`).
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, Finished
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_DONE = (
    r"(?:done|finished|completed?|ended|over|passed|pass|succeeded|success(?:ful(?:ly)?)?|exiting"
    r"|reached|bye|goodbye|ok)"
)
_OF_NO_PART = r"(?! (?:step|epoch|batch|iter|checkpoint))"
"""Behind the words of an end: what ended is all, and no part of the work."""
_ALL = re.compile(
    r"(?:^|[^A-Za-z])(?:(?:training|trainer|pre-?training|fine-?tuning"
    r"|all (?:the |of )?(?:\d{1,9} )?"
    r"(?:epochs|steps|iterations|ranks|workers|processes|rounds|stages))"
    rf"\b(?!-[A-Za-z]| (?:job|run|script|pod|task|process)\b)[^.!?]{{0,30}}?\b(?!reached){_DONE}"
    rf"|max[_ ](?:iter\w*|steps|epochs)\b[^.!?]{{0,30}}?\b{_DONE})\b{_OF_NO_PART}"
    r"|(?:训练|全部)(?:已|均|都)?(?:经)?(?:顺利|成功|正常)?(?:全部)?(?:完成|结束)",
    re.IGNORECASE,
)
_WRAPPED = re.compile(
    r"(?:^|[^A-Za-z-])(?:job|run|script|experiment|program|everything)(?: '[^']{1,60}'| \S*\d\S*)?"
    r"[ :=]{1,3}(?:(?:has|have|was|is|all|state|status|ended|finished)[ :=]{1,2}){0,2}(?:\w+ly )?"
    rf"(?!reached){_DONE}\b{_OF_NO_PART}"
    r"|(?:任务|运行|作业)(?:已|均|都)?(?:经)?(?:顺利|成功|正常)?(?:全部)?(?:完成|结束)",
    re.IGNORECASE,
)
"""A script says so whatever its program did: this is of all the work if it says how it ended."""
_WELL = re.compile(r"success|顺利|成功|正常|\bok\b|\bpass|\bexiting\b|bye\b", re.IGNORECASE)
_BARE = re.compile(
    rf"\W*(?:(?!successfully\b(?! (?:complet|finish|end|exit|done|train)))"
    rf"{_DONE}\b(?:\W+\w+){{0,8}}|(?:\w+\W+){{1,3}}{_DONE})\W*$",
    re.IGNORECASE,
)
_ZERO = re.compile(
    r"\b(?:exit(?:ed)?(?:[ _]?(?:code|status))?|rc|return(?:ed|code| code)?|(?:job)?state|status"
    r"|result)"
    r"\W{1,3}(?:with |code |status )?(?:0|ok|success|succeeded|completed|finished)\b(?![.\d])"
    r"|[(\[]success[)\]]|(?:退出码|返回值|返回码)\s?[:=]?\s?0\b",
    re.IGNORECASE,
)
_FREE_OF_ERRORS = re.compile(
    r"\b(?:no|0|zero|without(?: any| an?)?|not an?(?: single)?|free of) "
    r"(?:\w{1,20} )?(?:errors?|failures?|failed|exceptions?|issues?|problems?|warnings?|skipped)\b",
    re.IGNORECASE,
)
_NEVERTHELESS = re.compile(
    rf"{_FREE_OF_ERRORS.pattern}"
    r"|\b(?:err(?:or)?s?|failures?|failed|skipped|aborted|killed|lost)\W{1,3}0\b(?!\.\d*[1-9])"
    r"|\b(?:after|when|once) (?:reaching |having \w{1,12} )?(?=[a-z_ ]{0,20}=?\s?\d)"
    r"|\bearly[- _]?stop\w*|\bstopped(?= early| at\b| after\b|:)|\bterminated (?=normally|success)"
    r"|未(?:出现|发生|发现|见)?(?:任何)?(?:错误|异常|失败)|(?:没有|无)(?:任何)?(?:错误|异常|失败)",
    re.IGNORECASE,
)
"""Words of trouble that are denied, and words of time that tell how long it took."""
_AGAINST = re.compile(
    r"\b(?:not|no|never|un\w{3,}|fail\w*|err\w*|abort\w*|kill\w*|crash\w*|incomplete|early|before|until"
    r"|when|if|once|after|wait\w*|will|would|should|timed?|partial\w*|almost|nearly|skip\w*|lost"
    r"|dead|stop\w*|cancel\w*|signal|term\w*|corrupt\w*|broken|hang\w*|hung|stuck"
    r"|except|only|false|none|limit|pending|remain\w*|preempt\w*|exceed\w*|interrupt\w*"
    r"|(?:code|status|state)\W{1,3}(?!0\b|ok\b|succe|compl|finish|done)\w+)\b"
    r"|[a-z](?:Fail|Error|Exceed|Backoff)|(?<![\d/.])(\d{1,6})(?:/| of )(?!\1\b)\d"
    r"|[1-9]\d* (?:errors|failures|failed)|失败|错误|异常|未|等待",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:step|epoch|batch|iter\w*|load\w*|sav\w*|checkpoint\w*|init\w*|set-?up|download\w*|build\w*"
    r"|compil\w*|import\w*|warm-?up|shard\w*|shuffl\w*|tokeniz\w*|preprocess\w*|upload\w*|connect\w*"
    r"|barrier|backward|forward|install\w*|map|filter|cach\w*|rendezvous|handshake|allocat\w*|data\w*"
    r"|eval\w*|valid\w*|test\w*|sampl\w*|generat\w*|verif\w*|check\w*)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:[\w./-]{1,80}\.py:\d{1,6}:? )?(?:\[?(?:INFO|NOTICE|SUCCESS)\]?[ :|-]{1,3})?"
)
_DATED = re.compile(r": +(?:[A-Z][a-z]{2}, )?\d{1,4}[ /-](?:[A-Z][a-z]{2}|\d{2})[ /-]\d{2}")
_CLAUSE = re.compile(r"[.!;] ")
_LONGEST = 160


class CompletionParser(
    LineParser,
    name="completion",
    needles=(
        *("done", "Done", "DONE", "inished", "omplete", "COMPLETE", " over", "assed", "PASS"),
        *("ucceed", "uccess", "UCCESS", "bye", "xiting", "reached", " ok", " OK", '"ok"'),
        *("rc=0", "exit 0", "code 0", "code=0", "status 0", "完成", "结束", "成功"),
        *("\u9000\u51fa\u7801", "\u8fd4\u56de\u503c"),
    ),
    sampled=True,
):
    """Parser of words that may end a job well."""

    def __init__(self) -> None:
        self._last: Finished | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep what may be the last word."""
        text = _CLAUSE.split(_PLACE.sub("", line.text.strip(), count=1), maxsplit=1)[0]
        severe = line.header is not None and line.header.severity in ("E", "F")
        if len(text) > _LONGEST or severe:
            return iter(())
        all_work = _speaks_of_all(text)
        told = all_work or _WRAPPED.search(text) is not None or _tells_an_end(text)
        if told and not _AGAINST.search(_NEVERTHELESS.sub(" ", text)):
            self._last = Finished(
                **place(line), whole_job=False, last_words=True, of_all_work=all_work
            )
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Tell the last one."""
        if self._last is not None:
            yield self._last


def _speaks_of_all(text: str) -> bool:
    """Whether all the work has ended, or a script that says how the program ended."""
    if _ALL.search(text) is not None:
        return True
    well = any(words.search(text) is not None for words in (_ZERO, _WELL, _FREE_OF_ERRORS))
    return well and _WRAPPED.search(text) is not None


def _tells_an_end(text: str) -> bool:
    """Whether it is little more than a word of an end, or a code of a good one, of no part.

    A word before a date is the name of a field: when something ended, however it did.
    """
    if _DATED.search(text):
        return False
    bare = _BARE.match(text) is not None or _ZERO.search(text) is not None
    return bare and _PART.search(text) is None
