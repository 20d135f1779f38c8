"""Keys typed before the editor is there are not lost."""

import sys
from pathlib import Path

import pyte

from tests.bench.bench_start import environment
from tests.bench.pty_child import PtyChild


def shown(output: bytes) -> str:
    screen = pyte.Screen(120, 40)
    pyte.ByteStream(screen).feed(output)
    return "\n".join(screen.display)


def test_what_is_typed_as_the_screen_opens_stands_in_the_editor(tmp_path: Path) -> None:
    environ = {**environment(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    with PtyChild([sys.executable, "-m", "tui"], environ) as child:
        child.read_until(lambda output: b"\x1b[?1049h" in output)
        child.send(b"early")
        child.read_until(lambda output: "❯ early" in shown(output))
