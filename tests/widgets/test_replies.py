"""What the terminal says by itself is no text, and its Escape that nobody pressed is no key."""

from __future__ import annotations

import pytest

from tui.widgets.keyboard import PHANTOM, Piece, Splitter, is_dark

REPLIES = [
    "\x1b]11;rgb:fafa/fbfb/f7f7\x1b\\",
    "\x1b]11;rgb:10/12/16\x07",
    "\x1b]10;rgb:0000/0000/0000\x1b\\",
    "\x1b[?997;1n",
    "\x1b[?62;22c",
    "\x1b[>41;354;0c",
    "\x1b[24;80R",
    "\x1bP1$r0m\x1b\\",
    "\x1bP>|term 1.2\x1b\\",
    "\x1b[8;24;80t",
    "\x1b]52;c;YQ==\x1b\\",
]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_is_one_piece_and_never_keys(reply: str) -> None:
    assert Splitter().feed(f"a{reply}b") == [Piece("keys", "a"), Piece("reply", reply), Piece("keys", "b")]


@pytest.mark.parametrize("reply", [reply for reply in REPLIES if reply[1] in "]P"])
def test_a_string_cut_anywhere_is_still_no_text(reply: str) -> None:
    for at in range(4, len(reply)):
        splitter = Splitter()
        pieces = splitter.feed(reply[:at]) + splitter.feed(reply[at:])
        assert pieces == [Piece("reply", reply)]
    splitter = Splitter()
    assert splitter.feed(reply[:-1]) + splitter.idle() == []


@pytest.mark.parametrize("keys", ["\x1b]", "\x1bP", "\x1b[1;2R", "\x1b[<35;2;3M", "\x1b[I", "\x1bOR"])
def test_keys_that_look_alike_stay_keys(keys: str) -> None:
    splitter = Splitter()
    pieces = splitter.feed(keys) + splitter.idle()
    assert "".join(piece.text for piece in pieces) == keys
    assert {piece.kind for piece in pieces} == {"keys"}


def test_the_background_tells_dark_from_light() -> None:
    assert [is_dark(reply) for reply in REPLIES[:4]] == [False, True, None, True]
    assert is_dark("\x1b[?997;2n") is False


def test_an_escape_of_the_mouse_is_no_key() -> None:
    clock = Clock()
    splitter = Splitter(clock)
    splitter.feed("\x1b[<35;80;24M\x1b")
    assert splitter.idle() == []
    clock.now += PHANTOM + 0.01
    splitter.feed("\x1b")
    assert splitter.idle() == [Piece("escape", "\x1b")]


def test_an_escape_after_a_key_is_a_key_though_the_mouse_had_moved_before() -> None:
    clock = Clock()
    splitter = Splitter(clock)
    splitter.feed("\x1b[<35;80;24M")
    clock.now += 1
    splitter.feed("x")
    splitter.feed("\x1b")
    assert splitter.idle() == [Piece("escape", "\x1b")]
