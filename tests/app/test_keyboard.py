from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.keyboard import Piece, Splitter

START, END = "\x1b[200~", "\x1b[201~"


def split(*reads: str) -> list[Piece]:
    """Return all pieces, neighbours of the same kind joined."""
    splitter = Splitter()
    pieces = [piece for read in reads for piece in splitter.feed(read)]
    for _ in range(30):
        pieces += splitter.idle()
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind == "keys":
            joined[-1] = Piece("keys", joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


def test_typed_keys_go_to_the_parser() -> None:
    assert split("h", "i", "\r") == [Piece("keys", "hi\r")]


def test_a_paste_is_one_piece_however_it_is_cut() -> None:
    text = f"a{START}one\rtwo \x1b[A three{END}b"
    whole = [Piece("keys", "a"), Piece("paste", "one\rtwo \x1b[A three"), Piece("keys", "b")]
    assert split(text) == whole
    assert split(*text) == whole


@given(st.text("ab\r\x1b[201~é", max_size=40).filter(lambda t: END not in t), st.integers(1, 7))
def test_any_cutting_of_a_paste_gives_the_same(content: str, size: int) -> None:
    text = START + content + END
    whole = split(text)
    assert split(*(text[at : at + size] for at in range(0, len(text), size))) == whole
    assert whole[0].kind == "paste"


def test_a_paste_without_an_end_is_taken_in_the_end() -> None:
    assert split(START + "abc") == [Piece("paste", "abc")]


def test_a_long_run_is_a_burst_and_its_last_enter_a_key() -> None:
    line = "a prompt longer than anybody types at once"
    assert split(line + "\r") == [Piece("burst", line), Piece("keys", "\r")]


def test_escape_alone_is_the_key() -> None:
    assert split("\x1b") == [Piece("escape", "\x1b")]


@pytest.mark.parametrize("sequence", ["\x1b[<35;20;18M", "\x1b[I", "\x1b[A", "\x1bOM", "\x1b[13;2u"])
def test_a_sequence_cut_anywhere_reaches_the_parser_whole(sequence: str) -> None:
    text = sequence + "x" * 40
    for at in range(1, len(sequence)):
        pieces = split(text[:at], text[at:])
        assert pieces[0].kind == "keys"
        assert pieces[0].text.startswith(sequence)
