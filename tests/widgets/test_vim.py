from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.vim import VimState, press


def play(text: str, keys: str, at: int = 0) -> tuple[str, int, str]:
    """Type keys in normal mode (`<` is Escape); letters typed in insert mode are put in. Return text, place, mode."""
    state = VimState(mode="normal")
    for key in keys:
        step = press(state, "escape" if key == "<" else key, text, at)
        state, text, at = step.state, step.text, step.at
        if not step.taken and key != "<":
            text, at = text[:at] + key + text[at:], at + 1
    return text, at, state.mode


@pytest.mark.parametrize(
    ("text", "keys", "place"),
    [
        ("one two", "w", 4),
        ("one two", "e", 2),
        ("one two", "$", 6),
        ("one two", "$b", 4),
        ("one, two", "w", 3),
        ("a\nbc\nd", "j", 2),
        ("a\nbc\nd", "G", 5),
        ("a\nbc\nd", "Ggg", 0),
        ("a\nbc\nd", "2G", 2),
        ("a b c d", "3w", 6),
        ("abc", "lll", 2),
        ("abc", "$0", 0),
        ("  abc", "^", 2),
        ("abcd\nx\nabcd", "3ljj", 7),
    ],
)
def test_motions(text: str, keys: str, place: int) -> None:
    assert play(text, keys) == (text, place, "normal")


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        ("one two", "dw", "two"),
        ("one two", "x", "ne two"),
        ("one two", "3x", " two"),
        ("one two", "wD", "one "),
        ("a\nb\nc", "jdd", "a\nc"),
        ("a\nb\nc", "Gdd", "a\nb"),
        ("a\nb\nc", "2dd", "c"),
        ("a\nb\nc", "d2d", "c"),
        ("a\nb\nc", "dj", "c"),
        ("a", "dd", ""),
        ("a\nb", "ddp", "b\na"),
        ("a\nb", "yyP", "a\na\nb"),
        ("ab", "xp", "ba"),
        ("one two", "ywP", "one one two"),
        ("one two", "cwX<", "X two"),
        ("one\ntwo", "ccX<", "X\ntwo"),
        ("one\ntwo", "wdw", "one\n"),
        ("one\ntwo", "dw", "\ntwo"),
        ("a", "oX<", "a\nX"),
        ("a", "OX<", "X\na"),
        ("ab", "aX<", "aXb"),
        ("ab", "AX<", "abX"),
        ("  ab", "$IX<", "  Xab"),
        ("ab", "iX<", "Xab"),
        ("ab", "d<x", "b"),
        ("ab", "zqZ", "ab"),
    ],
)
def test_changes(text: str, keys: str, after: str) -> None:
    assert play(text, keys)[0] == after


def test_undo_redo_and_search_are_asked_for() -> None:
    normal = VimState(mode="normal")
    assert [press(normal, key, "a", 0).does for key in ("u", "ctrl+r", "/")] == ["undo", "redo", "search"]


def test_escape_of_normal_mode_with_nothing_pending_is_for_others() -> None:
    assert not press(VimState(mode="normal"), "escape", "a", 0).taken
    assert press(VimState(mode="normal", pending="d"), "escape", "a", 0).taken


def test_enter_and_other_named_keys_are_not_taken() -> None:
    assert not press(VimState(mode="normal"), "enter", "a", 0).taken


@given(st.text("ab .\n", max_size=20), st.text("hjklwbe0$^xXdDcCyYpPiIaAoOsGguq<12", max_size=30), st.integers(0, 20))
def test_the_cursor_is_always_in_the_text(text: str, keys: str, at: int) -> None:
    after, place, mode = play(text, keys, min(at, len(text)))
    assert 0 <= place <= len(after)
    assert mode in ("normal", "insert")
