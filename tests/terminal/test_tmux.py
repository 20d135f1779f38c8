"""A whole session in a real terminal multiplexer: prompt, stream, approval, interrupt, quit, continue."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.terminal.emulator import CLEW, ROOT

_DEADLINE = 60.0
_STEP = 0.05

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Tmux:
    """One tmux server with one pane that runs a shell."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux.sock")
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PS1": "$ "}
        self._run("-f", os.devnull, "new-session", "-d", "-x", "100", "-y", "30", "sh", environ=environ)

    def _run(self, *words: str, environ: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words], env=environ, capture_output=True, text=True, check=True
        )
        return done.stdout

    def type(self, text: str) -> None:
        """Type literal text."""
        self._run("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys by their names."""
        self._run("send-keys", *keys)

    @property
    def screen(self) -> str:
        """What the pane shows."""
        return self._run("capture-pane", "-p")

    def until(self, condition: str | Callable[[str], bool]) -> str:
        """Look until the pane shows it; return the screen."""
        end = time.monotonic() + _DEADLINE
        while True:
            screen = self.screen
            if (condition in screen) if isinstance(condition, str) else condition(screen):
                return screen
            assert time.monotonic() < end, f"{condition!r} was never seen; the screen is:\n{screen}"
            select.select([], [], [], _STEP)

    def still(self, seconds: float) -> str:
        """Look until the pane did not change for `seconds`."""
        since, screen = time.monotonic(), self.screen
        end = since + _DEADLINE
        while time.monotonic() - since < seconds:
            assert time.monotonic() < end, f"the screen never rests:\n{screen}"
            select.select([], [], [], _STEP)
            if (now := self.screen) != screen:
                since, screen = time.monotonic(), now
        return screen

    def close(self) -> None:
        """End the server."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    server.close()


def talk(screen: str) -> list[str]:
    """Return the rows of the transcript: those before the status line, without the scroll bar's column."""
    rows = [row[:98].rstrip() for row in screen.split("\n")]
    end = max(n for n, row in enumerate(rows) if re.match(r" [●⠋-⠿] (ready|\w+)", row))
    return [row for row in rows[:end] if row]


def test_a_session_from_the_keyboard(tmux: Tmux, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text("alpha\nbeta\n")
    command = shlex.join(CLEW)
    tmux.type(f"cd {shlex.quote(str(project))} && {command}\n")
    tmux.until("the rehearsal answers")
    tmux.until("● ready")

    tmux.type("replace `alpha` by `gamma` in notes.txt")
    tmux.press("Enter")
    tmux.until("I read notes.txt")
    tmux.until("wants to change a file")
    shown = tmux.until("y once")
    assert "-alpha" in shown
    assert "+gamma" in shown
    assert (project / "notes.txt").read_text() == "alpha\nbeta\n"
    tmux.still(0.6)
    tmux.press("y")
    tmux.until("answered")
    assert (project / "notes.txt").read_text() == "gamma\nbeta\n"

    tmux.type("run `sleep 300`")
    tmux.press("Enter")
    tmux.until("wants to run a command")
    tmux.still(0.6)
    tmux.press("y")
    tmux.until(lambda screen: "running" in screen and "wants to run" not in screen)
    tmux.press("Escape")
    tmux.until("● ready")

    tmux.type("kept for later")
    before = talk(tmux.still(1.0))
    tmux.press("C-c")
    tmux.until("Ctrl+Z")
    tmux.press("C-z")
    tmux.until("❯ kept for later")
    tmux.still(1.0)
    tmux.press("C-c", "C-d")
    tmux.until("Continue with: clew -r")
    tmux.type(f"clear; {command} -c\n")
    tmux.until("● ready")
    after = talk(tmux.still(1.0))
    assert after == before
    tmux.press("C-d")
    tmux.until("Continue with: clew -r")
