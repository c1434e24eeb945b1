"""Requests of every command that reads files, with one of the files mutated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fuzz.mutate import mutate, seeds
from support.run_folders import hanging, run_folder, training

_TESTS = Path(__file__).resolve().parents[1]
_SCRIPTS = _TESTS / "unit" / "linting" / "scripts"
KEPT = _TESTS / "data" / "fuzz"
"""What failed once, as small as somebody made it; every test run tries it again."""
REQUEST = "request.json"
_FORMS = ("json", "json", "terminal", "markdown", "html", "oneline", "prompt")
Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asks for.

    Attributes:
        name: the command and the mutated file.
        files: content by path below a folder.
        arguments: of `unhang`; `{}` is the folder.
    """

    name: str
    files: Mapping[str, bytes]
    arguments: Sequence[str]


def some(source: random.Random, count: int) -> list[Request]:
    """Requests by chance; logs most often, for most is read of them."""
    return [source.choice(_MAKERS)(source) for _ in range(count)]


def kept() -> list[Request]:
    """What failed once."""
    return [
        Request(
            folder.name,
            {
                str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file() and path.name != REQUEST
            },
            json.loads((folder / REQUEST).read_text(encoding="utf-8"))["arguments"],
        )
        for folder in sorted(KEPT.iterdir())
        if (folder / REQUEST).is_file()
    ]


def _diagnose(source: random.Random) -> Request:
    seed = source.choice(_logs())
    data, name = mutate(seed.read_bytes(), seed.name, source)
    return Request(
        f"diagnose {name}",
        {name[-100:]: data},
        ("diagnose", "{}", "--format", source.choice(_FORMS)),
    )


def _diagnose_job(source: random.Random) -> Request:
    files, mutated = _job(source, source.choice(_jobs()))
    form = source.choice(_FORMS)
    return Request(f"diagnose folder {mutated}", files, ("diagnose", "{}", "--format", form))


def _run(source: random.Random) -> Request:
    files, mutated = _mutated(dict(_run_files()), source)
    verb = source.choice((("diagnose", "{}"), ("timeline", "{}", "-o", "{}/t.html"), ("plan",)))
    arguments = ("plan", "--from", "{}", "--gpus", "8", "7B") if verb == ("plan",) else verb
    return Request(f"{verb[0]} run {mutated}", files, arguments)


def _timeline(source: random.Random) -> Request:
    files = dict(_profiles()) if source.random() < 0.5 else _dumps(source)
    files, mutated = _mutated(files, source)
    out = source.choice(("{}/t.pftrace", "{}/t.html"))
    return Request(f"timeline {mutated}", files, ("timeline", "{}", "-o", out))


def _lint(source: random.Random) -> Request:
    files, mutated = _mutated(_script(source), source)
    form = source.choice(("terminal", "json", "sarif", "github"))
    return Request(f"lint {mutated}", files, ("lint", "{}", "--format", form))


def _fix(source: random.Random) -> Request:
    script = _script(source)
    files, mutated = _mutated(script | {"verdict.json": source.choice(_verdicts())}, source)
    name = next((n for n in files if n.startswith(next(iter(script)))), mutated)
    arguments = ("fix", "{}/" + name, "--from", "{}/verdict.json")
    return Request(f"fix {mutated}", files, arguments)


def _plan(source: random.Random) -> Request:
    if source.random() < 0.5:
        files, mutated = _mutated({"config.json": _MODEL}, source)
        arguments: tuple[str, ...] = ("plan", "{}/" + mutated, "--gpus", "8")
    else:
        files, mutated = _mutated(source.choice((_script(source), {"check.json": _CHECK})), source)
        arguments = ("plan", "7B", "--from", "{}/" + mutated, "--gpus", "8")
    form = source.choice(("terminal", "json"))
    return Request(f"plan {mutated}", files, (*arguments, "--format", form))


def _fleet(source: random.Random) -> Request:
    files: Files = {}
    for number in range(3):
        job, _ = _job(source, source.choice(_jobs()))
        files |= {f"job-{number}/{name}": data for name, data in job.items()}
    if source.random() < 0.3:
        files["sacct.txt"] = mutate(_SACCT, "sacct.txt", source)[0]
        more: tuple[str, ...] = ("--sacct", "{}/sacct.txt")
    else:
        more = ()
    arguments = ("fleet", "{}", "--store", "{}/.store", "--processes", "1", *more)
    return Request("fleet", files, arguments)


def _compare(source: random.Random) -> Request:
    kinds: tuple[Files, ...] = (
        {"after.csv": _TABLE},
        {"after.jsonl": _ROWS},
        {"after.json": source.choice(_verdicts())},
        {f"after/{name}": data for name, data in _run_files().items()},
    )
    files, mutated = _mutated(dict(source.choice(kinds)), source)
    after = "{}/after" if mutated.startswith("after/") else "{}/" + mutated
    files["before.csv"] = _TABLE
    form = source.choice(("terminal", "json", "markdown", "html"))
    arguments = ("compare", "{}/before.csv", after, "--format", form)
    return Request(f"compare {mutated}", files, arguments)


def _explain(source: random.Random) -> Request:
    seed = source.choice(_logs())
    data, _ = mutate(seed.read_bytes()[:4_000], seed.name, source)
    text = data.decode("utf-8", "replace").replace("\0", "")
    return Request(f"explain lines of {seed.name}", {}, ("explain", "--", text))


_MAKERS: tuple[Callable[[random.Random], Request], ...] = (
    *(_diagnose,) * 10,
    *(_diagnose_job,) * 3,
    *(_run, _timeline, _lint, _lint, _fix, _plan, _fleet, _compare, _explain),
)


def _mutated(files: Files, source: random.Random) -> tuple[Files, str]:
    """The files with one of them mutated, and its name."""
    name = source.choice(sorted(files))
    data, changed = mutate(files.pop(name), name.rpartition("/")[2], source)
    changed = name.rpartition("/")[0] + "/" + changed if "/" in name else changed
    files[changed] = data
    return files, changed


def _job(source: random.Random, folder: Path) -> tuple[Files, str]:
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))[:40]
        if path.is_file() and path.stat().st_size < 256 << 10
    }
    return _mutated(files, source)


@cache
def _logs() -> list[Path]:
    return seeds(_TESTS / "cases", _TESTS / "data")


@cache
def _jobs() -> list[Path]:
    cases = sorted((_TESTS / "cases").iterdir())
    found = [case / "input" for case in cases if (case / "input").is_dir()]
    return [f for f in found if any(p.is_file() for p in f.rglob("*"))]


@cache
def _run_files() -> Files:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "run"
        run_folder(root, [training(), hanging()])
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }


def _dumps(source: random.Random) -> Files:
    folder = _TESTS / "data" / "recorder" / source.choice(("healthy", "size", "stall"))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@cache
def _profiles() -> Files:
    event = {
        "ph": "X",
        "cat": "kernel",
        "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)",
        "dur": 20,
        "args": {
            "Collective name": "allreduce",
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1]",
            "In msg nelems": 1024,
        },
    }
    return {
        f"rank{rank}.pt.trace.json": json.dumps(
            {
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                "baseTimeNanoseconds": 1_700_000_000_000_000_000,
                "traceEvents": [event | {"ts": 100.0 * n + rank} for n in range(8)],
            }
        ).encode()
        for rank in range(2)
    }


def _script(source: random.Random) -> Files:
    path = source.choice(sorted(p for p in _SCRIPTS.iterdir() if p.is_file()))
    return {path.name.removesuffix(".txt"): path.read_bytes()}


@cache
def _verdicts() -> tuple[bytes, ...]:
    import unhang
    from unhang.reporters import render

    names = ("demo", "timeout-45-seconds-save-58", "save-hf-zero3-rank-0-writes")
    return tuple(
        render(unhang.diagnose(str(_TESTS / "cases" / name / "input")), "json").encode()
        for name in names
    )


_MODEL = json.dumps(
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
).encode()
_CHECK = json.dumps(
    {
        "schema": "unhang.check/1",
        "ok": True,
        "stages": [
            {
                "name": "storage",
                "status": "pass",
                "ranks": "0-7",
                "measured": {"write_bytes_per_s": 1.5e9},
                "expected": {},
                "message": "1.5 GB/s",
            }
        ],
        "suspects": [],
    }
).encode()
_TABLE = b"""name,hours,failed,hang,cause
a,2.5,0,0,
b,1.0,1,1,desync
c,12,1,0,gpu_oom
"""
_ROWS = b"""{"name": "a", "started": "2026-11-02T08:00:00", "ended": "2026-11-02T10:30:00"}
{"name": "b", "hours": 3.5, "failed": true, "hang": true, "cause": "desync"}
"""
_SACCT = b"""JobID|NodeList|Start|Elapsed|AllocTRES
0|gn[1-4]|2026-11-02T08:00:00|02:30:00|billing=64,cpu=64,gres/gpu=32,node=4
1|gn5|2026-11-02T09:00:00|1-02:30:00|gres/gpu=8
"""
