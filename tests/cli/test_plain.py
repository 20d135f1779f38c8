"""No control character of a stranger reaches a plain terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.plain import plain_line, plain_text

ATTACKS = [
    "\x1b]8;;http://x\x1b]52;c;YQ==\x07\x1b\\label\x1b]8;;\x1b\\",
    "\x1b]0;rm -rf ~\x07\x1b[21t",
    "\x1b[c\x1b[6n\x1bP$qm\x1b\\",
    "\x9d52;c;YQ==\x9c\x9b21t",
    "good\rbad\x08\x7f",
    "safe\u202etxt.exe",
    "nul\0 and \ud800 alone",
]


def controls(text: str, allowed: str = "") -> list[str]:
    return [char for char in text if (ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0) and char not in allowed]


@pytest.mark.parametrize("text", ATTACKS)
def test_attacks_lose_their_controls(text: str) -> None:
    assert not controls(plain_text(text), "\n\t")
    assert not controls(plain_line(text))
    assert "\u202e" not in plain_line(text)


@given(st.text())
def test_any_text_can_be_printed(text: str) -> None:
    assert not controls(plain_text(text).encode().decode(), "\n\t")
    line = plain_line(text)
    assert not controls(line.encode().decode())
    assert len(line.splitlines()) <= 1


def test_ordinary_text_stays() -> None:
    text = "Ünï — 日本語 ✓ שלום\n\tcode\n"
    assert plain_text(text) == text
    assert plain_text("a\r\nb") == "a\nb"


def test_a_line_is_bounded() -> None:
    assert plain_line("x" * 1000, 10) == "x" * 9 + "…"
    assert plain_line("x" * 10, 10) == "x" * 10
