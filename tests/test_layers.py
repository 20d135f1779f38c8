"""The shape of the house, checked from outside: layers, light imports, and what no file may hold."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BELOW_THE_SCREEN = ("log", "context", "models", "tools", "agent", "runs", "headless", "console")
CODE = sorted([*(ROOT / "tui").rglob("*.py"), *(ROOT / "tests").rglob("*.py")])


def modules(*rooms: str) -> list[str]:
    """Return the names of all modules in these rooms, and of the single ones beside them."""
    paths = [path for room in rooms for path in (ROOT / "tui" / room).rglob("*.py")]
    paths += [path for path in (ROOT / "tui").glob("*.py") if path.stem not in ("app", "__main__")]
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths)
    return sorted(name.removesuffix(".__init__") for name in names)


def imported_by(*names: str) -> set[str]:
    """Return the top-level packages a fresh process has loaded after importing `names`."""
    code = f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
    code += "print(*{name.partition('.')[0] for name in sys.modules})"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_no_layer_below_the_screen_imports_it() -> None:
    assert not imported_by(*modules(*BELOW_THE_SCREEN)) & {"textual", "rich"}


def test_the_entry_imports_nothing_heavy() -> None:
    loaded = imported_by("tui.cli")
    assert not loaded & {"textual", "rich", "httpx", "anyio", "asyncio", "sqlite3", "markdown_it", "pygments"}


def test_the_app_imports_nothing_it_does_not_need_for_its_first_paint() -> None:
    loaded = imported_by("tui.cli", "tui.app")
    assert "textual" in loaded
    assert not loaded & {"httpx", "markdown_it", "pygments", "keyring", "argparse", "hashlib"}


def test_the_layers_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_broken_layer_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "tui").symlink_to(ROOT / "tui")
    lint = Path(sys.executable).with_name("lint-imports")
    text = (tmp_path / "pyproject.toml").read_text().replace('"cli",\n', '"messages",\n', 1)
    text = text.replace('"settings | resources | messages | plain"', '"settings | resources | cli | plain"')
    (tmp_path / "pyproject.toml").write_text(text)
    done = subprocess.run([lint, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0


def text_files() -> list[Path]:
    kept = {".py", ".pyi", ".toml", ".md", ".txt", ".cfg", ".sh", ".yml", ".json", ""}
    folders = ("tui", "tests", "themes", ".ci")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kept]
    top = [path for path in ROOT.glob("*.*") if path.name != ".git"]  # in a work tree a file with a path in it
    return sorted(path for path in [*found, *top] if path.is_file() and path.suffix in kept)


def test_no_file_names_an_index_or_a_workplace() -> None:
    # Spelled in parts, so that this file does not hold what it forbids.
    words = ("index" + "-url", "find" + "-links", "py" + "pi.org", "python" + "hosted", "/work" + "/")
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8", errors="replace") for path in text_files()}
    assert not [(path, word) for path, text in texts.items() for word in words if word in text]


IGNORES = re.compile(r"#\s*(noqa|type:\s*ignore|pyright:|ruff:|mypy:|pylint:|fmt:|pragma:)")


def test_no_file_ignores_a_check() -> None:
    lines = ((path.relative_to(ROOT), line) for path in CODE for line in path.read_text(encoding="utf-8").splitlines())
    assert not [(path, line) for path, line in lines if IGNORES.search(line)]


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in CODE:
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def test_functions_are_short() -> None:
    lengths: list[tuple[str, int]] = []
    for path, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
            lengths.append((name, (node.end_lineno or 0) - node.lineno + 1))
    assert not [item for item in lengths if item[1] > 60]
    own = [length for name, length in lengths if name.startswith("tui")]
    assert sum(own) / len(own) <= 12


def test_classes_are_small() -> None:
    large: list[str] = []
    for path, node in nodes():
        if isinstance(node, ast.ClassDef) and (_methods(node) > 25 or (node.end_lineno or 0) - node.lineno >= 400):
            large.append(f"{path.relative_to(ROOT)} {node.name}: {_methods(node)} methods")
    assert not large


def _methods(node: ast.ClassDef) -> int:
    return sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)


def test_no_text_is_parsed_as_markup() -> None:
    """What Textual would read as markup is told not to; nothing else can be trusted with a stranger's bracket."""
    parsed: list[str] = []
    for path, node in nodes():
        if not isinstance(node, ast.Call) or path.parts[len(ROOT.parts)] != "tui":
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        plain = any(
            word.arg == "markup" and isinstance(word.value, ast.Constant) and not word.value.value
            for word in node.keywords
        )
        if name == "from_markup" or (name in PARSERS and not plain):
            parsed.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")
    assert not parsed


PARSERS = frozenset({"Static", "OptionList", "SelectionList", "Button", "Checkbox", "RadioButton", "notify"})


def test_no_handler_swallows() -> None:
    handlers = ((path, node) for path, node in nodes() if isinstance(node, ast.ExceptHandler))
    assert not [f"{path.relative_to(ROOT)}:{node.lineno}" for path, node in handlers if _swallows(node)]


def _swallows(node: ast.ExceptHandler) -> bool:
    """Whether a handler takes everything: bare, or all exceptions and then nothing."""
    if node.type is None:
        return True
    everything = isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
    return everything and all(isinstance(item, ast.Pass | ast.Continue) for item in node.body)
