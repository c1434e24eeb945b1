"""`make score`: judge every labelled job, print what is not right, write the page of figures."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from score import batches, chances, report
from score.baseline import search
from score.corpus import Case, Corpus, find_corpora
from score.marks import Mark, mark
from score.verdicts import judge_all

_REPOSITORY = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 1 when the gate is not passed."""
    options = _options(arguments)
    if options.batch is not None:
        return _score_batch(options)
    corpora = find_corpora(_REPOSITORY, options.external)
    chosen = [c for c in corpora if options.corpus in (None, c.key)]
    cases = [case for corpus in chosen for case in corpus.cases() if _wanted(case, options.only)]
    marks = _judge(cases, options)
    by_corpus = {c.key: [m for m in marks if m.case.corpus == c.key] for c in chosen}

    page = report.page(by_corpus, chosen, batches.load())
    print(page)
    print(report.misses(marks))
    if options.json is not None:
        options.json.write_text(report.to_json(marks) + "\n", encoding="utf-8")
    if options.chances is not None:
        seen = [case for folder in options.seen for case in batches.read_seen(folder).cases()]
        chances.write(options.chances, [*marks, *_judge(seen, options)])
    if options.write is not None:
        _write(options.write, page, complete=_complete(by_corpus, corpora, options.only))
    return 1 if options.gate and not _passes(marks) else 0


def _judge(cases: Sequence[Case], options: argparse.Namespace) -> list[Mark]:
    verdicts = judge_all([c.inputs for c in cases], options.processes, options.limit)
    return [
        mark(case, verdict, search(case.inputs))
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def _score_batch(options: argparse.Namespace) -> int:
    """Judge a batch, put it on record, and write its rows into the page of figures."""
    if options.name is None:
        raise SystemExit("score: --batch needs --name, under which the batch is put on record")
    cases = list(batches.read_batch(options.batch).cases())
    if not cases:
        raise SystemExit(f"score: {options.batch} holds no folder with a case.json")
    marks = _judge(cases, options)
    batch = batches.summarise_batch(options.name, marks)
    print(report.batch_section([batch]))
    print(report.misses(marks))
    if options.json is not None:
        options.json.write_text(report.to_json(marks) + "\n", encoding="utf-8")
    if not options.dry_run:
        batches.append(batch)
        page = _REPOSITORY / "docs" / "accuracy.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(report.with_batches(text, batches.load()), encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="score", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", help="cases whose name matches (with * and ?)")
    parser.add_argument("--corpus", choices=("own", "threads", "logs"), help="one corpus only")
    parser.add_argument(
        "--external",
        type=Path,
        default=Path(os.environ.get("UNHANG_CORPORA", _REPOSITORY.parent / "shared")),
        help="folder of the external corpora (UNHANG_CORPORA); they may be absent",
    )
    parser.add_argument(
        "--batch", type=Path, metavar="DIR", help="judge jobs never seen, and put them on record"
    )
    parser.add_argument(
        "--chances", type=Path, metavar="FILE", help="count signs, and write what they make likely"
    )
    parser.add_argument(
        "--seen",
        type=Path,
        metavar="DIR",
        action="append",
        default=[],
        help="with --chances: a batch that was judged and may be learnt from now; may be repeated",
    )
    parser.add_argument("--name", help="of the batch")
    parser.add_argument("--dry-run", action="store_true", help="put no batch on record")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each job")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all marks")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page of figures")
    parser.add_argument(
        "--gate", action="store_true", help="fail unless every job of the project is judged right"
    )
    return parser.parse_args(arguments)


def _wanted(case: Case, pattern: str | None) -> bool:
    return pattern is None or fnmatch.fnmatchcase(case.name, f"*{pattern}*")


def _passes(marks: Sequence[Mark]) -> bool:
    own = [m for m in marks if m.case.corpus == "own"]
    return len(own) > 0 and all(m.perfect for m in own)


def _complete(marks: dict[str, list[Mark]], corpora: Sequence[Corpus], pattern: str | None) -> bool:
    return pattern is None and all(len(marks.get(c.key, ())) > 0 for c in corpora)


def _write(path: Path, page: str, *, complete: bool) -> None:
    """The page is replaced by a full run only: a partial one would drop figures."""
    if complete:
        path.write_text(page, encoding="utf-8")
    else:
        print(f"{path} is left as it is: not all corpora were judged", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
