"""Each way out leaves the terminal as it was; colours and letters follow what the terminal can do."""

from __future__ import annotations

import os
import re
import signal
import termios
from pathlib import Path

import pytest

from tests.terminal.emulator import CLEW, Emulator, modes_left

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def start(tmp_path: Path, *words: str, size: tuple[int, int] = (80, 24), **environ: str) -> Emulator:
    return Emulator(*CLEW, *words, cwd=tmp_path, environ={**os.environ, **environ}, size=size)


def assert_clean(app: Emulator) -> None:
    assert modes_left(bytes(app.output)) == {"7", "25"}
    mouse_off, main_screen = app.output.rfind(b"\x1b[?1000l"), app.output.rfind(b"\x1b[?1049l")
    assert 0 < mouse_off < main_screen, "modes go in the reverse order of their coming"


def ready(app: Emulator) -> None:
    app.until("ready")
    app.until(lambda: b"\x1b[?2004h" in app.output)


def test_quitting_says_how_to_continue(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        ready(app)
        app.send("\x04")
        assert app.end() == 0
        assert_clean(app)
        assert re.search(rb"clew -r [0-9a-f]{32}", app.output)


def test_a_draft_survives_the_end_of_the_program(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        ready(app)
        app.send("kept for later")
        app.until("kept for later")
        app.signal(signal.SIGTERM)
        app.end()
    with start(tmp_path, "-c") as app:
        app.until("❯ kept for later")
        app.send("\x03\x04")
        app.end()
    with start(tmp_path, "-c") as app:
        ready(app)
        assert "kept for later" not in app.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_in_order(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path) as app:
        ready(app)
        app.signal(number)
        assert app.end() == 128 + number
        assert_clean(app)


def test_the_line_discipline_is_restored(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        before = app.attributes
        ready(app)
        app.send("\x03")
        app.until("again to quit")
        app.send("\x03")
        assert app.end() == 0
        assert before[3] & termios.ECHO


CRASH = """
import sys
from tui.screens.composer import Composer
from tui.cli import main

Composer.CommandTyped.command = property(lambda self: 1 / 0, lambda self, value: None)
sys.exit(main([]))
"""


def test_a_crash_in_a_handler_is_one_sentence_and_a_clean_terminal(tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    with Emulator(CLEW[0], str(script), cwd=tmp_path, environ=os.environ) as app:
        ready(app)
        app.send("/help\r")
        assert app.end() == 1
        assert_clean(app)
        after = bytes(app.output).rpartition(b"\x1b[?1049l")[2]
        assert b"Traceback" not in after
        assert after.count(b"clew: ") == 1


def test_no_color_has_no_colour(tmp_path: Path) -> None:
    with start(tmp_path, NO_COLOR="1") as app:
        ready(app)
        app.until("---")
        app.send("\x04")
        app.end()
        for code in _COLOUR.findall(bytes(app.output)):
            numbers = {int(part) for part in code[2:-1].split(b";") if part}
            colours = numbers - {39, 49}  # the terminal's own
            assert not any(30 <= n <= 49 or 90 <= n <= 107 for n in colours), code


def test_sixteen_colours_use_the_terminals_own(tmp_path: Path) -> None:
    with start(tmp_path, TERM="xterm", COLORTERM="") as app:
        ready(app)
        app.send("\x04")
        app.end()
        assert b"38;2;" not in app.output
        assert b"38;5;" not in app.output
        assert b"48;2;" not in app.output


def test_an_ascii_terminal_gets_ascii(tmp_path: Path) -> None:
    with start(tmp_path, LANG="C", LC_ALL="C", PYTHONUTF8="1") as app:
        ready(app)
        app.send("hello\r")
        app.until("answered")
        rows = app.text.replace("…", "...")
        assert rows.isascii(), [char for char in rows if not char.isascii()]
        app.send("\x04")
        app.end()


@pytest.mark.parametrize("enter", ["\r", "\x1b[13u", "\x1b[13;1u", "\x1b[13;1:1u\x1b[13;1:3u", "\x1bOM"])
def test_every_enter_sends_once(tmp_path: Path, enter: str) -> None:
    with start(tmp_path, "--no-session") as app:
        ready(app)
        app.send("/zapzap")
        app.until("/zapzap")
        app.send(enter)
        app.until("no command /zapzap")
        app.send("\x03\x03")
        app.until("again")
        app.send("\x04")
        assert app.end() == 0


def test_pieces_of_sequences_never_become_text(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        ready(app)
        for piece in ("\x1b", "[I", "\x1b[", "O", "\x1b[<35;2", "0;18M", "\x1b[<35;20;18", "M"):
            app.send(piece)
        app.send("end")
        app.until("❯ end")
        app.send("\x03\x04")
        app.end()


@pytest.mark.parametrize("brackets", [True, False])
def test_ten_thousand_lines_through_the_terminal(tmp_path: Path, brackets: bool) -> None:
    text = "".join(f"line {n} of a paste\r" for n in range(10_000))
    with start(tmp_path, "--no-session") as app:
        ready(app)
        app.send(f"\x1b[200~{text}\x1b[201~" if brackets else text)
        app.until("pasted 10,000 lines")
        assert "answered" not in app.text
        app.send("\x03\x04")
        app.end()


def test_lines_without_brackets_do_not_send_and_a_later_enter_does(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        ready(app)
        for read in ("a\r\n", "b\r\n", "c\r\n"):
            app.send(read)
        app.until("  c")
        app.quiet(0.3)
        app.send("\r")
        app.until("answered")
        assert re.search(r"a\n.*b\n.*c\n", app.text)
        app.send("\x04")
        app.end()
