from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.style import Style

from tui.widgets.transcript.rows import cells, hard_rows, plain_rows, to_strip, wrap

PLAIN = Style()
BOLD = Style(bold=True)
CHARS = st.sampled_from("a b  cd日本👩‍👧e\u0301,。x")


@given(st.lists(st.text(CHARS, max_size=12), max_size=12), st.integers(2, 30))
def test_wrapping_loses_nothing_and_fits(parts: list[str], width: int) -> None:
    runs = [(part, PLAIN if at % 2 else BOLD) for at, part in enumerate(parts)]
    rows = wrap(runs, width)
    assert "".join(row.text + row.join for row in rows) == "".join(parts) + "\n"
    assert all(cells(row.text) <= width for row in rows)
    assert [row.text + row.join for row in hard_rows(runs, width)][-1].endswith("\n")


@example("\u200d\u200d。a", 2)  # a joiner with nothing to join
@given(st.text(CHARS, max_size=80), st.integers(2, 30))
def test_a_hard_cut_loses_nothing_and_fits(text: str, width: int) -> None:
    rows = plain_rows(text, width, PLAIN)
    assert "".join(row.text + row.join for row in rows) == text + "\n"
    assert all(cells(row.text) <= width for row in rows)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("hello world", 8, ["hello", "world"]),
        ("aaaaaaaaaaaa b", 5, ["aaaaa", "aaaaa", "aa b"]),
        ("日本語のテキスト、長い", 9, ["日本語の", "テキス", "ト、長い"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("", 5, [""]),
    ],
)
def test_where_lines_break(text: str, width: int, rows: list[str]) -> None:
    assert [row.text for row in wrap([(text, PLAIN)], width)] == rows


def test_a_change_of_style_is_no_place_to_break() -> None:
    rows = wrap([("see (", PLAIN), ("code", BOLD), ("), then", PLAIN)], 10)
    assert [row.text for row in rows] == ["see", "(code),", "then"]


def test_a_strip_has_exactly_the_width() -> None:
    for text in ("", "ab", "日本", "abcdefgh"):
        strip = to_strip(plain_rows(text, 50, PLAIN)[0], 5, PLAIN)
        assert strip.cell_length == 5 == cells(strip.text)


def test_a_line_of_a_megabyte_is_cut_in_one_pass() -> None:
    assert len(plain_rows("x" * 1_000_000, 100, PLAIN)) == 10_000
    assert len(plain_rows("日" * 100_000, 100, PLAIN)) == 2_000
