"""Builds a release, installs it where no source tree is, and asks it for verdicts.

    python tools/release.py 3.10 3.13 [--out dist]

Each Python gets the wheel twice, in environments of its own: with the newest release of each
package that it requires, and with the oldest one that `pyproject.toml` allows. All must give the
verdicts of this checkout, with warnings as errors. Needs uv; the wheel is built from the sdist.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("fast", "remote", "screens", "fleet", "live", "gpu")
EVERY = 6
"""Every sixth labelled job is judged."""
ASK = """
import os, pathlib, sys, warnings
warnings.simplefilter("error")
import unhang
assert sys.argv[2] == "checkout" or "site-packages" in unhang.__file__, unhang.__file__
os.chdir(sys.argv[1])
for case in sorted(pathlib.Path().iterdir())[:: int(sys.argv[3])]:
    told = unhang.diagnose(f"{case}/input")
    print(case.name, told.outcome.value, sorted(told.culprits), told.to_line())
"""


def main() -> None:
    """Build, install, compare; ends with 1 where a verdict differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", help="versions or paths, as uv takes them")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    _uv("build", "--out-dir", str(asked.out), str(ROOT))
    wheel = max(asked.out.glob("unhang-*.whl"), key=lambda path: path.stat().st_mtime)
    expected = _verdicts(sys.executable, "checkout")
    differ = False
    with tempfile.TemporaryDirectory(prefix="unhang-release-") as name:
        for number, python in enumerate(asked.pythons):
            for oldest in (False, True):
                place = Path(name, f"{number}-{'oldest' if oldest else 'newest'}")
                told = _verdicts(_install(wheel, python, place, oldest=oldest), "installed")
                same = told == expected
                differ |= not same
                which = "oldest" if oldest else "newest"
                print(f"{python}, {which} packages: {'as here' if same else 'DIFFERS'}", flush=True)
                if not same:
                    print(told)
    sys.exit(differ)


def _install(wheel: Path, python: str, place: Path, *, oldest: bool) -> str:
    _uv("venv", "--quiet", "--python", python, str(place))
    inside = str(place / "bin" / "python")
    needed = place / "needed.txt"
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    how = "lowest-direct" if oldest else "highest"
    # What has no wheel for this Python is older than it, and nobody's oldest.
    words = ("--quiet", "--python", inside, "--only-binary", ":all:", "--resolution", how)
    _uv(
        "pip",
        "compile",
        str(ROOT / "pyproject.toml"),
        *extras,
        *words,
        "--output-file",
        str(needed),
    )
    _uv("pip", "install", "--quiet", "--python", inside, "--requirement", str(needed))
    _uv("pip", "install", "--quiet", "--python", inside, "--no-deps", str(wheel))
    return inside


def _verdicts(python: str, where: str) -> str:
    cases = str(ROOT / "tests" / "cases")
    # Isolated: no PYTHONPATH, no folder of the user leads back to the checkout.
    command = [python, "-I", "-c", ASK, cases, where, str(EVERY)]
    return subprocess.run(command, cwd="/", stdout=subprocess.PIPE, text=True, check=True).stdout


def _uv(*words: str) -> None:
    subprocess.run(["uv", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
