"""The fast frame shows what the ordinary way shows, cell by cell and colour by colour, in a terminal emulator."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pyte
import pytest

from tests.bench.texts import markdown
from tests.terminal.emulator import CLEW, Emulator

Cells = list[list[pyte.screens.Char]]


def cells(app: Emulator) -> Cells:
    """Return each cell with its colours, but for the row that says how long a call took."""
    screen = app.screen
    rows = [[screen.buffer[y][x] for x in range(screen.columns)] for y in range(screen.lines)]
    return [row for row in rows if "├─ ls" not in "".join(cell.data for cell in row)]


class Pair:
    """The same program twice: with the fast frame and without."""

    def __init__(self, fast: Emulator, plain: Emulator) -> None:
        self.apps = (fast, plain)

    def send(self, text: str) -> None:
        for app in self.apps:
            app.send(text)

    def resize(self, columns: int, rows: int) -> None:
        for app in self.apps:
            app.resize(columns, rows)

    def same(self, shows: Callable[[str], bool]) -> None:
        """Wait until both show what is asked for; then, within the deadline, the same in every cell."""
        fast, plain = self.apps
        for app in self.apps:
            app.until(lambda app=app: shows(app.text))
        fast.until(lambda: plain.catch_up() and cells(fast) == cells(plain))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    text = markdown(1_500, seed=11) + "\n\nThe very last line."
    path = tmp_path / "script.toml"
    path.write_text(
        f'pace = 0\n[[answer]]\ntext = """{text}"""\ncalls = [{{ name = "ls", arguments = {{}} }}]\n'
        '[[answer]]\ntext = "日本語 and e\\u0301 and \\U0001F469 end."\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_both_ways_show_the_same(tmp_path: Path, script: Path, size: tuple[int, int]) -> None:
    words = ("--model", str(script), "--approve", "all", "--window", "200000")
    with ExitStack() as stack:
        apps = [
            stack.enter_context(
                Emulator(
                    *CLEW,
                    *words,
                    cwd=tmp_path,
                    environ={**os.environ, "CLEW_FRAME": way, "CLEW_HOME": str(tmp_path / way)},
                    size=size,
                )
            )
            for way in ("fast", "plain")
        ]
        pair = Pair(apps[0], apps[1])
        pair.same(lambda text: "ready" in text)
        pair.send("go")
        pair.same(lambda text: "❯ go" in text)
        pair.send("\r")
        pair.same(lambda text: "ready" in text and "end." in text)
        for key in ("\x1b[5~", "\x1b[5~", "\x1b[5~", "\x1b[6~", "\x1b[1;5H"):  # pages up, one down, to the beginning
            before = apps[0].text
            pair.send(key)
            pair.same(lambda text, before=before: text != before)
        pair.send("\x1b[1;5F")
        pair.same(lambda text: "end." in text)
        pair.send("/")
        pair.same(lambda text: "/quit" in text or "/help" in text)
        pair.send("\x03")
        pair.same(lambda text: "/help" not in text)
        pair.resize(size[0] - 17, size[1] - 4)
        pair.same(lambda text: "end." in text and "ready" in text)
        pair.send("\x1bOP")  # F1
        pair.same(lambda text: "keys and commands" in text)
        pair.send("\x1b")
        pair.same(lambda text: "ready" in text and "end." in text)
