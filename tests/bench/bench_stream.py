"""A Markdown answer streamed at full speed into an app in a pseudo-terminal of 120x40.

Run `python -m tests.bench.bench_stream [TOKENS [PAIRS]]`. Prints CPU seconds of the whole process and of the
stream, and the ratios: Textual's Markdown with its stream against the transcript, and five times the text.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import msgspec

from tests.bench.pty_child import PtyChild

ROOT = Path(__file__).parent.parent.parent


class Run(msgspec.Struct, frozen=True):
    """CPU seconds of the whole process, of the stream in it, and the peak memory in MiB."""

    cpu: float
    stream: float
    memory: float


def run(name: str, tokens: int) -> Run:
    """Run one of `stream_apps` to its end."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        keep = {key: os.environ[key] for key in ("PATH", "LANG", "VIRTUAL_ENV", "CLEW_FRAME") if key in os.environ}
        environ = {
            **keep,
            "HOME": folder,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "BENCH_RESULT": str(result),
            "PYTHONPATH": str(ROOT),
        }
        argv = [sys.executable, "-m", "tests.bench.stream_apps", name, str(tokens)]
        with PtyChild(argv, environ) as child:
            cost = child.drain()
        return Run(cost.cpu, float(json.loads(result.read_text())["stream_cpu"]), cost.memory)


def pairs(tokens: int, count: int) -> list[dict[str, Run]]:
    """Measure all apps in turn `count` times, after a warm-up that writes the byte code."""
    run("ours", 100)
    return [
        {
            "empty": run("empty", 1),
            "ours": run("ours", tokens),
            "ours x5": run("ours", 5 * tokens),
            "theirs": run("theirs", tokens),
        }
        for _ in range(count)
    ]


def main() -> None:
    """Print the figures."""
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rows = pairs(tokens, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for name in rows[0]:
        cpu = statistics.median(row[name].cpu for row in rows)
        stream = statistics.median(row[name].stream for row in rows)
        memory = statistics.median(row[name].memory for row in rows)
        print(f"{name:8} whole process {cpu:7.2f} s CPU, stream {stream:7.2f} s CPU, {memory:.0f} MiB")
    stream = statistics.median(row["theirs"].stream / row["ours"].stream for row in rows)
    whole = statistics.median(row["theirs"].cpu / row["ours"].cpu for row in rows)
    scaled = statistics.median(row["ours"].cpu / row["empty"].cpu * 0.5 for row in rows)
    growth = statistics.median(row["ours x5"].stream / row["ours"].stream for row in rows)
    growth_whole = statistics.median(row["ours x5"].cpu / row["ours"].cpu for row in rows)
    print(f"theirs / ours: stream {stream:.1f}, whole process {whole:.1f} (bar: at least 20)")
    alone = statistics.median(row["ours"].stream / row["empty"].cpu * 0.5 for row in rows)
    print(f"where the smallest app takes 0.5 s: the stream {alone:.2f} s (bar 1.0), the whole process {scaled:.2f} s")
    print(f"five times the text: stream {growth:.2f}, whole process {growth_whole:.2f} (bar: at most 6)")


if __name__ == "__main__":
    main()
