"""The first frame is on the screen before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.terminal.emulator import ROOT

PROGRAM = """
import sys
from tests.app.stage import options
from tui.app import ClewApp

class Watched(ClewApp):
    def _start(self):
        self.seen = set(sys.modules)
        assert self.screen.query_one("#hints").size.width == 80
        self.exit(0)

app = Watched(options())
app.run(headless=True, size=(80, 24))
heavy = {"httpx", "markdown_it", "pygments", "rich.markdown", "tui.agent.session", "tui.models.factory"} & app.seen
assert not heavy, heavy
"""


def test_nothing_heavy_is_imported_before_the_first_paint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
