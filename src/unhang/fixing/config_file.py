"""From a path to the text of a configuration, what kind it is, and what may be written into it."""

from __future__ import annotations

import enum
import stat
from dataclasses import dataclass
from pathlib import Path

from unhang import lazy_re as re
from unhang.errors import UsageError

_LARGEST_BYTES = 1_000_000
_SCRIPTS = frozenset({".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".pbs"})
_CODE = frozenset({".py", ".ipynb", ".pyx"})
_ODD = re.compile(r"\0|\r(?!\n)")
_SHEBANG = re.compile(r"#!.*\b(?:ba|z|da|k)?sh\b")
_DIRECTIVE = re.compile(r"^#(?:SBATCH|PBS|BSUB)\b", re.MULTILINE)


class Language(enum.Enum):
    """What a file is written in."""

    YAML = "YAML"
    JSON = "JSON"
    TOML = "TOML"
    SHELL = "shell"
    VARIABLES = "variables"
    """Lines of `NAME=value`: `.env`, `.deepspeed_env`, `nccl.conf`."""
    DOCKERFILE = "Dockerfile"
    CODE = "code"
    OTHER = "other"
    """Part of a job, and nothing that a fix changes: a hostfile, a requirements.txt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file to change, as it was read.

    Attributes:
        path: as the user named it; `real` is the file itself, behind a link within its folder.
        text: with its own line ends and, where it has one, its byte order mark.
    """

    path: str
    real: Path
    text: str
    language: Language

    @property
    def newline(self) -> str:
        """The line end of the file."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def file_name(self) -> str:
        """The last part of its path."""
        return Path(self.path).name


def read_target(path: str, *, among: bool = False) -> ConfigFile:
    """Read a file that is to be changed.

    Args:
        path: as the user named it.
        among: it is one of several: one of a kind that is unknown here is only read.

    Raises:
        UsageError: it is none that can be changed safely.
    """
    real = _real(path)
    try:
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path} is not a regular file; give one configuration or script")
        if status.st_size > _LARGEST_BYTES:
            raise UsageError(f"{path} is too large for a configuration; give one below 1 MB")
        text = real.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}; give one configuration or script"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not UTF-8 text (byte {error.start}); convert it, or change it by hand"
        ) from error
    odd = _ODD.search(text)
    if odd is not None:
        what = "a NUL byte" if odd.group() == "\0" else "a carriage return that ends no line"
        raise UsageError(f"{path} holds {what} (byte {odd.start()}); remove it first")
    language = _language(real, text)
    if language is None and not among:
        raise UsageError(
            f"{path} is not of a known kind; YAML, JSON, TOML, shell and job scripts,"
            " Dockerfiles and .env files can be changed"
        )
    return ConfigFile(path=path, real=real, text=text, language=language or Language.OTHER)


def _real(path: str) -> Path:
    """The file behind a link, as long as it lies in or below the folder of the link."""
    named = Path(path)
    if not named.is_symlink():
        return named
    try:
        real = named.resolve()
    except RuntimeError:  # a link that leads to itself; whoever reads it is told
        return named
    if not real.is_relative_to(named.parent.resolve()):
        raise UsageError(
            f"{path} is a link to {real}, outside of its folder; name that file itself if you mean"
            " it"
        )
    return real


def suffix_language(name: str) -> Language | None:
    """What a file of that name is written in, as far as the name tells."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return Language.YAML
    if suffix in (".json", ".toml"):
        return Language(suffix[1:].upper())
    if suffix in _CODE:
        return Language.CODE
    if path.name.startswith("Dockerfile") or path.name.endswith("Dockerfile"):
        return Language.DOCKERFILE
    if path.name in (".env", ".deepspeed_env", "nccl.conf", ".nccl.conf") or suffix == ".env":
        return Language.VARIABLES
    return Language.SHELL if suffix in _SCRIPTS else None


def _language(path: Path, text: str) -> Language | None:
    language = suffix_language(path.name)
    if language is not None:
        return language
    if _SHEBANG.match(text) or _DIRECTIVE.search(text):
        return Language.SHELL
    return None
