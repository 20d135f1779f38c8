"""Three unlike projects, made anew for each test with names nobody can know beforehand."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import msgspec

_ONSETS = ("br", "cl", "dr", "fl", "gr", "kn", "pl", "sk", "tr", "v", "z", "m")


class Names(msgspec.Struct, frozen=True):
    """The names that were drawn."""

    package: str
    function: str
    other: str
    kind: str
    constant: str
    number: int
    title: str
    purpose: str


def draw(seed: int) -> Names:
    """Return names made of random syllables: no word list holds them."""
    rng = random.Random(seed)

    def word() -> str:
        return "".join(rng.choice(_ONSETS) + rng.choice("aeiou") for _ in range(3)) + rng.choice(string.ascii_lowercase)

    package, first, second, kind, constant, title, purpose = (word() for _ in range(7))
    return Names(
        package=package,
        function=f"{first}_{second}",
        other=f"{second}_{first}",
        kind=kind.capitalize() + "Maker",
        constant=constant.upper() + "_MOST",
        number=rng.randrange(100, 999),
        title=title.capitalize(),
        purpose=f"Turns {purpose} into {kind}.",
    )


def python_project(root: Path, names: Names) -> Path:
    """A package with a README, a class, functions and tests, one of which fails."""
    base = root / "python"
    package = base / "src" / names.package
    _write(base / "README.md", f"# {names.title}\n\n{names.purpose}\n")
    _write(
        base / "pyproject.toml",
        f'[project]\nname = "{names.package}"\ndescription = "{names.purpose}"\n\n'
        '[tool.pytest.ini_options]\npythonpath = ["src"]\naddopts = "-p no:cacheprovider"\n',
    )
    _write(package / "__init__.py", "")
    _write(
        package / "core.py",
        f'"""{names.purpose}"""\n\n{names.constant} = {names.number}\n\n\nclass {names.kind}:\n'
        f"    def run(self):\n        return {names.function}(2)\n\n\ndef {names.function}(value):\n"
        f"    return value * {names.constant}\n\n\ndef {names.other}(value):\n    return {names.function}(value) + 1\n",
    )
    _write(
        base / "tests" / "test_core.py",
        f"from {names.package}.core import {names.constant}, {names.function}\n\n\ndef test_right():\n"
        f"    assert {names.function}(1) == {names.constant}\n\n\ndef test_also_right():\n"
        f"    assert {names.function}(0) == 0\n\n\ndef test_{names.other}():\n    assert {names.function}(1) == 0\n",
    )
    return base


def web_project(root: Path, names: Names) -> Path:
    """A package.json, two modules, a page, and a test script of its own."""
    base = root / "web"
    scripts = {"test": "sh run-tests.sh", "start": "node src/index.js"}
    _write(
        base / "package.json",
        json.dumps({"name": names.package, "description": names.purpose, "scripts": scripts}, indent=2) + "\n",
    )
    _write(base / "run-tests.sh", f'echo "ok 1 - adds"\necho "not ok 2 - {names.other}"\nexit 1\n')
    _write(base / "index.html", f"<!doctype html>\n<title>{names.title}</title>\n")
    _write(
        base / "src" / "index.js",
        f"// {names.purpose}\nimport {{ {names.function} }} from './{names.package}.js';\n\n"
        f"{names.function}({names.number});\n",
    )
    _write(
        base / "src" / f"{names.package}.js",
        f"export function {names.function}(root) {{\n  return root;\n}}\n\nexport class {names.kind} {{\n"
        f"  {names.other}(x) {{\n    return x;\n  }}\n}}\n",
    )
    return base


def c_project(root: Path, names: Names) -> Path:
    """A Makefile, C sources, and a guide."""
    base = root / "c"
    _write(
        base / "Makefile",
        f"all: {names.package}\n\n{names.package}: main.c\n\tcc -o $@ main.c\n\ntest:\n"
        f'\t@echo "ok 1 - one"; echo "ok 2 - two"; echo "ok 3 - {names.function}"\n',
    )
    _write(
        base / "main.c",
        f'/* {names.purpose} */\n#include <stdio.h>\n#include "{names.package}.h"\n\n'
        f"static int {names.function}(int a)\n{{\n    return a + {names.constant};\n}}\n\n"
        f'int main(void) {{\n    printf("%d", {names.function}(1));\n    return 0;\n}}\n',
    )
    _write(base / f"{names.package}.h", f"#define {names.constant} {names.number}\nint {names.other}(int a);\n")
    _write(base / "docs" / "guide.md", f"# {names.title}\n\n{names.purpose}\n\n## About {names.kind}\n\nText.\n")
    return base


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
