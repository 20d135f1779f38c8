"""What is built from the repository works elsewhere: wheel, wheel by way of the source package, editable install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tui import __version__

ROOT = Path(__file__).resolve().parent.parent.parent
LOOK = """
import json, tui
from tui.resources import prompts_folder, theme_files
prompts = [path.name for path in sorted(prompts_folder().glob("*.md"))] if prompts_folder().is_dir() else []
print(json.dumps({"at": tui.__file__, "themes": [p.name for p in theme_files() if p.read_text()], "prompts": prompts}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shipped(folder: str) -> list[str]:
    return sorted(path.name for path in (ROOT / folder).glob("*") if path.suffix in (".toml", ".md"))


class Place:
    """An empty environment somewhere else, which sees the installed dependencies and not the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"

    def install(self, *what: str | Path) -> None:
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps")
        run(*pip, "--no-index", "--no-build-isolation", *what, cwd=self.folder)

    def see_dependencies(self) -> None:
        """Put them on the path. After a wheel is in: pip would take a `clew` among them for this one."""
        site = self.folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def look(self) -> dict[str, Any]:
        return json.loads(run(self.python, "-c", LOOK, cwd=self.folder))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel made from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def by_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source package, and the wheel made from that alone."""
    folder = tmp_path_factory.mktemp("source")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def check(place: Place) -> Path:
    """Run what was installed from a folder that is not the checkout; return where its code lies."""
    place.see_dependencies()
    assert run(place.folder / "bin" / "clew", "--version", cwd=place.folder) == f"clew {__version__}\n"
    assert run(place.python, "-m", "tui", "--version", cwd=place.folder) == f"clew {__version__}\n"
    assert run(place.folder / "bin" / "clew", "models", cwd=place.folder).startswith("rehearsal")
    found = place.look()
    assert found["themes"] == shipped("themes") != []
    assert found["prompts"] == shipped("tui/context/prompts") != []
    return Path(found["at"])


def test_a_wheel_runs_elsewhere(built: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.install(built)
    assert place.folder in check(place).parents


def test_a_wheel_made_from_the_source_package_runs_elsewhere(by_source: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.install(by_source)
    assert place.folder in check(place).parents


def test_an_editable_install_runs_the_checkout(tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.see_dependencies()  # the build backend is among them
    place.install("--editable", ROOT)
    assert check(place) == ROOT / "tui" / "__init__.py"


def test_the_two_wheels_hold_the_same(built: Path, by_source: Path) -> None:
    direct, indirect = (sorted(zipfile.ZipFile(path).namelist()) for path in (built, by_source))
    assert direct == indirect


def test_a_wheel_holds_all_of_the_package_and_nothing_else(built: Path) -> None:
    names = set(zipfile.ZipFile(built).namelist())
    inside = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tui").rglob("*") if path.is_file()}
    assert {name for name in inside if "__pycache__" not in name} <= names
    assert {f"tui/themes/{name}" for name in shipped("themes")} <= names
    assert not [name for name in names if not name.startswith(("tui/", f"clew-{__version__}.dist-info/"))]


def test_a_source_package_holds_what_its_tests_need(by_source: Path) -> None:
    with tarfile.open(next(by_source.parent.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"tests/run.py", "tests/conftest.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert wanted <= names
    assert not [name for name in names if name.startswith((".cache", ".venv"))]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_dependency_has_a_reason_and_bounds() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("dependencies = [")[2].splitlines()
    wanted: list[str] = project()["project"]["dependencies"]
    for dependency in wanted:
        at = next(number for number, line in enumerate(lines) if f'"{dependency}"' in line)
        assert lines[at - 1].lstrip().startswith("# ")
        assert ">=" in dependency
        assert ",<" in dependency


def test_the_readme_has_the_line_that_ci_runs() -> None:
    line = "python3 tests/run.py"
    assert f"```sh\n{line}\n```" in (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert ci[-1] == f"exec {line} </dev/null"


def test_the_readme_has_one_line_that_starts_clew() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if "-m venv" in line]
    assert line.endswith("/.venv/bin/clew")
    assert "pip install" in line
