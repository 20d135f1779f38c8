from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.messages import Attachment, Text
from tui.widgets import chips

LONG = "line\n" * 10_000


def test_a_chip_says_how_much_it_holds() -> None:
    assert chips.label(LONG, 1) == "⟦pasted 10,000 lines · 1⟧"
    assert chips.label("x" * 500_000, 2) == "⟦pasted 500,000 characters · 2⟧"


def test_what_is_sent_is_the_whole_text() -> None:
    word = chips.label(LONG, 1)
    assert chips.whole(f"see {word} there", {word: LONG}) == f"see {LONG} there"
    assert chips.parts(f"see {word} there", {word: LONG}) == (
        Text("see "),
        Attachment(name="pasted 10,000 lines · 1", text=LONG),
        Text(" there"),
    )


def test_a_word_that_only_looks_like_a_chip_is_text() -> None:
    assert chips.parts("⟦pasted 3 lines · 1⟧", {}) == (Text("⟦pasted 3 lines · 1⟧"),)
    assert chips.must_fold("⟦pasted 3 lines · 1⟧")


@pytest.mark.parametrize(
    "text", ["a\rb\n", "\x1b[200~x", "\x1b]0;t\x07", "nul\x00", "a\u2028b", "a\x85b", "a\x0cb", "x" * 2_001, "\n" * 12]
)
def test_what_the_editor_would_change_is_folded(text: str) -> None:
    assert chips.must_fold(text)


def test_one_enormous_line_is_folded() -> None:
    line = "x" * 500_000
    assert chips.must_fold(line)
    assert chips.parts(chips.label(line, 1), {chips.label(line, 1): line})[0] == Attachment(
        name="pasted 500,000 characters · 1", text=line
    )


@pytest.mark.parametrize("text", ["plain", "a\nb", "#define A\t\t 0x1", "héllo 世界 👩‍👩‍👧", "[/red] [0]"])
def test_what_the_editor_holds_exactly_stays(text: str) -> None:
    assert not chips.must_fold(text)


@pytest.mark.parametrize(
    ("came", "was"), [("a\rb", "a\nb"), ("a\nb", "a\nb"), ("a\r\nb", "a\r\nb"), ("a\r\rb\r", "a\n\nb\n")]
)
def test_the_terminals_carriage_returns_are_line_ends(came: str, was: str) -> None:
    assert chips.pasted(came) == was


def test_covering_is_the_inside_of_a_known_chip() -> None:
    word = chips.label("x", 1)
    line = f"ab{word}cd"
    assert chips.covering(line, 2, {word: "x"}) is None
    assert chips.covering(line, 3, {word: "x"}) == (2, 2 + len(word))
    assert chips.covering(line, 2 + len(word), {word: "x"}) is None
    assert chips.covering(line, 3, {}) is None


@given(st.lists(st.text(max_size=30), max_size=4))
def test_parts_joined_are_the_whole(pastes: list[str]) -> None:
    held = {chips.label(text, n): text for n, text in enumerate(pastes)}
    typed = " and ".join(held)
    assert "".join(part.text for part in chips.parts(typed, held)) == chips.whole(typed, held)
