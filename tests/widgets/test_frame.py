"""The least that turns one frame into the next shows exactly the next one."""

from __future__ import annotations

from typing import TypeAlias

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.widgets.frame import Painted, Part, Put, Scroll, changed_cells, encode, shift

WIDTH, HEIGHT = 24, 9
CONSOLE = Console(color_system="truecolor", force_terminal=True, width=WIDTH)
STYLES = (Style.parse("red on black"), Style.parse("bold white on blue"), Style.parse("green on black"))
Words: TypeAlias = list[tuple[str, int]]
Frame: TypeAlias = tuple[list[Words], int, bool]
"""Rows, by how many the last ones moved up, and whether something beside them changes."""
WORDS = ("and", "the thread", "日本", "e\u0301x", "│", "⠋", "…", " ", "x" * 9)


def strip(words: list[tuple[str, int]], width: int) -> Strip:
    made = Strip([Segment(word, STYLES[at]) for word, at in words])
    return made.adjust_cell_length(width, STYLES[0])


def row(text: str, width: int = WIDTH) -> Strip:
    return strip([(text, 0)], width)


def shown(screen: pyte.Screen) -> list[list[pyte.screens.Char]]:
    return [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


def play(text: str, screen: pyte.Screen) -> None:
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))


words = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 2)), max_size=4)
rows = st.lists(words, min_size=HEIGHT - 1, max_size=HEIGHT - 1)
frames = st.lists(st.tuples(rows, st.integers(0, 4), st.booleans()), min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(frames)
def test_what_is_written_shows_the_frame_as_if_it_were_painted_whole(
    frames: list[tuple[list[list[tuple[str, int]]], int, bool]],
) -> None:
    screen, painted = pyte.Screen(WIDTH, HEIGHT), Painted(WIDTH)
    content_rows: list[Words] = []
    for fresh, moved, beside in frames:
        content_rows = (
            content_rows[moved:] + fresh[: moved or 1] if len(content_rows) == HEIGHT - 1 and moved else fresh
        )
        content = [strip(each, WIDTH - 1) for each in content_rows]
        thumb = [row("#" if beside and y % 3 else ".", 1) for y in range(HEIGHT - 1)]
        parts = [Part(0, 0, content), Part(WIDTH - 1, 0, thumb), Part(0, HEIGHT - 1, [row(f"status {moved}")])]
        play(encode(painted.paint(parts), lambda each: each.render(CONSOLE)), screen)
        whole = pyte.Screen(WIDTH, HEIGHT)
        play(encode(Painted(WIDTH).paint(parts), lambda each: each.render(CONSOLE)), whole)
        assert shown(screen) == shown(whole)


def test_the_same_frame_again_writes_nothing() -> None:
    painted = Painted(WIDTH)
    assert painted.paint([Part(0, 0, [row("a"), row("b")])])
    assert painted.paint([Part(0, 0, [row("a"), row("b")])]) == []


def test_a_word_at_the_end_of_a_row_is_all_that_is_written() -> None:
    painted = Painted(WIDTH)
    painted.paint([Part(0, 3, [row("the thread")])])
    assert painted.paint([Part(0, 3, [row("the thread is")])]) == [Put(11, 3, row("is", 2))]


def test_what_stands_far_apart_is_written_apart() -> None:
    assert changed_cells(row("1 to do             1"), row("2 to do             2")) == [(0, 1), (20, 21)]
    assert changed_cells(row("1 to do 1"), row("2 to do 2")) == [(0, 9)]


def test_a_row_with_a_character_whose_width_is_in_doubt_is_written_whole() -> None:
    assert changed_cells(row("日本 a"), row("日本 b")) == [(0, WIDTH)]


def test_rows_that_moved_are_scrolled_and_what_stands_beside_them_stays() -> None:
    painted = Painted(WIDTH)
    old = [row(f"row {number}", WIDTH - 1) for number in range(8)]
    bar = [row("#" if number == 2 else ".", 1) for number in range(8)]
    painted.paint([Part(0, 0, old), Part(WIDTH - 1, 0, bar)])
    steps = painted.paint([Part(0, 0, [*old[1:], row("row 8", WIDTH - 1)])])
    assert steps[0] == Scroll(0, 7, 1)
    assert {(step.x, step.y) for step in steps[1:] if isinstance(step, Put)} == {
        (0, 7),
        (WIDTH - 1, 1),
        (WIDTH - 1, 2),
        (WIDTH - 1, 7),
    }


def test_nothing_is_scrolled_where_a_part_of_the_rows_is_unknown() -> None:
    painted = Painted(WIDTH)
    old = [row(f"row {number}", WIDTH - 1) for number in range(8)]
    painted.paint([Part(0, 0, old)])
    steps = painted.paint([Part(0, 0, [*old[1:], row("row 8", WIDTH - 1)])])
    assert not any(isinstance(step, Scroll) for step in steps)


def test_a_scroll_must_save_some_rows() -> None:
    old = [row(word) for word in "abcdefgh"]
    assert shift(old, [*old[2:], row("x"), row("y")]) == 2
    assert shift(old, [old[1], old[2], *(row(word) for word in "123456")]) == 0
    assert shift(old, old) == 0
    assert shift([None] * 8, old) == 0


def test_what_another_painted_is_painted_again() -> None:
    painted = Painted(WIDTH)
    painted.paint([Part(0, 0, [row("a")])])
    painted.forget(WIDTH)
    assert painted.paint([Part(0, 0, [row("a")])]) == [Put(0, 0, row("a"))]
