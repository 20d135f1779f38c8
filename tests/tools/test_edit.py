"""edit: only the replaced bytes change, in a file that is as it was seen."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.tools.support import make_context, preview, run
from tui.messages import Json
from tui.tools.base import Outcome, ToolError
from tui.tools.edit import EDIT
from tui.tools.files import MAX_EDIT_BYTES
from tui.tools.read import READ

pytestmark = pytest.mark.anyio


def one(old: str, new: str, **more: Json) -> list[Json]:
    return [{"old_text": old, "new_text": new, **more}]


async def edit(root: Path, raw: bytes, old: str, new: str) -> bytes:
    (root / "f").write_bytes(raw)
    await run(EDIT, make_context(root), path="f", edits=one(old, new))
    return (root / "f").read_bytes()


async def refused(root: Path, edits: list[Json], match: str) -> None:
    before = (root / "f").read_bytes()
    ctx = make_context(root)
    assert (await preview(EDIT, ctx, path="f", edits=edits)).error
    with pytest.raises(ToolError, match=match):
        await run(EDIT, ctx, path="f", edits=edits)
    assert (root / "f").read_bytes() == before


async def test_details_state_and_diff_are_the_real_ones(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\nb\nc\rd\n")
    ctx = make_context(tmp_path)
    shown = await preview(EDIT, ctx, path="f", edits=one("b", "B"))
    outcome: Outcome = await run(EDIT, ctx, path="f", edits=one("b", "B"))
    raw = (tmp_path / "f").read_bytes()
    real, sha = os.path.realpath(tmp_path / "f"), hashlib.sha256(raw).hexdigest()
    assert raw == b"a\r\nB\nc\rd\n"
    assert outcome.details["type"] == "edit"
    assert (outcome.details["path"], outcome.details["sha256"]) == (real, sha)
    assert outcome.details["diff"] == shown.diff
    assert "-b\n+B\n" in shown.diff
    assert ctx.states.seen(real) == sha


async def test_bom_is_kept_and_none_is_added(tmp_path: Path) -> None:
    assert await edit(tmp_path, b"\xef\xbb\xbfhello\n", "hello", "hello2") == b"\xef\xbb\xbfhello2\n"
    assert await edit(tmp_path, b"hello\n", "hello", "hello2") == b"hello2\n"


async def test_one_bare_line_feed_among_crlf(tmp_path: Path) -> None:
    raw = b"".join(b"%d\r\n" % n for n in range(999)) + b"last\n"
    assert await edit(tmp_path, raw, "500", "five") == raw.replace(b"500", b"five")


async def test_latin_1(tmp_path: Path) -> None:
    new = await edit(tmp_path, b"const x = 1;\n// caf\xe9\n", "x = 1", "x = 2")
    assert new == b"const x = 2;\n// caf\xe9\n"


async def test_shift_jis_is_not_mixed_with_utf_8(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("title = 表示\n".encode("shift_jis"))
    await refused(tmp_path, one("title", "題"), r"not valid UTF-8 \(first at byte offset 8\)")
    await refused(tmp_path, one("表示", "x"), "not valid UTF-8")


async def test_the_second_byte_of_a_shift_jis_character_is_not_a_backslash(tmp_path: Path) -> None:
    # 表 is 0x95 0x5c: its second byte looks like a backslash.
    (tmp_path / "f").write_bytes("表".encode("shift_jis") + b"\n")
    await refused(tmp_path, one("\\", "/"), "may begin inside a character")


async def test_inexact_indentation_is_no_match_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n   indented\n")
    await refused(tmp_path, one("    indented", "y"), r"not found\. Line 2 is alike but for white space: '   indented'")


async def test_three_matches(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"foo\nbar\nfoo\nfoo\n")
    await refused(tmp_path, one("foo", "x"), r"occurs 3 times \(lines 1, 3, 4\).*replace_all")
    outcome = await run(EDIT, make_context(tmp_path), path="f", edits=one("foo", "x", replace_all=True))
    assert (tmp_path / "f").read_bytes() == b"x\nbar\nx\nx\n"
    assert "+3 -3" in outcome.text


@pytest.mark.parametrize(
    ("edits", "match"),
    [
        (one("aa", "x"), "occurs 2 times"),
        (one("aa", "x", replace_all=True), "overlap"),
        (one("", "x"), "old_text is empty"),
        (one("aaa", "aaa"), "are the same"),
        (one("zzz", "x"), "not found"),
        ([], "No edits"),
        ([*one("aaa b", "1"), *one("b c", "2")], "edits 1 and 2 of f overlap"),
        ([*one("b", "x"), *one("x", "y")], "edit 2 of f: old_text was not found"),
    ],
)
async def test_refusals(tmp_path: Path, edits: list[Json], match: str) -> None:
    (tmp_path / "f").write_bytes(b"aaa b c\n")
    await refused(tmp_path, edits, match)


async def test_many_edits_are_matched_against_the_original(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a b c\n")
    await run(EDIT, make_context(tmp_path), path="f", edits=[*one("c", "a"), *one("a", "b"), *one("b", "c")])
    assert (tmp_path / "f").read_bytes() == b"b c a\n"


async def test_changed_since_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old\n")
    ctx = make_context(tmp_path)
    await run(READ, ctx, path="f")
    (tmp_path / "f").write_bytes(b"old, by a person\n")
    shown = await preview(EDIT, ctx, path="f", edits=one("old", "new"))
    assert "changed since it was last read" in shown.error
    with pytest.raises(ToolError, match=r"changed since it was last read \(17 bytes"):
        await run(EDIT, ctx, path="f", edits=one("old", "new"))
    assert (tmp_path / "f").read_bytes() == b"old, by a person\n"


@pytest.mark.parametrize("read_first", [True, False])
async def test_changed_between_preview_and_run(tmp_path: Path, read_first: bool) -> None:
    (tmp_path / "f").write_bytes(b"old\n")
    ctx = make_context(tmp_path)
    if read_first:
        await run(READ, ctx, path="f")
    assert not (await preview(EDIT, ctx, path="f", edits=one("old", "new"))).error
    (tmp_path / "f").write_bytes(b"old, by a person\n")
    with pytest.raises(ToolError, match="changed"):
        await run(EDIT, ctx, path="f", edits=one("old", "new"))
    assert (tmp_path / "f").read_bytes() == b"old, by a person\n"


async def test_mode_is_kept_and_nothing_is_left_beside(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "f").chmod(0o755)
    await run(EDIT, make_context(tmp_path), path="f", edits=one("sh", "bash"))
    assert (tmp_path / "f").stat().st_mode & 0o7777 == 0o755
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


async def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "f").symlink_to("real")
    await run(EDIT, make_context(tmp_path), path="f", edits=one("old", "new"))
    assert (tmp_path / "f").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


async def test_hard_links_stay_one_file(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old and longer")
    (tmp_path / "g").hardlink_to(tmp_path / "f")
    await run(EDIT, make_context(tmp_path), path="f", edits=one("old and longer", "new"))
    assert (tmp_path / "g").read_bytes() == b"new"
    assert (tmp_path / "f").samefile(tmp_path / "g")


async def test_replaced_by_rename_so_that_an_open_reader_keeps_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with (tmp_path / "f").open("rb") as reader:
        await run(EDIT, make_context(tmp_path), path="f", edits=one("old", "new"))
        assert reader.read() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new"


async def test_binary_special_missing_and_huge_files(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\0b")
    await refused(tmp_path, one("a", "b"), "is binary")
    ctx = make_context(tmp_path)
    os.mkfifo(tmp_path / "p")
    with pytest.raises(ToolError, match="named pipe"):
        await run(EDIT, ctx, path="p", edits=one("a", "b"))
    with pytest.raises(ToolError, match="does not exist"):
        await run(EDIT, ctx, path="gone", edits=one("a", "b"))
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(MAX_EDIT_BYTES + 1)
    with pytest.raises(ToolError, match="larger than 32 MiB"):
        await run(EDIT, ctx, path="huge", edits=one("a", "b"))


async def test_outside_the_project_the_reason_is_for_the_person_alone(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    shown = await preview(EDIT, make_context(root), path="../secret", edits=one("guess", "x"))
    assert shown.outside == (os.path.realpath(tmp_path / "secret"),)
    assert not shown.error
    assert "not found" in shown.warning
