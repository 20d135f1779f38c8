"""The whole app while it works: CPU at 200 tokens a second, bytes for a token, key to screen, and idle.

Run `python -m tests.bench.bench_live [SECONDS [ROUNDS]]`. clew continues a session of 1,000 messages in a
pseudo-terminal of 120x40 and a script streams Markdown at a set pace; beside it, in the same round, the fast
frame switched off and the smallest Textual app with one Input. CPU is what the system says of the process.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from tests.bench.bench_start import SMALLEST, environment
from tests.bench.pty_child import PtyChild
from tests.bench.texts import markdown
from tui.log import Store
from tui.log.entries import Answer, Body, Prompt
from tui.messages import AssistantMessage, StopReason, Text, UserMessage

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = 1_000
EMPTY_START = 0.5
"""CPU seconds the smallest app's start takes on the machine the bars are written for."""
KEY = "§"
"""A letter no text here holds, one cell wide."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Live(msgspec.Struct, frozen=True):
    """What a stretch of work cost: CPU seconds and bytes for each second, and key to screen in milliseconds."""

    cpu: float
    written: float
    key: float


def cpu_of(pid: int) -> float:
    """Return the CPU seconds a process has used, by the system's clock ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def prepare(home: Path) -> None:
    """Write a session of `MESSAGES` messages."""
    text = markdown(60 * 50)
    size = len(text) // 50

    def message(number: int) -> Body:
        part = text[number % 50 * size : (number % 50 + 1) * size]
        if number % 2:
            return Answer(AssistantMessage((Text(part),), StopReason.COMPLETE))
        return Prompt(UserMessage((Text(f"prompt {number}"),)))

    async with await Store.open(home / "clew", home) as store:
        await store.create(cwd=str(home), first=[message(number) for number in range(MESSAGES)])


def script(home: Path, pace: int, seconds: float) -> Path:
    """Write a model that answers with Markdown at a pace, for longer than is measured."""
    path = home / f"pace{pace}.toml"
    text = markdown(int(pace * (seconds + 60)))
    path.write_text(f"pace = {pace}\n[[answer]]\nrepeat = true\ntext = {msgspec.json.encode(text).decode()}\n")
    return path


def stretch(child: PtyChild, seconds: float, *, keys: bool) -> Live:
    """Read what a child writes for some seconds, typing a letter five times a second if `keys`."""
    began, cpu, size = time.perf_counter(), cpu_of(child.pid), len(child.output)
    waits: list[float] = []
    while time.perf_counter() - began < seconds:
        child.read_for(0.2)
        if keys:
            before = child.output.count(KEY.encode())
            typed = time.perf_counter()
            child.send(KEY.encode())
            child.read_until(lambda output, before=before: output.count(KEY.encode()) > before)
            waits.append(1000 * (time.perf_counter() - typed))
    passed = time.perf_counter() - began
    cost = (cpu_of(child.pid) - cpu) / passed
    return Live(cost, (len(child.output) - size) / passed, statistics.median(waits) if waits else 0.0)


def clew(home: Path, pace: int, seconds: float, frame: str, *, keys: bool) -> Live:
    """Return what clew costs while an answer streams at `pace` tokens a second; 0: while nothing happens."""
    environ = {**environment(home), "CLEW_FRAME": frame, "PYTHONPATH": str(ROOT)}
    model = script(home, pace or 100, seconds)
    with PtyChild(
        [sys.executable, "-m", "tui", "-c", "--cwd", str(home), "--window", "1000000", "--model", str(model)], environ
    ) as child:
        child.read_until(lambda output: b"ready" in output)
        child.read_for(1.5)
        if pace:
            child.send(b"go\r")
            child.read_until(lambda output: b"tok/s" in output)
        return stretch(child, seconds, keys=keys)


def smallest(home: Path, seconds: float, *, keys: bool) -> tuple[float, Live]:
    """Return the CPU seconds the smallest app's start takes, and what it costs idle."""
    with PtyChild([sys.executable, "-c", SMALLEST], environment(home)) as child:
        child.read_until(lambda output: b"\x1b[?1049h" in output)
        child.send(KEY.encode())
        child.read_until(lambda output: KEY.encode() in output)
        started = cpu_of(child.pid)
        return started, stretch(child, seconds, keys=keys)


def round_of(home: Path, seconds: float) -> dict[str, float]:
    """Measure everything once, in turn."""
    start, other = smallest(home, seconds, keys=True)
    scale = EMPTY_START / start
    streaming = clew(home, 200, seconds, "fast", keys=False)
    plain = clew(home, 200, seconds, "plain", keys=False)
    typing = clew(home, 200, seconds, "fast", keys=True)
    slow = clew(home, 100, seconds, "fast", keys=False)
    idle = clew(home, 0, seconds, "fast", keys=False)
    return {
        "percent of a core at 200 tokens/s, scaled (bar 15)": 100 * scale * streaming.cpu,
        "the same without the fast frame": 100 * scale * plain.cpu,
        "bytes for a token at 100 tokens/s (bar 120)": slow.written / 100,
        "bytes for a token at 200 tokens/s": streaming.written / 200,
        "the same without the fast frame ": plain.written / 200,
        "key to screen while streaming, ms": typing.key,
        "key to screen in the idle smallest app, ms": other.key,
        "their ratio (bar 2)": typing.key / other.key,
        "percent of a core when idle, scaled (bar 0.2)": 100 * scale * idle.cpu,
        "bytes a second when idle (bar 0)": idle.written,
    }


def main() -> None:
    """Print the medians."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        asyncio.run(prepare(home))
        rows = [round_of(home, seconds) for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)]
    for name in rows[0]:
        print(f"{name.strip():52} {statistics.median(row[name] for row in rows):8.2f}")


if __name__ == "__main__":
    main()
