from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.burst import QUIET, Burst, Do, KeyKind, quiet, step


def play(*keys: tuple[str, float]) -> str:
    """Play keys (a character and its time) and return the text, each sending as `<text>`."""
    state, text, sent, now = Burst(), "", "", 0.0
    for key, now in keys:
        kind: KeyKind = "enter" if key == "\r" else "line-feed" if key == "\n" else "text"
        state, does = step(state, kind, now)
        for do in does:
            match do:
                case Do.SUBMIT:
                    sent, text = f"{sent}<{text}>", ""
                case Do.NEWLINE:
                    text += "\n"
                case Do.INSERT:
                    text += key
    state, does = quiet(state, now + 1)
    return sent + (f"<{text}>" if Do.SUBMIT in does else text)


def at_once(text: str, start: float = 0.0, gap: float = 0.0) -> list[tuple[str, float]]:
    return [(char, start + gap * n) for n, char in enumerate(text)]


def test_typed_text_and_enter_send() -> None:
    assert play(*at_once("hi\r", gap=0.05)) == "<hi>"


def test_one_line_in_one_read_sends() -> None:
    assert play(*at_once("hi\r")) == "<hi>"


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_lines_without_brackets_never_send(newline: str) -> None:
    assert play(*at_once(f"a{newline}b{newline}c{newline}")) == "a\nb\nc\n"


def test_lines_in_three_reads_never_send_and_a_later_enter_does() -> None:
    reads = [*at_once("a\r\n", 0.0), *at_once("b\r\n", 0.002), *at_once("c\r\n", 0.004)]
    assert play(*reads) == "a\nb\nc\n"
    assert play(*reads, ("\r", 0.304)) == "<a\nb\nc\n>"


def test_two_enters_of_a_person_send_twice() -> None:
    assert play(("a", 0.0), ("\r", 0.1), ("b", 0.2), ("\r", 0.3)) == "<a><b>"


def test_thirty_keys_a_second_send_at_each_enter() -> None:
    assert play(*at_once("hello world\ry1 \r", gap=1 / 30)) == "<hello world><y1 >"


def test_a_late_timer_changes_nothing() -> None:
    """Decided by the time of the keys, not by when the loop got to run."""
    state, _ = step(Burst(), "enter", 1.0)
    assert quiet(state, 1.0 + QUIET / 2) == (state, ())
    assert step(state, "text", 1.5)[1] == (Do.SUBMIT, Do.INSERT)


def test_what_breaks_out_of_a_paste_does_not_send_but_enter_behind_one_does() -> None:
    after = Burst(last=1.0, pasted=True)
    state, _ = step(after, "text", 1.0)
    assert step(state, "enter", 1.0)[1] == (Do.NEWLINE,)
    state, does = step(after, "enter", 1.0)
    assert does == ()
    assert quiet(state, 1.1)[1] == (Do.SUBMIT,)


@given(st.lists(st.text("ab", min_size=0, max_size=5), min_size=2, max_size=8), st.sampled_from(["\r", "\n", "\r\n"]))
def test_any_burst_of_lines_is_text_byte_for_byte(lines: list[str], newline: str) -> None:
    assert play(*at_once(newline.join([*lines, "x"]))) == "\n".join([*lines, "x"])
