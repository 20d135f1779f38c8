"""The clipboard, the pager and the editor in a real terminal: the screen comes back, nothing unknown is claimed."""

from __future__ import annotations

import base64
import os
import re
import sys
from pathlib import Path

import pytest

from tests.terminal.emulator import CLEW, Emulator

SHOW = """
import pathlib, sys
print("IN THE PAGER", pathlib.Path(sys.argv[1]).read_text()[:30])
input()
"""
EDIT = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
file.write_text(file.read_text() + "\\nwritten outside")
print("IN THE EDITOR")
input()
"""


def start(tmp_path: Path, **environ: str) -> Emulator:
    app = Emulator(*CLEW, "--no-session", cwd=tmp_path, environ={**os.environ, **environ})
    app.until("ready")
    app.until(lambda: b"\x1b[?2004h" in app.output)
    return app


def script(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    return f"{sys.executable} {path}"


def talk(app: Emulator) -> None:
    app.send("what is this\r")
    app.until("answered")
    app.until("● ready")


def leave(app: Emulator) -> None:
    app.send("\x1b\x03")
    app.send("\x04")
    assert app.end() == 0


def test_a_block_goes_to_the_terminals_clipboard_and_nobody_says_copied(tmp_path: Path) -> None:
    with start(tmp_path) as app:
        talk(app)
        app.send("\x1b[1;3A")  # Alt+Up
        app.send("\x1bOS")  # F4
        app.until("Esc back")
        app.send("y")
        app.until("it does not say whether")
        found = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)\x07", bytes(app.output))
        assert found is not None
        assert base64.b64decode(found.group(1)) == b"what is this"
        assert "Copied" not in app.text
        leave(app)


def test_a_program_that_took_it_lets_us_say_copied(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "xclip").write_text(f"#!/bin/sh\nexec cat > {tmp_path}/clip.txt\n")
    (tools / "xclip").chmod(0o755)
    with start(tmp_path, DISPLAY=":99", PATH=f"{tools}:{os.environ['PATH']}") as app:
        talk(app)
        app.send("\x1b[1;3A")
        app.send("\x1bOS")
        app.until("Esc back")
        app.send("y")
        app.until("Copied 12 characters")
        assert (tmp_path / "clip.txt").read_text() == "what is this"
        leave(app)


@pytest.mark.parametrize(("key", "word"), [("o", "IN THE PAGER what is this"), ("e", "IN THE EDITOR")])
def test_a_block_opens_outside_and_the_screen_comes_back(tmp_path: Path, key: str, word: str) -> None:
    pager, editor = script(tmp_path, "show.py", SHOW), script(tmp_path, "edit.py", EDIT)
    with start(tmp_path, PAGER=pager, VISUAL=editor) as app:
        talk(app)
        app.send("\x1b[1;3A")
        app.send("\x1bOS")
        app.until("Esc back")
        app.send(key)
        app.until(lambda: word.encode() in app.output)
        shown = len(app.output)
        app.send("\r")
        app.until(lambda: b"\x1b[?2004h" in app.output[shown:])  # the last mode: keys are keys again
        app.until("Esc back")
        leave(app)
