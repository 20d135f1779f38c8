"""What looks like something else is named and shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.deception import deceptive, visible


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\u202eb", "text direction controls"),
        ("a\u2066b", "text direction controls"),
        ("a\u200bb", "zero-width characters"),
        ("a\ufeffb", "zero-width characters"),
        ("a\U000e0041b", "tag characters"),
        ("a\u3164b", "blank letters"),
        ("rm\u00a0-rf", "unusual spaces"),
        ("a\u2028b", "unusual spaces or line ends"),
        ("a\x1b[2Jb", "control characters"),
        ("a\rb", "control characters"),
        ("a\udcffb", "undecodable bytes"),
        ("curl https://ex\u0430mple.com", "letters of another script"),
        ("r\u043em -rf", "letters of another script"),
        ("\uff52\uff4d.example", "letters of another script"),
    ],
)
def test_named_and_escaped(text: str, named: str) -> None:
    assert named in deceptive(text)
    assert visible(text).isprintable()
    assert visible(text) != text


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf build && echo 'done'",
        "tab\tand\nnewline",
        "naïve café, Grüße, Привет мир, 表示, שלום, नमस्ते",
        "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈",
        "",
    ],
)
def test_honest_text_stays(text: str) -> None:
    assert deceptive(text) == ""
    assert visible(text) == text


def test_one_line() -> None:
    assert visible("a\nb\tc", one_line=True) == "a\\nb\\tc"


@given(st.text(max_size=30))
def test_visible_can_always_be_encoded_and_holds_no_escape(text: str) -> None:
    seen = visible(text)
    seen.encode()
    assert "\x1b" not in seen
    assert deceptive(seen) == ""
