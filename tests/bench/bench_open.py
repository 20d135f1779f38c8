"""A session of a gigabyte opened in the app, beside a small and a new one: CPU and memory until all is painted.

Run `python -m tests.bench.bench_open [ENTRIES [PAIRS]]` (390000 and 5). Both are spawned in a pseudo-terminal of
120x40; the large session is made once, in a folder of its own. Prints medians, and the paired CPU ratio and memory
beside a new session and beside one of a single exchange, which paints as much as the large one does.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bench_log import turn
from tests.bench.bench_start import environment
from tests.bench.pty_child import Cost, PtyChild
from tui.log import Store
from tui.log.entries import Answer, Settled
from tui.messages import AssistantMessage, StopReason, Text, Usage

LAST = "LASTWORDS"
"""What the newest answer says, and nothing else on either screen."""
READY = b"ready"
"""What the status line says once the session is open."""


async def build(data: Path, project: Path, entries: int) -> None:
    """Write a session with about this many entries, some 2.8 kB each."""
    async with await Store.open(data, project) as store:
        session = await store.create(cwd=project, first=turn(0))
        for start in range(1, entries // 6, 200):
            await session.append(*(body for number in range(start, start + 200) for body in turn(number)))
        last = AssistantMessage((Text(LAST),), StopReason.COMPLETE, usage=Usage(input=12_000, output=20))
        await session.append(Answer(last), Settled("answered"))


def opened(home: Path, project: Path, argument: str, wanted: bytes) -> tuple[float, Cost]:
    """Return wall seconds until the session is painted, and the whole run's cost."""
    argv = [sys.executable, "-m", "tui", "--cwd", str(project), "--provider", "rehearsal", *argument.split()]
    with PtyChild(argv, {**environment(home), "PYTHONPATH": str(Path.cwd())}) as child:
        seconds = child.read_until(lambda output: wanted in output)
        os.kill(child.pid, 15)
        return seconds, child.drain()


def main() -> None:
    """Print the figures."""
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 390_000
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        projects = {name: home / name for name in ("large", "small", "empty")}
        for project in projects.values():
            project.mkdir()
        began = time.perf_counter()
        asyncio.run(build(home / "clew", projects["large"], entries))
        size = sum(path.stat().st_size for path in (home / "clew").rglob("*") if path.is_file())
        print(f"{entries:,} entries, {size / 1e9:.2f} GB, written in {time.perf_counter() - began:.0f} s")
        asyncio.run(build(home / "clew", projects["small"], 6))
        rows = [{name: started(home, name) for name in projects} for _ in range(count + 1)][1:]
    for name in projects:
        seconds = statistics.median(row[name][0] for row in rows)
        cpu = statistics.median(row[name][1].cpu for row in rows)
        memory = statistics.median(row[name][1].memory for row in rows)
        print(f"{name:6} painted after {seconds:.3f} s, whole run {cpu:.3f} s CPU, {memory:.0f} MiB")
    for other in ("small", "empty"):
        ratio = statistics.median(row["large"][1].cpu / row[other][1].cpu for row in rows)
        more = statistics.median(row["large"][1].memory - row[other][1].memory for row in rows)
        print(f"beside the {other} one: CPU {ratio:.2f} (bar 1.10), memory {more:+.1f} MiB (bar +30)")


def started(home: Path, name: str) -> tuple[float, Cost]:
    """Open the session of this name; the empty one is ready once it says so."""
    return opened(home, home / name, *(("", READY) if name == "empty" else ("-c", LAST.encode())))


if __name__ == "__main__":
    main()
