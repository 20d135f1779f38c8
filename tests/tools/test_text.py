"""Text for the model: what a terminal would show, within its bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.text import Bounds, bound_ends, bound_line, bound_start, clip, count, decode, is_binary, plain


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("10%\r20%\r\x1b[K30%\n\x1b[2Aup", "30%\nup"),
        ("long line\rshort", "shortline"),
        ("long line\r\x1b[2Kshort", "short"),
        ("abc\x1b[1Gx", "xbc"),
        ("abc\b\bX", "aXc"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\tb", "a\tb"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[?1049h\x1b[?1000hx\x1b[1;1H", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2\x1b\\x", "x"),
        ("\x1b]0;two\nlines\x07x", "x"),
        ("\x1b]0;unfinished\nnext", "\nnext"),
        ("\x9b31mred", "red"),
        ("\x1b(Bx\x1b=", "x"),
        ("bell\x07", "bell"),
        ("cut\x1b[", "cut"),
        ("cut\x1b", "cut"),
        ("a\x00b", "ab"),
        ("\ud800", "\ufffd"),
        ("e\u0301 👩‍👩‍👧", "e\u0301 👩‍👩‍👧"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert plain(raw) == shown


@given(st.text(alphabet=st.sampled_from("ab\x1b[]0;mK\r\n\b\x07\x9b\x9d\x9c\\é\x00P"), max_size=60))
def test_plain_leaves_no_control_and_is_stable(raw: str) -> None:
    once = plain(raw)
    assert not [character for character in once if ord(character) < 0x20 and character != "\n"]
    assert "\x1b" not in once
    assert plain(once) == once


@pytest.mark.parametrize("start", ["\x9d", "\x1b]", "\x90", "\x1bP", "\x1b[", "\r", "\b", "\x1b"])
def test_floods_of_unfinished_sequences_stay_linear(start: str) -> None:
    # Quadratic, this would take hours.
    assert plain(f"{start}\n" * 200_000) == "\n" * 200_000


def test_one_long_progress_line_stays_linear() -> None:
    assert plain("".join(f"\r{n}%" for n in range(100_000))) == "99999%"


@given(st.text(max_size=30), st.integers(0, 40))
def test_clip_keeps_whole_characters(text: str, limit: int) -> None:
    raw = text.encode()
    kept = clip(raw, limit)
    assert len(kept) <= limit or kept == raw
    assert text.startswith(kept.decode())


@given(st.binary(max_size=30))
def test_decode_never_raises_and_can_be_encoded(raw: bytes) -> None:
    decode(raw).encode()


def test_binary_as_git_judges_it() -> None:
    assert is_binary(b"a\0")
    assert not is_binary(b"\xff\xfe")
    assert not is_binary(b"a" * 8_192 + b"\0")


def test_counts() -> None:
    assert (count(0, "line"), count(1, "line"), count(2_000, "line")) == ("0 lines", "1 line", "2,000 lines")


def test_a_long_line_loses_its_middle() -> None:
    assert bound_line("x" * 10) == "x" * 10
    assert bound_line("abcdefgh", 8) == "abcdefgh"
    assert bound_line("abcdefghi", 8) == "abcdef […1 character of this line cut…] hi"


def test_first_lines_with_advice() -> None:
    whole = bound_start(["x"] * 2_000, "narrow it")
    assert not whole.cut
    cut = bound_start(["x"] * 2_001, "narrow it")
    assert cut.text.endswith("x\n[… 1 line cut here; narrow it]")


def test_ends_within_the_bounds_are_whole() -> None:
    assert bound_ends("a\nb", "", Bounds(2, 3)).text == "a\nb"
    assert not bound_ends("a\nb", "", Bounds(2, 3)).cut
    assert bound_ends("a\nbc", "", Bounds(2, 3)).cut
    assert bound_ends("a\nb\nc", "", Bounds(2, 99)).cut


def test_ends_name_what_is_cut_and_where_it_is() -> None:
    bounded = bound_ends("\n".join(str(n) for n in range(20)), "all in f", Bounds(10, 1_000))
    assert bounded.text.split("\n") == [
        "0",
        "1",
        "[… 10 lines (22 bytes) cut here; all in f …]",
        *map(str, range(12, 20)),
    ]


@given(
    st.text(alphabet="aé👩\n", max_size=400),
    st.integers(5, 20),
    st.integers(40, 200),
    st.integers(4, 40),
)
def test_ends_hold_the_bounds(text: str, lines: int, size: int, characters: int) -> None:
    bounded = bound_ends(text, "w", Bounds(lines, size, characters))
    if not bounded.cut:
        assert bounded.text == text
        return
    shown = bounded.text.split("\n")
    assert len(shown) <= lines + 1
    # The markers are not counted: one for the cut, and one in each long line.
    assert len(bounded.text.encode()) <= size + 200
