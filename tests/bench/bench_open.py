"""A session of a gigabyte opened in the app, beside a new one: CPU and memory until its last words are painted.

Run `python -m tests.bench.bench_open [ENTRIES [PAIRS]]` (390000 and 5). Both are spawned in a pseudo-terminal of
120x40; the large session is made once, in a folder of its own. Prints medians, the paired CPU ratio and the
memory beside that of the empty session.
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
from tui.messages import AssistantMessage, StopReason, Text

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
        last = AssistantMessage((Text(LAST),), StopReason.COMPLETE)
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
        large, empty = home / "large", home / "empty"
        for project in (large, empty):
            project.mkdir()
        began = time.perf_counter()
        asyncio.run(build(home / "clew", large, entries))
        size = sum(path.stat().st_size for path in (home / "clew").rglob("*") if path.is_file())
        print(f"{entries:,} entries, {size / 1e9:.2f} GB, written in {time.perf_counter() - began:.0f} s")
        rows = [(opened(home, large, "-c", LAST.encode()), opened(home, empty, "", READY)) for _ in range(count + 1)][
            1:
        ]
    for name, side in (("large", 0), ("empty", 1)):
        seconds = statistics.median(row[side][0] for row in rows)
        cpu = statistics.median(row[side][1].cpu for row in rows)
        memory = statistics.median(row[side][1].memory for row in rows)
        print(f"{name:6} painted after {seconds:.3f} s, whole run {cpu:.3f} s CPU, {memory:.0f} MiB")
    ratio = statistics.median(one[1].cpu / other[1].cpu for one, other in rows)
    more = statistics.median(one[1].memory - other[1].memory for one, other in rows)
    print(f"CPU {ratio:.2f} of an empty session's (bar 1.10), memory {more:+.1f} MiB (bar +30)")


if __name__ == "__main__":
    main()
