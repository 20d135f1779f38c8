from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tui.widgets.file_index import FileIndex, best, listed

PATHS = ["src/parser.py", "src/parse/rules.py", "docs/paper.md", "README.md", "tests/test_parser.py", "p/a/r/s/e.txt"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("parser.py", "src/parser.py"),
        ("read", "README.md"),
        ("rules", "src/parse/rules.py"),
        ("tpar", "tests/test_parser.py"),
    ],
)
def test_the_best_fit_comes_first(query: str, first: str) -> None:
    found = best(query, PATHS, limit=10)
    assert found is not None
    assert found[0] == first


def test_letters_in_order_are_enough_and_others_are_left_out() -> None:
    assert best("pse", PATHS, limit=10) is not None
    assert best("zz", PATHS, limit=10) == []
    assert set(best("", PATHS, limit=10) or ()) == set(PATHS)


def test_odd_names_and_odd_queries_are_words_not_patterns() -> None:
    assert best("(.*", ["a", "b(.*"], limit=10) == ["b(.*"]


def test_a_search_that_is_no_longer_wanted_is_given_up() -> None:
    assert best("a", PATHS, limit=10, stop=lambda: True) is None
    assert FileIndex(Path("/nowhere")).search("a", stop=lambda: True) is None


def test_two_hundred_thousand_files_are_searched_whole() -> None:
    many = [f"package{n % 97}/module{n}/file{n}.py" for n in range(200_000)]
    assert (best("file199999.py", many, limit=5) or [""])[0].endswith("/file199999.py")


def test_git_says_what_is_there(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("new ä.py", "junk.log", "a'b.py"):
        (tmp_path / name).write_text("")
    assert sorted(listed(tmp_path)) == [".gitignore", "a'b.py", "new ä.py"]


def test_without_git_the_folders_are_walked(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "x.js").write_text("")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("")
    assert listed(tmp_path) == ["src/a.py"]


def test_links_are_named_and_never_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("")
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("")
    assert listed(root) == ["a.py"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert sorted(listed(root)) == ["a.py", "loop", "out"]
