"""write: whole files, never over something that was not seen."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.support import make_context, preview, run
from tui.tools.base import ToolError
from tui.tools.read import READ
from tui.tools.write import WRITE

pytestmark = pytest.mark.anyio


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o002)
    yield 0o002
    os.umask(before)


async def test_creates_with_folders_details_and_state(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    outcome = await run(WRITE, ctx, path="a/b/f.txt", content="é\n")
    file = tmp_path / "a/b/f.txt"
    real, sha = os.path.realpath(file), hashlib.sha256(file.read_bytes()).hexdigest()
    assert file.read_bytes() == "é\n".encode()
    assert outcome.details["type"] == "write"
    assert (outcome.details["path"], outcome.details["sha256"]) == (real, sha)
    assert outcome.details["created"] is True
    assert outcome.details["diff"] == "--- /dev/null\n+++ a/b/f.txt\n@@ -0,0 +1 @@\n+é"
    assert ctx.states.seen(real) == sha
    assert list(file.parent.iterdir()) == [file]


async def test_new_files_follow_the_umask(tmp_path: Path, umask: int) -> None:
    await run(WRITE, make_context(tmp_path), path="d/f", content="x")
    assert (tmp_path / "d/f").stat().st_mode & 0o777 == 0o666 & ~umask
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o777 & ~umask


async def test_an_existing_file_must_have_been_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("theirs")
    ctx = make_context(tmp_path)
    shown = await preview(WRITE, ctx, path="f", content="mine")
    assert "was not read" in shown.error
    with pytest.raises(ToolError, match=r"was not read .*kept as it is"):
        await run(WRITE, ctx, path="f", content="mine")
    assert (tmp_path / "f").read_text() == "theirs"


async def test_read_then_write_then_write_again(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\n")
    ctx = make_context(tmp_path)
    await run(READ, ctx, path="f")
    await run(WRITE, ctx, path="f", content="two\n")
    outcome = await run(WRITE, ctx, path="f", content="three\n")
    assert (tmp_path / "f").read_text() == "three\n"
    assert outcome.details["diff"] == "--- f\n+++ f\n@@ -1 +1 @@\n-two\n+three"


async def test_changed_since_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    ctx = make_context(tmp_path)
    await run(READ, ctx, path="f")
    (tmp_path / "f").write_text("person")
    with pytest.raises(ToolError, match="changed since it was last read"):
        await run(WRITE, ctx, path="f", content="mine")
    assert (tmp_path / "f").read_text() == "person"


async def test_changed_between_preview_and_run_is_refused_even_when_read_again(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    ctx = make_context(tmp_path)
    await run(READ, ctx, path="f")
    assert not (await preview(WRITE, ctx, path="f", content="mine")).error
    (tmp_path / "f").write_text("person")
    await run(READ, ctx, path="f")
    with pytest.raises(ToolError, match="changed after its diff was shown"):
        await run(WRITE, ctx, path="f", content="mine")
    assert (tmp_path / "f").read_text() == "person"


async def test_created_between_preview_and_run_is_refused(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    assert not (await preview(WRITE, ctx, path="f", content="mine")).error
    (tmp_path / "f").write_text("person")
    with pytest.raises(ToolError, match="was not read"):
        await run(WRITE, ctx, path="f", content="mine")
    assert (tmp_path / "f").read_text() == "person"


async def test_the_same_content_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("same")
    before = (tmp_path / "f").stat()
    outcome = await run(WRITE, make_context(tmp_path), path="f", content="same")
    after = (tmp_path / "f").stat()
    assert "nothing was changed" in outcome.text
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


async def test_preview_changes_nothing_and_shows_the_diff(tmp_path: Path) -> None:
    shown = await preview(WRITE, make_context(tmp_path), path="new/f", content="a\n")
    assert shown.diff == "--- /dev/null\n+++ new/f\n@@ -0,0 +1 @@\n+a"
    assert not list(tmp_path.iterdir())


async def test_new_file_below_a_link_that_leads_outside_is_named_before_any_folder_is_made(tmp_path: Path) -> None:
    root, out = tmp_path / "ws", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    (root / "link").symlink_to(out)
    shown = await preview(WRITE, make_context(root), path="link/a/b/new.xml", content="x")
    assert shown.outside == (os.path.realpath(out) + "/a/b/new.xml",)
    assert not list(out.iterdir())


async def test_a_dangling_link_is_followed_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    await run(WRITE, make_context(tmp_path), path="link", content="x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "x"


async def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(ToolError, match="is a directory"):
        await run(WRITE, make_context(tmp_path), path="d", content="x")
    (tmp_path / "f").write_text("x")
    with pytest.raises(ToolError, match="Could not write"):
        await run(WRITE, make_context(tmp_path), path="f/x", content="x")


async def test_lone_surrogates_do_not_raise(tmp_path: Path) -> None:
    await run(WRITE, make_context(tmp_path), path="f", content="\ud99c x")
    assert (tmp_path / "f").read_bytes() == b"? x"


async def test_deceptive_content_is_warned_of(tmp_path: Path) -> None:
    shown = await preview(WRITE, make_context(tmp_path), path="f", content="if a\u202eb:")
    assert "text direction controls" in shown.warning
    assert "\\u202e" in shown.diff


@pytest.mark.parametrize(
    ("name", "told"), [("x" * 300, "too long"), ("loop", "symbolic links"), ("a/b", "File exists")]
)
async def test_a_name_that_cannot_be_written_is_told_before_and_when_it_runs(
    tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a").write_text("kept")
    ctx = make_context(tmp_path)
    assert (await preview(WRITE, ctx, path=name, content="x")).title
    with pytest.raises(ToolError, match=told):
        await run(WRITE, ctx, path=name, content="x")
    assert (tmp_path / "a").read_text() == "kept"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "loop"]
