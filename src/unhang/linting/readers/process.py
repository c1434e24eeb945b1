"""From running processes to settings: their environment, their command line, their children."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from unhang.errors import UsageError
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.linting.readers.words import note_programs, read_words

_PROC = Path("/proc")


def read_environment(document: SettingsDocument, environment: Mapping[str, str]) -> None:
    """Note the variables of a process."""
    document.running = True
    document.rank = environment.get("RANK") or environment.get("SLURM_PROCID")
    for name, value in sorted(environment.items()):
        document.add(name, value, None, SettingKind.VARIABLE)
    document.torchrun = "TORCHELASTIC_RUN_ID" in environment
    nodes = _nodes(environment)
    if nodes is not None:
        document.note_nodes(nodes)


def read_dump(document: SettingsDocument, content: bytes) -> None:
    """Note the variables of a copy of `/proc/<pid>/environ`."""
    read_environment(document, _environment(content))


def read_process(pid: int, proc: Path = _PROC) -> list[SettingsDocument]:
    """Read a process and all that descend from it: the ranks below a launcher.

    Raises:
        UsageError: there is no such process, it is another user's, or the system has no `/proc`.
    """
    documents = []
    for number in (pid, *_descendants(pid, proc)):
        try:
            environment = _environment((proc / str(number) / "environ").read_bytes())
            words = (proc / str(number) / "cmdline").read_bytes().decode(errors="replace")
        except OSError as error:
            if number == pid:
                raise UsageError(
                    f"cannot read process {pid}: {error.strerror}; give the pid of a running"
                    " process of your own, on Linux"
                ) from error
            continue
        documents.append(_document(number, environment, words.split("\0")))
    return documents


def _document(pid: int, environment: Mapping[str, str], words: list[str]) -> SettingsDocument:
    rank = environment.get("RANK")
    document = SettingsDocument(name=f"pid {pid}" if rank is None else f"rank {rank}")
    read_environment(document, environment)
    note_programs(document, " ".join(words))
    read_words(document, [word for word in words if word], 0, certain=True)
    return document


def _environment(content: bytes) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in content.decode(errors="replace").split("\0"))
    return {name: value for name, sign, value in pairs if sign}


def _descendants(pid: int, proc: Path) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdigit():
            parent = _parent(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    waiting = sorted(children.get(pid, ()))
    while waiting:
        number = waiting.pop(0)
        yield number
        waiting.extend(sorted(children.get(number, ())))


def _parent(entry: Path) -> int | None:
    """The fourth field of `stat`, counted from behind the name, which may hold anything."""
    try:
        fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(fields[1])
    except (OSError, ValueError, IndexError):
        return None


def _nodes(environment: Mapping[str, str]) -> int | None:
    for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "GROUP_WORLD_SIZE", "NNODES"):
        value = environment.get(name, "")
        if value.isdigit():
            return int(value)
    return None
