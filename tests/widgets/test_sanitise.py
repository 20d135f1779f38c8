"""The one sanitiser: classes ANSI, SECTERM, WIDTH and MARK of faults users met elsewhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui.widgets.sanitise import StreamSanitiser, one_line, sanitise

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PIECES = st.sampled_from(
    [
        "\x1b",
        "[",
        "]",
        "31m",
        "8;;http://x",
        "\x07",
        "\\",
        "\n",
        "\r",
        "\t",
        "\x9b",
        "\x9d",
        "\x9c",
        "\x90",
        "\x98",
        "P",
        "_",
        "^",
        "X",
        "(",
        "B",
        "a",
        "日",
        "\u202e",
        "\x18",
        "\x1a",
        "0",
        ";",
        " ",
        "?",
        "m",
        "\b",
        "\x85",
        "\udc9b",
        "\u200d",
        "👩",
        "\xad",
    ]
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b]0;x\x07", ""),  # claude-code#18418
        ("10%\r20%\r\x1b[K30%\n\x1b[2Aup", "30%\nup"),  # crush#3354
        ("a\x1b[1;1Hb\x1b[2Jc", "abc"),  # claude-code#14479
        ("x\x1b]8;;http://x\x1b]52;c;YQ==\x07\x1b\\label\x1b]8;;\x1b\\y", "xlabely"),  # dsh-TUI#584
        ("\x9d8;;http://x\x9clabel\x9d8;;\x9c", "label"),
        ("\x1b]0;rm -rf ~\x07\x1b[21tok", "ok"),  # penelope#128
        ("\x1b[c\x1b[6n\x1bP$qm\x1b\\ok", "ok"),
        ("\x1b_Gf=100;AAAA\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\ok", "ok"),
        ("\x1b(B\x1b=\x1b7\x1bMok\x1b", "ok"),
        ("\x9b31mred\x9b0m", "red"),
        ("unterminated \x1b]0;title\nnext line", "unterminated \nnext line"),
        ("cut \x1b[31", "cut "),
        ("cut \x1b", "cut "),
        ("esc then wide \x1b日", "esc then wide 日"),
        ("\x00a\x01b\x7fc\x80d", "abcd"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("a\r\nb\r\r\nc", "a\nb\nc"),
        ("done\r", "done"),
        ("bidi \u202eabc\u202c \u2066x\u2069", "bidi abc x"),
        ("page\x0cbreak\x0bline\u2028para\u2029next\x85end", "page\nbreak\nline\npara\nnext\nend"),
        ("\ud800lone \udc9b31m byte", "\ufffdlone  byte"),
        ("#define A\t\t 0x1", "#define A\t\t 0x1".expandtabs(4)),  # textual#6351
        ("日\tx\n\ty", "日  x\n    y"),
        ("\u2764\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧", "\u2764\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧"),  # rich#3897
        ("a\u200db 👩\u200da \u200d \u200d\u200d👩 👩\u200d", "ab 👩a  👩 👩"),
        ("soft\u00adhyphen", "softhyphen"),
        ("[/INST] [0] [00] [/red] [b", "[/INST] [0] [00] [/red] [b"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    assert sanitise(raw) == shown


def test_bytes_of_the_c1_range_are_controls() -> None:
    assert sanitise(b"a\x9b31mb\x9d0;t\x07c \xff \xe6\x97\xa5") == "ab" + "c \ufffd 日"


def test_cr_of_words_is_a_line_end() -> None:
    assert sanitise("a\rb\r\nc", cr="newline") == "a\nb\nc"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("rm \x1b[31m-rf", "rm \\x1b[31m-rf"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("zero\u200bwidth\ufeff \u00a0nbsp", "zero\\u200bwidth\\ufeff \\xa0nbsp"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("vs\ufe0f fill\u3164 \u2800", "vs\\ufe0f fill\\u3164 \\u2800"),
        ("byte\udcff \udc9b", "byte\\xff \\x9b"),
        ("ok 日本 é", "ok 日本 é"),
        ("two\nlines\tx", "two\nlines   x"),
        ("over\rwritten", "over\\x0dwritten"),
    ],
)
def test_visible(raw: str, shown: str) -> None:
    assert sanitise(raw, visible=True) == shown


def test_one_line_is_one_line_and_bounded() -> None:
    assert one_line("a\nb\r\nc\x07") == "a↵b↵c\\x07"
    assert one_line("x" * 1_000_000, 20) == "x" * 19 + "…"


@given(st.lists(PIECES | st.characters(), max_size=60))
def test_nothing_that_steers_a_terminal_is_left(parts: list[str]) -> None:
    raw = "".join(parts)
    assert CONTROL.search(sanitise(raw)) is None
    assert CONTROL.search(sanitise(raw, cr="newline")) is None
    assert CONTROL.search(sanitise(raw, visible=True)) is None
    assert sanitise(sanitise(raw)) == sanitise(raw)


@given(st.lists(PIECES, max_size=60), st.lists(st.integers(1, 5), min_size=1, max_size=8))
@example(["\x1b]", "8;;x", "\x1b", "\x1b", "\\", "a"], [1])
@example(["\x1b[", "3", " ", "1", "m"], [1])
@example(["a", "\r", "\x1b[", "m", "\n", "b"], [1])
def test_any_cutting_of_a_stream_gives_the_same_text(parts: list[str], sizes: list[int]) -> None:
    raw = "".join(parts)
    stream = StreamSanitiser()
    shown: list[str] = []
    at = turn = 0
    while at < len(raw):
        size = sizes[turn % len(sizes)]
        shown.append(stream.feed(raw[at : at + size]))
        at, turn = at + size, turn + 1
    assert "".join(shown) == sanitise(raw, cr="newline")


def test_what_is_held_back_is_bounded() -> None:
    stream = StreamSanitiser()
    assert stream.feed("\x1b]52;c;") == ""
    for _ in range(100):
        assert stream.feed("A" * 10_000) == ""
    assert stream.feed("\x07after") == "after"
