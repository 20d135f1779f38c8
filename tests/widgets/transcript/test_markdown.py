from __future__ import annotations

import pytest

from tui.widgets.sanitise import sanitise
from tui.widgets.theme import default_theme
from tui.widgets.transcript.highlight import MAX_CHARS, MAX_LINE, code_lines, tokenise
from tui.widgets.transcript.markdown import Look, render_markdown
from tui.widgets.transcript.rows import Row, coloured

THEME = default_theme()
LOOK = Look(THEME)


def rows(text: str, width: int = 40, *, ascii_only: bool = False) -> list[str]:
    return [row.text.rstrip() for row in render_markdown(text, width, Look(THEME, ascii_only))]


def styles(found: list[Row], text: str) -> list[object]:
    return [segment.style for row in found for segment in row.segments if text in segment.text]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("# A *b*", ["# A b"]),
        ("a\nb", ["a b"]),
        ("a  \nb", ["a", "b"]),
        ("- a\n  - b\n\n    c\n- d", ["• a", "  • b", "", "    c", "• d"]),
        ("3. a\n3. b", ["3. a", "4. b"]),
        ("> a\n> > b", ["▌ a", "▌", "▌ ▌ b"]),
        ("```\n  x\n```", ["   x"]),
        ("a|b\n-|-:\n1|22", ["a │  b", "──┼───", "1 │ 22"]),
        ("[t](https://x.y/z)", ["t (https://x.y/z)"]),
        ("<https://x.y/z>", ["https://x.y/z"]),
        ("[t](src/a.py)", ["t"]),
        ("[x](javascript:alert)", ["[x](javascript:alert)"]),
        ("![alt](p.png)", ["[image: alt]"]),
        ("<b>x</b>", ["<b>x</b>"]),
        ("[/INST] [red]x[/] [0]", ["[/INST] [red]x[/] [0]"]),  # oterm#11, textual#5768
        ("&#x202e;x &#27;[31m", ["x \ufffd[31m"]),
    ],
)
def test_what_is_shown(source: str, shown: list[str]) -> None:
    assert rows(source) == shown


def test_ascii_alone() -> None:
    source = "- a\n\n> b\n\n---\n\na|b\n-|-\n1|2"
    assert "".join(rows(source, ascii_only=True)).isascii()


def test_a_link_target_is_encoded_and_never_a_sequence() -> None:
    text = sanitise("[t](<http://x\x1b]52;c;YQ==\x07y>)", cr="newline")
    assert rows(text) == ["t (http://xy)"]


def links(source: str) -> set[str | None]:
    found = render_markdown(sanitise(source, cr="newline"), 60, LOOK)
    return {segment.style.link for row in found for segment in row.segments if segment.style and segment.style.link}


def test_a_web_link_is_a_hyperlink_of_plain_encoded_ascii() -> None:
    assert links("[a](https://x.org/ä?q=1) and <http://y>") == {"https://x.org/%C3%A4?q=1", "http://y"}
    for source in ("[a](javascript:x)", "[a](file:///etc)", "[a](src/x.py)", "[a](<http://x\x1b]52;c;YQ==\x07y\x9d>)"):
        assert all(link.isascii() and link.isprintable() for link in links(source) if link)
        assert links(source) <= {"http://xy"}


def test_emphasis_is_laid_over_what_it_is_in() -> None:
    found = render_markdown("# a **b** `c`\n\n*d **e***", 40, LOOK)
    assert styles(found, "b") == [THEME.heading + THEME.strong]
    assert styles(found, "c") == [THEME.heading + THEME.code]
    assert styles(found, "e") == [THEME.emphasis + THEME.strong]


def test_a_table_too_wide_wraps_its_cells() -> None:
    shown = rows("| name | what it does |\n|---|---|\n| one | " + "word " * 12 + "|", 30)
    assert len(shown) > 4
    assert all(" │ " in line for line in shown if "word" in line)


def test_a_table_with_no_room_becomes_text() -> None:
    assert rows("|a|b|c|d|e|f|\n|-|-|-|-|-|-|\n|1|2|3|4|5|6|", 14)[0].startswith("a │ b")


def test_deep_nesting_leaves_room_for_text() -> None:
    assert max(len(line) for line in rows("> " * 18 + "word word word", 24)) <= 24


def test_code_is_coloured_and_stays_what_it_was() -> None:
    code = "def f():\n    return 'x'  # c"
    lines = code_lines(code, "python", THEME)
    assert "\n".join("".join(text for text, _ in line) for line in lines) == code
    assert len({style for line in lines for _, style in line}) > 3


def test_code_gets_its_colours_where_it_is_seen() -> None:
    source = "- a\n\n  > ```python\n  > def f():\n  >\n  >     return 'a string that is cut'\n  > ```"
    found = [row for row in render_markdown(source, 24, LOOK) if row.late]
    assert len(found) == 3
    for row in found:
        assert {segment.style for segment in row.segments[-1:]} == {THEME.code_block}
        assert "".join(segment.text for segment in coloured(row)) == row.text
        assert len({segment.style for segment in coloured(row)}) > len({segment.style for segment in row.segments})


@pytest.mark.parametrize("code", ["x" * (MAX_LINE + 1), "a = 1\n" * (MAX_CHARS // 6 + 1)])
def test_too_much_code_stays_plain(code: str) -> None:  # codex#33755
    assert tokenise(code, "python", lambda: 0.0) is None


def test_code_that_takes_too_long_stays_plain() -> None:
    ticks = iter(range(100_000))
    assert tokenise("a = 1\n" * 3_000, "python", lambda: float(next(ticks))) is None


@pytest.mark.parametrize("language", ["nope", "", "../x", "py thon", "a" * 99])
def test_an_unknown_language_stays_plain(language: str) -> None:
    assert code_lines("x = 1", language, THEME) == [[("x = 1", THEME.code_block)]]


def test_a_command_of_base64_is_shown() -> None:
    assert len(rows("```bash\necho " + "QUJD" * 50_000 + "\n```", 100)) > 1_000
