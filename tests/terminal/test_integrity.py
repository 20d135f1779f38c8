"""The screen stays whole: resizes while it works, silence at rest, foreign writes, and what a kill left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.terminal.emulator import CLEW, Emulator, modes_left


def start(tmp_path: Path, *words: str, **environ: str) -> Emulator:
    app = Emulator(*CLEW, *words, cwd=tmp_path, environ={**os.environ, **environ})
    app.until("ready")
    app.until(lambda: b"\x1b[?2004h" in app.output)
    return app


def leave(app: Emulator) -> None:
    app.send("\x03\x04")
    app.end()
    assert modes_left(bytes(app.output)) == {"7", "25"}


def test_after_a_storm_of_resizes_the_screen_is_that_of_the_last_size(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        app.send("tell me about this folder\r")
        for size in [(80, 24), (20, 5), (1, 1), (300, 100), (60, 20), (3, 40), (100, 30)] * 6:
            app.resize(*size)
            app.quiet(0.02)
        app.until("answered")
        app.until("ready")
        app.quiet(0.5)
        shown = app.text
        app.send("\x0c")
        app.quiet(0.5)
        assert app.text == shown
        assert "tell me about this folder" in shown
        leave(app)


def test_at_rest_not_one_byte_is_written(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        app.quiet(1.0)
        before = len(app.output)
        app.quiet(2.0)
        assert len(app.output) == before
        leave(app)


def test_a_light_terminal_gets_the_light_theme_unless_one_was_asked_for(tmp_path: Path) -> None:
    light = b"48;2;251;250;247"
    with start(tmp_path, "--no-session") as app:
        assert b"\x1b]11;?" in app.output
        assert light not in app.output
        app.send("\x1b]11;rgb:fafa/fafa/fafa\x1b\\")
        app.until(lambda: light in app.output)
        assert "rgb" not in app.text
        leave(app)
    with start(tmp_path, "--no-session", "--theme", "clew-dark") as app:
        app.send("\x1b[?997;2n")
        app.send("x")
        app.until("❯ x")
        assert light not in app.output
        leave(app)


def test_after_a_kill_the_terminal_can_be_reset(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        app.signal(signal.SIGKILL)
        assert app.end() == -signal.SIGKILL
        assert modes_left(bytes(app.output)) != {"7", "25"}
        left = bytes(app.output)
    with Emulator(*CLEW, "reset-terminal", cwd=tmp_path, environ=os.environ) as app:
        assert app.end() == 0
        assert modes_left(left + bytes(app.output)) == {"7", "25"}


LOUD = """
import os, pathlib, sys, threading, time
from tui.cli import main

def shout():
    while not pathlib.Path("now").exists():
        time.sleep(0.02)
    os.write(1, b"TORN one\\n")
    os.write(2, b"TORN two\\x1b[2J\\n")
    pathlib.Path("done").touch()

threading.Thread(target=shout, daemon=True).start()
sys.exit(main(["--no-session"]))
"""


def test_what_other_code_prints_does_not_tear_the_screen_and_is_shown_afterwards(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    with Emulator(CLEW[0], "loud.py", cwd=tmp_path, environ=os.environ) as app:
        app.until("ready")
        app.until(lambda: b"\x1b[?2004h" in app.output)
        (tmp_path / "now").touch()
        app.until(lambda: (tmp_path / "done").exists() or app.quiet(0.05) is not None)
        app.send("still whole")
        app.until("❯ still whole")
        assert b"TORN" not in app.output
        leave(app)
        after = bytes(app.output).rpartition(b"\x1b[?1049l")[2]
        assert b"TORN one" in after
        assert b"TORN two\xe2\x90\x9b[2J" in after


def test_the_terminals_own_cursor_stands_where_the_next_letter_goes(tmp_path: Path) -> None:
    """An input method opens its window there."""
    with start(tmp_path, "--no-session") as app:
        app.until(lambda: app.text.split("\n")[app.screen.cursor.y].strip() == "❯")
        row, left = app.screen.cursor.y, app.screen.cursor.x
        column = left
        for typed, cells in (("a", 1), ("한", 2), ("글", 2), ("e\u0301", 1), ("日", 2)):
            app.send(typed)
            column += cells
            app.until(lambda column=column: (app.screen.cursor.y, app.screen.cursor.x) == (row, column))
        for cells in (2, 1, 2):
            app.send("\x1b[D")
            column -= cells
            app.until(lambda column=column: app.screen.cursor.x == column)
        app.send("\x7f")
        app.until(lambda: (app.screen.cursor.y, app.screen.cursor.x) == (row, left + 1))
        app.until("a글")
        leave(app)


def test_a_key_draws_over_what_another_program_wrote_on_the_terminal(tmp_path: Path) -> None:
    with start(tmp_path, "--no-session") as app:
        app.quiet(0.5)
        before = app.text
        app.scribble("\x1b[2J\x1b[5;5Hfrom elsewhere")
        assert "from elsewhere" in app.text
        app.send("\x0c")
        app.until(lambda: app.text == before)
        leave(app)
