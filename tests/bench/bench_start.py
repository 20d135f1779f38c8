"""Start to usable prompt: clew beside the smallest Textual app with one Input, in pairs.

Run `python -m tests.bench.bench_start [PAIRS]`. Both are spawned in a pseudo-terminal of 120x40 with a fresh
home; the clock stops when a typed letter has been echoed. Prints medians and the median of the paired ratios.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

from tests.bench.pty_child import Cost, PtyChild

SMALLEST = """
from textual.app import App
from textual.widgets import Input
class Smallest(App):
    def compose(self):
        yield Input()
Smallest().run()
"""
WORD = "qzx"
"""Letters that nothing on either first screen shows."""


def environment(home: Path) -> dict[str, str]:
    """Return a bare environment with its own home."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    return {
        **keep,
        "HOME": str(home),
        "CLEW_HOME": str(home / "clew"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
    }


def start(argv: list[str], home: Path) -> tuple[float, Cost]:
    """Return wall seconds from spawn to the echo of a typed word, and the whole run's cost."""
    with PtyChild(argv, environment(home)) as child:
        child.read_until(lambda output: b"\x1b[?1049h" in output)
        child.send(WORD.encode())
        seconds = child.read_until(lambda output: all(letter.encode() in output for letter in WORD))
        os.kill(child.pid, 15)
        return seconds, child.drain()  # read on: a program whose terminal is full cannot leave


def pairs(count: int) -> list[tuple[tuple[float, Cost], tuple[float, Cost]]]:
    """Measure both in turn `count` times, after one warm-up pair that writes the byte code."""
    measured: list[tuple[tuple[float, Cost], tuple[float, Cost]]] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for _ in range(count + 1):
            one = start([sys.executable, "-m", "tui"], home)
            two = start([sys.executable, "-c", SMALLEST], home)
            measured.append((one, two))
    return measured[1:]


def main() -> None:
    """Print the figures."""
    rows = pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
    wall = statistics.median(clew[0] / other[0] for clew, other in rows)
    cpu = statistics.median(clew[1].cpu / other[1].cpu for clew, other in rows)
    for name, side in (("clew", 0), ("smallest", 1)):
        seconds = statistics.median(row[side][0] for row in rows)
        used = statistics.median(row[side][1].cpu for row in rows)
        memory = statistics.median(row[side][1].memory for row in rows)
        print(f"{name:9} usable after {seconds:.3f} s, whole run {used:.3f} s CPU, {memory:.0f} MiB")
    print(f"ratio usable (wall) {wall:.2f} (bar 1.30), CPU {cpu:.2f}")


if __name__ == "__main__":
    main()
