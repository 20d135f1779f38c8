"""read: bounded, whatever the file is."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from tests.tools.support import make_context, preview, run
from tui.tools.base import Effect, ToolError
from tui.tools.pictures import MAX_ENCODED_BYTES
from tui.tools.read import READ

pytestmark = pytest.mark.anyio


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = zlib.compress((b"\0" + b"\x7f" * width) * height)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def text_of(root: Path, name: str = "f", **args: int) -> str:
    return (await run(READ, make_context(root), path=name, **args)).text


async def test_text_details_and_state(tmp_path: Path) -> None:
    raw = b"one\ntwo\n"
    (tmp_path / "f").write_bytes(raw)
    (tmp_path / "link").symlink_to("f")
    ctx = make_context(tmp_path)
    outcome = await run(READ, ctx, path="link")
    real, sha = os.path.realpath(tmp_path / "f"), hashlib.sha256(raw).hexdigest()
    assert outcome.text == "one\ntwo"
    assert outcome.details["type"] == "read"
    assert (outcome.details["path"], outcome.details["sha256"]) == (real, sha)
    assert ctx.states.seen(real) == sha


async def test_exactly_the_line_limit_is_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n" * 2_000)
    assert await text_of(tmp_path) == "\n".join("x" * 2_000)


async def test_one_line_over_the_limit_names_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n" * 2_001)
    text = await text_of(tmp_path)
    assert text.endswith("\n[lines 1-2,000 of 2,001; continue with offset=2001]")
    assert await text_of(tmp_path, offset=2_001) == "x\n[lines 2,001-2,001 of 2,001]"


async def test_exactly_the_byte_limit_is_whole(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes((b"x" * 1_023 + b"\n") * 50)
    assert "[" not in await text_of(tmp_path)


async def test_over_the_byte_limit_stops_at_a_whole_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(("é" * 511 + "xx\n").encode() * 60)
    text = await text_of(tmp_path)
    body, _, note = text.rpartition("\n")
    assert len(body.encode()) <= 50 * 1024
    assert set(body.split("\n")) == {"é" * 511 + "xx"}
    assert note == "[lines 1-49 of 60; continue with offset=50]"


async def test_offset_and_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"".join(b"%d\n" % n for n in range(1, 11)))
    assert await text_of(tmp_path, offset=4, limit=2) == "4\n5\n[lines 4-5 of 10; continue with offset=6]"


async def test_offset_past_the_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1\n2\n3")
    with pytest.raises(ToolError, match=r"offset 4 is past the end: f has 3 lines"):
        await text_of(tmp_path, offset=4)


async def test_empty_file_and_empty_line_are_not_empty_results(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert await text_of(tmp_path) == "(f is empty)"
    (tmp_path / "f").write_bytes(b"\n")
    assert await text_of(tmp_path) == "(empty line)"


async def test_a_line_without_end_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 2_000_000)
    text = await text_of(tmp_path)
    assert len(text) < 11_000
    assert "line cut at 10,000 characters" in text


async def test_a_part_of_a_line_does_not_pass_for_the_whole(tmp_path: Path) -> None:
    # Two lines fill most of what is kept in memory; the third would be cut inside it.
    (tmp_path / "f").write_bytes(b"a" * 130_000 + b"\n" + b"b" * 130_000 + b"\n" + b"c" * 9_000 + b"\nd\n")
    text = await text_of(tmp_path)
    assert text.endswith("[lines 1-2 of 4; continue with offset=3]")
    assert (await text_of(tmp_path, offset=3)).startswith("c" * 9_000 + "\nd\n")


async def test_line_ends_bom_and_bad_bytes_are_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    text = await text_of(tmp_path)
    assert text.startswith("a\nb\n")
    assert "CRLF" in text
    assert "byte order mark" in text
    (tmp_path / "f").write_bytes(b"a\r\nb\nc\rd\n// caf\xe9\n")
    text = await text_of(tmp_path)
    assert "mixed CRLF and LF" in text
    assert "not valid UTF-8" in text
    assert "caf\ufffd" in text


async def test_valid_utf8_cut_by_the_window_is_not_called_invalid(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("é" * 300_000, encoding="utf-8")
    assert "not valid UTF-8" not in await text_of(tmp_path)


async def test_a_gigabyte_of_text_in_bounded_memory(tmp_path: Path) -> None:
    # Sparse: the lines at its start are text, the hole behind them is not looked at as text.
    with (tmp_path / "f").open("wb") as file:
        file.write(b"line\n" * 4_000)
        file.truncate(1 << 30)
    tracemalloc.start()
    try:
        outcome = await run(READ, make_context(tmp_path), path="f", limit=3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.text.startswith("line\nline\nline\n[lines 1-3 of 4,001;")
    assert outcome.details["size"] == 1 << 30
    assert peak < 16 << 20


async def test_a_gigabyte_of_zeros_is_refused_by_its_start(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ToolError, match=r"binary data, 1,073,741,824 bytes"):
        await text_of(tmp_path)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\x7fELF\x02\0", "ELF program"),
        (b"PK\x03\x04\0", "zip archive"),
        (b"SQLite format 3\0", "SQLite database"),
        ("text".encode("utf-16"), "UTF-16 text"),
        (b"a\0b", "binary data"),
    ],
)
async def test_binary_is_named_and_not_noted(tmp_path: Path, raw: bytes, kind: str) -> None:
    (tmp_path / "f").write_bytes(raw)
    ctx = make_context(tmp_path)
    with pytest.raises(ToolError, match=kind):
        await run(READ, ctx, path="f")
    assert ctx.states.seen(os.path.realpath(tmp_path / "f")) is None


async def test_image_for_a_model_that_sees(tmp_path: Path) -> None:
    (tmp_path / "f.png").write_bytes(png())
    outcome = await run(READ, make_context(tmp_path, images=True), path="f.png")
    ((image, raw),) = outcome.images
    assert raw == png()
    assert (image.media_type, image.width, image.height) == ("image/png", 3, 2)
    assert image.sha256 == hashlib.sha256(raw).hexdigest()


async def test_image_for_a_model_that_does_not(tmp_path: Path) -> None:
    (tmp_path / "f.png").write_bytes(png())
    outcome = await run(READ, make_context(tmp_path), path="f.png")
    assert not outcome.images
    assert "image/png, 3x2 pixels" in outcome.text


async def test_image_limit_is_in_base64(tmp_path: Path) -> None:
    most = MAX_ENCODED_BYTES // 4 * 3
    (tmp_path / "fits.png").write_bytes(png().ljust(most, b"\0"))
    (tmp_path / "over.png").write_bytes(png().ljust(most + 1, b"\0"))
    ctx = make_context(tmp_path, images=True)
    assert (await run(READ, ctx, path="fits.png")).images
    with pytest.raises(ToolError, match="over the limit of 5 MiB in base64"):
        await run(READ, ctx, path="over.png")


async def test_fifo_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    with pytest.raises(ToolError, match=r"named pipe \(FIFO\).*not opened"):
        await text_of(tmp_path)


async def test_socket_device_folder_and_nothing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        # Bound by a short relative name: the address of a socket has little room.
        os.chdir(tmp_path)
        server.bind("s")
        with pytest.raises(ToolError, match="socket"):
            await text_of(tmp_path, "s")
    with pytest.raises(ToolError, match="character device"):
        await text_of(tmp_path, "/dev/zero")
    with pytest.raises(ToolError, match=r"directory.*Use ls"):
        await text_of(tmp_path, ".")
    with pytest.raises(ToolError, match="does not exist"):
        await text_of(tmp_path, "gone")
    with pytest.raises(ToolError, match="NUL"):
        await text_of(tmp_path, "a\0b")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
async def test_a_file_of_size_zero_with_content(tmp_path: Path) -> None:
    assert "Name:" in await text_of(tmp_path, "/proc/self/status")


async def test_an_odd_name_comes_back_as_it_was_shown(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.txt")).write_bytes(b"here\n")
    outcome = await run(READ, make_context(tmp_path), path="bad\\xff.txt")
    assert outcome.text == "here"


async def test_preview_shows_the_true_target(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    (root / "link").symlink_to("../secret")
    shown = await preview(READ, make_context(root), path="link")
    assert shown.effect is Effect.READ
    assert shown.outside == (os.path.realpath(tmp_path / "secret"),)
