"""Output as it comes: bounded in memory and on disk, live without halves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.output import SPILL_BYTES, Live, Sink, left_in


def sink(folder: Path) -> Sink:
    return Sink(lambda: folder / "spill")


@pytest.mark.parametrize("step", [1, 7, 65_536])
def test_any_pieces_give_the_same_text(tmp_path: Path, step: int) -> None:
    raw = "é👩 line\n".encode() * 300 + b"\xff end"
    one = sink(tmp_path)
    for at in range(0, len(raw), step):
        one.feed(raw[at : at + step])
    assert one.result().text == raw.decode("utf-8", "replace") + f"\n[binary output, {len(raw):,} bytes]"
    assert one.path is None


def test_more_than_the_disk_limit_is_counted_and_not_kept(tmp_path: Path) -> None:
    one = sink(tmp_path)
    piece = b"x" * 1_023 + b"\n"
    for _ in range(66):
        one.feed(piece * 1_024)
    result = one.result()
    one.close()
    assert one.total == 66 << 20
    assert one.overflowing
    assert (tmp_path / "spill").stat().st_size == SPILL_BYTES
    assert "the first 67,108,864 bytes are in " in result.text
    assert len(result.text.encode()) < 51 * 1024
    assert one.whole(1 << 30) == b""


def test_what_is_kept_for_a_crash_is_gone_after_a_whole_result(tmp_path: Path) -> None:
    one = sink(tmp_path)
    one.keep()
    assert one.path is None, "of a silent command nothing is kept"
    one.feed(b"first\n")
    one.keep()
    one.feed(b"second\n")
    assert left_in(tmp_path / "spill") == "first\nsecond"
    assert one.result().text == "first\nsecond"
    assert one.path is None
    assert not (tmp_path / "spill").exists()


def test_what_is_kept_stays_where_the_result_is_a_part(tmp_path: Path) -> None:
    one = sink(tmp_path)
    one.feed(b"x\n" * 3_000)
    one.keep()
    assert one.result().cut
    one.close()
    assert (tmp_path / "spill").read_bytes() == b"x\n" * 3_000


def test_what_was_left_of_a_large_output_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "spill").write_bytes(b"".join(b"%d\n" % number for number in range(200_000)))
    text = left_in(tmp_path / "spill")
    assert text.startswith("0\n1\n")
    assert text.endswith("\n199999")
    assert f"what was kept of it is in {tmp_path / 'spill'}" in text
    assert len(text.encode()) < 52 * 1024


def test_a_cut_in_the_middle_of_a_character(tmp_path: Path) -> None:
    one = sink(tmp_path)
    for _ in range(30):
        one.feed("é".encode() * 15_001)
    text = one.result().text
    assert "\ufffd" not in text
    assert "binary" not in text
    one.close()


def test_a_full_disk_costs_the_file_not_the_command(tmp_path: Path) -> None:
    # A device that is always full.
    one = Sink(lambda: Path("/dev/full"))
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    for _ in range(8):
        one.feed(b"x\n" * 50_000)
    result = one.result()
    assert "the whole output could not be kept: No space left on device" in result.text
    assert result.text.endswith("x\nx")


def test_the_spill_file_is_private(tmp_path: Path) -> None:
    one = sink(tmp_path)
    one.feed(b"x\n" * 3_000)
    one.result()
    one.close()
    assert (tmp_path / "spill").stat().st_mode & 0o777 == 0o600


def test_live_waits_for_the_rest_of_a_character_and_of_a_sequence() -> None:
    seen: list[str] = []
    live = Live(seen.append)
    for piece in (b"a\xc3", b"\xa9\x1b[3", b"1mred\x1b[0m\r", b"\n"):
        live.feed(piece)
        live.flush()
    live.flush(final=True)
    assert "".join(seen) == "aéred\n"
    assert seen[0] == "a"


def test_live_shows_an_overwritten_line_below() -> None:
    seen: list[str] = []
    live = Live(seen.append)
    for piece in (b"10%", b"\r20%", b"\r\n"):
        live.feed(piece)
        live.flush()
    assert "".join(seen) == "10%\n20%\n"


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_live_is_clean_text_for_any_pieces(pieces: list[bytes]) -> None:
    seen: list[str] = []
    live = Live(seen.append)
    for piece in pieces:
        live.feed(piece)
        live.flush()
    live.flush(final=True)
    text = "".join(seen)
    text.encode()
    assert not [
        character for character in text if (ord(character) < 0x20 or ord(character) == 0x7F) and character not in "\n\t"
    ]


def test_live_is_bounded() -> None:
    seen: list[str] = []
    live = Live(seen.append)
    live.feed(b"x" * 1_000_000)
    live.flush()
    assert len(seen[0]) == Live.LIMIT
