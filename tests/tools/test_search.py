"""grep, find and ls: the same answer with ripgrep and without, on trees made at test time."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.support import make_context, preview, run
from tui.messages import Json
from tui.tools.base import Tool, ToolError
from tui.tools.find import FIND
from tui.tools.globs import compile_glob
from tui.tools.grep import GREP
from tui.tools.loosen import loosen
from tui.tools.ls import LS
from tui.tools.walk import ripgrep

HAS_RIPGREP = ripgrep(os.environ) is not None
needs_ripgrep = pytest.mark.skipif(not HAS_RIPGREP, reason="ripgrep is not installed")

FILES: dict[str, bytes] = {
    ".gitignore": b"*.log\nbuild/\n!important.log\n/only-root.txt\ndeep/**/skip\n# note\n\\#odd\ntrail \\ \n*.tmp\r\n",
    "a.py": b"needle = 1\nother\nneedle again\n",
    "crlf.txt": b"first\r\nneedle\r\nlast needle\r\n",
    "bom.txt": b"\xef\xbb\xbfneedle after a mark\n",
    "latin.txt": b"caf\xe9 needle\nneedle\xff\n",
    "binary.bin": b"needle\0needle\n",
    "late.bin": b"needle\n" + b"x\n" * 10_000 + b"\0needle\n",
    "unended": b"needle",
    "empty": b"",
    "long.json": b"x" * 3_000 + b"needle" + b"y" * 3_000,
    "only-root.txt": b"needle\n",
    "sub/only-root.txt": b"needle\n",
    "x.log": b"needle\n",
    "important.log": b"needle\n",
    "x.tmp": b"needle\n",
    "build/out.txt": b"needle\n",
    ".hidden/file": b"needle\n",
    ".git/config": b"needle\n",
    ".ignore": b"a.py\n",
    "sub/.gitignore": b"!x.log\nlocal\n/anchored\n",
    "sub/x.log": b"needle\n",
    "sub/local": b"needle\n",
    "sub/anchored": b"needle\n",
    "sub/more/anchored": b"needle\n",
    "sub/more/.gitignore": b"*\n!keep.md\n!deeper/\n",
    "sub/more/keep.md": b"NEEDLE\n",
    "sub/more/drop.md": b"needle\n",
    "sub/more/deeper/keep.md": b"needle\n",
    "sub/more/deeper/drop.md": b"needle\n",
    "deep/a/b/skip": b"needle\n",
    "deep/skip/file": b"needle\n",
    "deep/ok": b"needle \xc4\xb1 \xc5\xbf\n",
    "nested/.git/HEAD": b"needle\n",
    "nested/a.log": b"needle\n",
    "#odd": b"needle\n",
    "sp ace/ü.txt": b"needle\n",
    "new\nline.txt": b"needle\n",
    "B.txt": b"needle\n",
    "a/z": b"needle\n",
    "a-b": b"needle\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, content in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.txt")).write_bytes(b"needle\n")
    (root / "loop").symlink_to(".")
    (root / "away").symlink_to("/")
    (root / "link.txt").symlink_to("a.py")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    return root


async def _both(tool: Tool, tree: Path, **args: Json) -> str:
    with_it = await run(tool, make_context(tree), **args)
    without = await run(tool, make_context(tree, path=""), **args)
    assert with_it == without
    return without.text


@needs_ripgrep
@pytest.mark.parametrize(
    "pattern",
    [
        "needle",
        r"^needle$",
        r"needle.$",
        r"\bneedle\b",
        "[^a-z ]needle",
        r"n[e]{2}d(le)?",
        r"(?<=x)needle",
        r"needle\W",
        r"[\w]+ again",
        "ı|K",
        ".",
        "zzz",
        r"needle\xff",
        r"\.",
        "x{3}needle",
        "n.*?e",
    ],
)
@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.anyio
async def test_grep_gives_the_same_answer_with_and_without_ripgrep(tree: Path, pattern: str, ignore_case: bool) -> None:
    await _both(GREP, tree, pattern=pattern, ignore_case=ignore_case)


@needs_ripgrep
@pytest.mark.anyio
async def test_settings_of_ripgrep_in_the_project_change_nothing(tree: Path) -> None:
    before = await _both(GREP, tree, pattern="needle")
    (tree / "sub" / ".rgignore").write_bytes(b"*\n")
    assert await _both(GREP, tree, pattern="needle") == before


@needs_ripgrep
@pytest.mark.parametrize(
    "args",
    [
        {"path": "sub"},
        {"path": "build"},
        {"path": "sub/more"},
        {"path": "a.py"},
        {"path": ".git"},
        {"path": "nested"},
        {"glob": "*.py"},
        {"glob": "sub/**"},
        {"glob": "*.{py,txt}"},
        {"context": 1},
        {"limit": 3},
        {"literal": True},
        {"path": "sub", "glob": "more/*"},
    ],
)
@pytest.mark.anyio
async def test_grep_options_give_the_same_answer(tree: Path, args: dict[str, Json]) -> None:
    assert "needle" in (await _both(GREP, tree, pattern="needle", **args)).lower() or args == {
        "path": "sub",
        "glob": "more/*",
    }


@needs_ripgrep
@pytest.mark.parametrize(
    "args",
    [
        {"pattern": "*"},
        {"pattern": "**/*.txt"},
        {"pattern": "*.log"},
        {"pattern": "*", "path": "sub"},
        {"pattern": "*", "path": "build"},
        {"pattern": "{a,B}*"},
        {"pattern": "*", "limit": 2},
        {"pattern": "sub/*/keep.md"},
    ],
)
@pytest.mark.anyio
async def test_find_gives_the_same_answer_with_and_without_ripgrep(tree: Path, args: dict[str, Json]) -> None:
    await _both(FIND, tree, **args)


@pytest.mark.anyio
async def test_find_respects_gitignore_at_every_depth_and_sorts_by_bytes(tree: Path) -> None:
    lines = (await run(FIND, make_context(tree, path=""), pattern="*")).text.split("\n")
    assert lines == [
        ".gitignore",
        ".hidden/file",
        ".ignore",
        "B.txt",
        "a-b",
        "a.py",
        "a/z",
        "bad\\xff.txt",
        "binary.bin",
        "bom.txt",
        "crlf.txt",
        "deep/ok",
        "empty",
        "important.log",
        "late.bin",
        "latin.txt",
        "long.json",
        "nested/a.log",
        "new\\nline.txt",
        "sp ace/ü.txt",
        "sub/.gitignore",
        "sub/more/deeper/keep.md",
        "sub/more/keep.md",
        "sub/only-root.txt",
        "sub/x.log",
        "unended",
    ]


@pytest.mark.anyio
async def test_grep_shows_lines_context_and_cut_lines(tree: Path) -> None:
    ctx = make_context(tree, path="")
    assert (
        await run(GREP, ctx, pattern="other", context=1)
    ).text == "a.py-1- needle = 1\na.py:2: other\na.py-3- needle again"
    line = (await run(GREP, ctx, pattern="needle", path="long.json")).text
    assert "needle" in line
    assert len(line) < 530
    assert (
        await run(GREP, ctx, pattern="needle$", path="crlf.txt")
    ).text == "crlf.txt:2: needle\ncrlf.txt:3: last needle"
    assert (await run(GREP, ctx, pattern="needle", path="binary.bin")).text == "(no matches (binary.bin is binary))"
    assert (await run(GREP, ctx, pattern="no such thing")).text == "(no matches)"


@pytest.mark.anyio
async def test_grep_says_that_there_is_more(tree: Path) -> None:
    outcome = await run(GREP, make_context(tree), pattern="x", path="late.bin", limit=5)
    assert outcome.text.endswith("[first 5 matching lines; there are more]")
    assert outcome.details["truncated"] is True


@pytest.mark.parametrize("pattern", ["(", "[", "*a", "a{99999999999}", "(?P<n>", "", "a\nb", "x" * 3000])
@pytest.mark.anyio
async def test_an_invalid_pattern_is_a_clear_error(tree: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="Nothing was searched"):
        await run(GREP, make_context(tree), pattern=pattern)


@pytest.mark.parametrize("path", ["", os.environ["PATH"]])
@pytest.mark.anyio
async def test_a_pattern_without_end_is_stopped(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("a" * 5_000 + "b")
    ctx = make_context(tmp_path, path=path, settings={"grep.timeout": 0.5})
    with pytest.raises(ToolError, match=r"longer than 0\.5 s"):
        await run(GREP, ctx, pattern="(a+)+$")


@pytest.mark.anyio
async def test_a_search_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a" * 5_000 + "b")
    with anyio.move_on_after(0.3) as scope:
        await run(GREP, make_context(tmp_path), pattern="(a+)+$")
    assert scope.cancelled_caught


@pytest.mark.parametrize("path", ["", os.environ["PATH"]])
@pytest.mark.anyio
async def test_a_folder_of_special_files_does_not_block(tmp_path: Path, path: str) -> None:
    root = tmp_path / "p"
    root.mkdir()
    os.mkfifo(root / "pipe")
    server = socket.socket(socket.AF_UNIX)
    with server:
        os.chdir(root)
        server.bind("socket")
        ctx = make_context(root, path=path)
        with anyio.fail_after(20):
            assert (await run(GREP, ctx, pattern="x")).text == "(no matches)"
            with pytest.raises(ToolError, match="FIFO"):
                await run(GREP, ctx, pattern="x", path="pipe")
            assert (await run(FIND, ctx, pattern="*")).text == "(no files)"
            assert (await run(LS, ctx)).text == "pipe (named pipe (FIFO))\nsocket (socket)"
    os.chdir(tmp_path)


@pytest.mark.anyio
async def test_ls_lists_hidden_entries_links_and_odd_names(tree: Path) -> None:
    text = (await run(LS, make_context(tree))).text
    lines = text.split("\n")
    assert {".git/", "a.py", "loop -> .", "dangling -> nowhere", "bad\\xff.txt", "new\\nline.txt"} <= set(lines)
    text.encode()
    short = await run(LS, make_context(tree), limit=2)
    assert short.text.startswith("#odd\n.git/\n[first 2 of ")


@pytest.mark.anyio
async def test_a_folder_that_went_away_is_an_error_result(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    await preview(LS, ctx, path="gone")
    gone.rmdir()
    for tool, args in ((LS, {}), (FIND, {"pattern": "*"}), (GREP, {"pattern": "x"})):
        with pytest.raises(ToolError, match="gone"):
            await run(tool, ctx, path="gone", **args)


@pytest.mark.anyio
async def test_reading_outside_is_named_before_it_is_done(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    shown = await preview(GREP, make_context(root), pattern="x", path="out")
    assert shown.outside == (os.path.realpath(tmp_path),)


@needs_ripgrep
@pytest.mark.anyio
async def test_unusual_ignore_rules_give_the_same_files(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for folder in ("", "a/", "b/", "a/b/", "a/a/", "b/a/b/"):
        for name in ("x", "y", "x.t", "a.t"):
            file = root / folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    for rules in (
        "a\n!*/",
        "a*\n!/**/",
        "[ab]/**/",
        "**/\n!a/",
        "a/**\n!a/x",
        "/*\n!/a\n/a/*\n!/a/b",
        "**/a/b",
        "a/**/x",
        "!",
        "[",
        "/",
        "**",
        "x*\n!*.t",
        "?.t\n!a.t",
        "b/\n!b/a",
        "*\n!*/\n!*.t",
        "\\!x",
        "a.t ",
        "[!x]*",
        "a/b/x",
        "/x",
    ):
        (root / ".gitignore").write_text(rules)
        await _both(FIND, root, pattern="*")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", True),
        ("src/**", "srcs/a", False),
        ("**/b", "b", True),
        ("**/b", "x/y/b", True),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/b/c", False),
        ("a/**/c", "a/c", True),
        ("a/**/c/**/e", "a/c/x/c/e", True),
        ("{a,b}.{x,y}", "b.y", True),
        ("[!a]x", "bx", True),
        ("[!a]x", "ax", False),
        ("./a/b", "a/b", True),
        ("?", "ü", True),
        ("/a", "a", True),
        ("/a", "b/a", False),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert compile_glob(pattern).matches(path) is fits


def test_a_hostile_glob_is_quick() -> None:
    assert not compile_glob("*a" * 60 + "b").matches("a" * 250)
    assert not compile_glob("**/a/" * 40 + "b").matches("/".join("a" * 400))


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@given(st.lists(st.sampled_from([*"ab.^$*+?|()[]{}-\\dwsWbé12, ", "(?:", "[^", "a-", "\\."]), max_size=8).map("".join))
def test_a_loosened_pattern_misses_no_file(pattern: str) -> None:
    try:
        wanted = re.compile(pattern)
    except (re.error, FutureWarning, DeprecationWarning):
        return
    loose = loosen(pattern, ignore_case=False)
    if loose is None:
        return
    for line in ("", "a", "ab", "ba1", "é", "a-b", "a.b", "12", "{1}", "a{,2}", " ", "\udce9a", "^$", "\\d"):
        if wanted.search(line):
            assert _ripgrep_finds(loose, line), (pattern, loose, line)


def _ripgrep_finds(pattern: str, line: str) -> bool:
    import subprocess

    raw = line.encode("utf-8", "surrogateescape") + b"\n"
    command = ["rg", "--no-config", "--text", "--encoding=none", "-q", "-e", pattern, "-"]
    return subprocess.run(command, input=raw, check=False, capture_output=True).returncode != 1


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [FIND, GREP], ids=lambda tool: tool.spec.name)
async def test_a_folder_that_cannot_be_searched_hides_nothing_beside_it(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "beside.txt").write_text("needle")
    deep = str(tmp_path)
    while len(deep) < 4_093:  # its own path can be named, and nothing in it: `.git` neither
        deep += "/" + "d" * min(250, 4_093 - len(deep) - 1)
    Path(deep).mkdir(parents=True)
    ctx = make_context(tmp_path, path="")
    assert "beside.txt" in (await run(tool, ctx, pattern="beside*" if tool is FIND else "needle")).text
