"""The first frame comes before Textual is imported; what is typed meanwhile is kept; the terminal is never left raw."""

from __future__ import annotations

import os
import signal
import sys
import termios
from pathlib import Path

import pytest

from tests.terminal.emulator import Emulator, modes_left
from tui.first_frame import first_rows

HELD = """
import os, select, sys
class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "textual":
            sys.meta_path.remove(self)
            os.write(2, b"\\x1b[1;1Hat the gate")
            pipe = os.open(os.environ["GATE"], os.O_RDONLY | os.O_NONBLOCK)
            # In turns: a signal that comes just before a call that waits for ever would be heard by nobody.
            while not select.select([pipe], [], [], 0.05)[0]:
                pass
            if os.environ.get("BROKEN"):
                raise ImportError("no such screen")
sys.meta_path.insert(0, Gate())
from tui.cli import main
sys.exit(main())
"""
"""clew, whose import of Textual waits until the pipe that GATE names has been opened and closed."""


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    path = tmp_path / "gate"
    os.mkfifo(path)
    return path


def start(gate: Path, **environ: str) -> Emulator:
    return Emulator(
        sys.executable,
        "-c",
        HELD,
        cwd=gate.parent,
        environ={**os.environ, "GATE": str(gate), "CLEW_HOME": str(gate.parent / "home"), **environ},
    )


def test_the_prompt_stands_where_it_will_and_keys_typed_then_reach_the_editor(gate: Path) -> None:
    with start(gate) as app:
        app.until("at the gate")
        assert "starting" in app.text
        place = app.text.split("\n").index(" ❯")
        app.send("typed äs it loads")
        gate.write_text("")
        app.until("❯ typed äs it loads")
        assert app.text.split("\n")[place].startswith(" ❯ typed"), "nothing jumps"
        app.send("\x03\x04")
        assert app.end() == 0
        assert modes_left(bytes(app.output)) == {"7", "25"}


def test_enter_typed_then_sends(gate: Path) -> None:
    with start(gate) as app:
        app.until("at the gate")
        app.send("what is this")
        app.send("\r")
        gate.write_text("")
        app.until("● what is this")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_then_gives_the_terminal_back(gate: Path, number: signal.Signals) -> None:
    with start(gate) as app:
        app.until("at the gate")
        app.signal(number)
        app.end()
        assert modes_left(bytes(app.output)) == {"7", "25"}
        assert app.attributes_now() == app.attributes


def test_so_does_a_screen_that_cannot_be_loaded(gate: Path) -> None:
    with start(gate, BROKEN="1") as app:
        app.until("at the gate")
        gate.write_text("")
        assert app.end() == 1
        assert app.attributes_now() == app.attributes
        tail = bytes(app.output).rpartition(b"\x1b[?1049l")[2]
        assert b"no such screen" in tail, "what went wrong is said on the screen the person sees"


def test_the_modes_are_as_before_after_the_app(gate: Path) -> None:
    with start(gate) as app:
        app.until("at the gate")
        gate.write_text("")
        app.until("ready")
        app.send("\x04")
        assert app.end() == 0
        assert app.attributes_now() == app.attributes
        assert app.attributes[3] & termios.ECHO


def test_a_terminal_of_three_rows_gets_nothing_drawn() -> None:
    assert first_rows(3, ("*", ">")) == {}
    assert first_rows(24, ("*", ">")) == {21: " * starting", 22: " >"}
