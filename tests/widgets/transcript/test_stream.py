"""A stream gives the rows of the whole text, however it was cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.widgets.transcript.corpus import NASTY
from tui.widgets.sanitise import sanitise
from tui.widgets.theme import default_theme
from tui.widgets.transcript.markdown import Look, render_markdown
from tui.widgets.transcript.rows import Row, cells, coloured
from tui.widgets.transcript.stream import StreamDoc

LOOK = Look(default_theme())
PIECES = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=40)


def whole(text: str, width: int) -> list[Row]:
    return render_markdown(sanitise(text, cr="newline"), width, LOOK)


def streamed(text: str, width: int, sizes: list[int]) -> list[Row]:
    doc = StreamDoc(width, LOOK)
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        doc.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    return doc.finish()


def merged(rows: list[Row]) -> list[tuple[str, int, str]]:
    return [(row.text, row.lead, row.join) for row in rows]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 26, 1000])
@pytest.mark.parametrize("text", NASTY)
def test_any_step_gives_the_rows_of_the_whole(text: str, size: int) -> None:
    if len(text) > 1_000:
        size *= 97
    for width in (20, 77):
        assert streamed(text, width, [size]) == whole(text, width)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(NASTY[:-3]), min_size=1, max_size=4), PIECES, st.sampled_from([13, 40, 100]))
def test_random_pieces_of_joined_texts(parts: list[str], sizes: list[int], width: int) -> None:
    text = "\n".join(parts)
    assert merged(streamed(text, width, sizes)) == merged(whole(text, width))


TOKENS = [*"#>-*|`~=[]():日\t\n\n\n\n\n\n", "1.", "ab", "```", "---", "\n\n", "    ", "\x1b[m"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60), PIECES)
@example(["```", "\n", "\t"], [1])
@example(["```", "|", "\n", "---"], [1])
def test_random_structure(parts: list[str], sizes: list[int]) -> None:
    text = " ".join(parts).replace(" \n ", "\n")
    assert streamed(text, 30, sizes) == whole(text, 30)


LINES = [
    "# h",
    "> q",
    ">",
    "> - x",
    "> ```",
    "- a",
    "  b",
    "    c",
    "1. x",
    "2. y",
    "   - z",
    "```",
    "~~~",
    "  ```",
    "| a | b |",
    "|---|---|",
    "| 1 |",
    "===",
    "---",
    "***",
    "text",
    "",
    "",
    "* s",
    "+ p",
    "-",
    "> > d",
    "    code",
    "[r]: http://x",
    "[r]",
    "- ```",
    "  ~~~",
    "3) k",
    "<div>",
    "a | b",
    "--- | ---",
    ">text",
    "10. ten",
    "\ttab",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), min_size=2, max_size=25), PIECES, st.booleans())
def test_random_lines(lines: list[str], sizes: list[int], ended: bool) -> None:
    text = "\n".join(lines) + "\n" * ended
    assert streamed(text, 40, sizes) == whole(text, 40)


@pytest.mark.parametrize("text", NASTY)
def test_no_row_is_wider_than_asked(text: str) -> None:
    for width in (24, 40):
        assert max((cells(row.text) for row in whole(text, width)), default=0) <= width


@pytest.mark.parametrize("text", NASTY)
def test_what_is_shown_meanwhile_is_consistent(text: str) -> None:
    doc = StreamDoc(40, LOOK)
    frozen: list[Row] = []
    step = 9 if len(text) < 1_000 else 301
    for at in range(0, len(text), step):
        doc.feed(text[at : at + step])
        assert doc.frozen[: len(frozen)] == frozen, "what is frozen never changes"
        frozen = list(doc.frozen)
        shown = [doc.row(index) for index in range(len(doc))]
        assert max((cells(row.text) for row in shown), default=0) <= 40


@pytest.mark.parametrize(
    "text",
    ["para one\n\npara two\n\n- a\n- b\n- c", "> a\n>\n> b\n>\n> c", "1. a\n2. b\n3. c", "# h\n\ntext **b**\n\n- x\n"],
)
def test_the_live_rows_look_like_the_final_ones(text: str) -> None:
    doc = StreamDoc(40, LOOK)
    for char in text:
        doc.feed(char)
    assert [doc.row(index) for index in range(len(doc))] == whole(text, 40)


def test_a_long_list_is_frozen_item_by_item() -> None:
    doc = StreamDoc(40, LOOK)
    for number in range(500):
        doc.feed(f"- item {number}\n")
    assert len(doc.frozen) == 499
    assert len(doc.tail) == 1


def test_an_open_fence_streams_plain_and_is_coloured_when_it_closes() -> None:
    doc = StreamDoc(40, LOOK)
    doc.feed("```python\nx = 'a'\n")
    assert len({segment.style for segment in coloured(doc.row(0))}) == 1
    doc.feed("```\n")
    assert len({segment.style for segment in coloured(doc.row(0))}) > 1


def test_rows_of_an_open_table_are_shown_at_once() -> None:
    doc = StreamDoc(40, LOOK)
    doc.feed("| a | b |\n|---|---|\n| 1 | 2 |\n| 3")
    assert [doc.row(index).text.split() for index in (0, 2, 3)] == [["a", "│", "b"], ["1", "│", "2"], ["3", "│"]]


def test_a_text_beyond_the_limit_is_shown_plain() -> None:
    text = "# x\n" + "**word** " * 120_000
    doc = StreamDoc(80, LOOK)
    for at in range(0, len(text), 100_000):
        doc.feed(text[at : at + 100_000])
    assert doc.row(0).text == "# x"
    assert "**word**" in doc.row(1).text
    assert doc.finish() == whole(text, 80)
