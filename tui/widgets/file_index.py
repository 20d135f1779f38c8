"""The project's files by name, for `@`: read in the background, matched in small steps.

Everything here runs in a thread of its own; a step takes some milliseconds of the interpreter at most, so
that no key waits for it however many files there are.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

__all__ = ["FileIndex", "best", "listed"]

MOST_FILES = 1_000_000
_PIECE = 1_000
"""Paths that are matched in one step."""
_KEEP = 4_000
"""Matches that are ranked."""
_FRESH = 10.0
"""Seconds after which the files are listed again when they are next asked for."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"})


def listed(root: Path) -> list[str]:
    """Return the project's files, as git sees them where it is a work tree: tracked and new, nothing ignored."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return list(_walked(root))
    if done.returncode != 0:
        return list(_walked(root))
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name][:MOST_FILES]


def _walked(root: Path) -> Iterator[str]:
    count = 0
    skip = len(str(root).rstrip("/")) + 1
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            yield f"{folder}/{name}"[skip:]
            count += 1
            if count >= MOST_FILES:
                return
        time.sleep(0)  # others may run


def best(query: str, paths: Sequence[str], *, limit: int, stop: Callable[[], bool] = lambda: False) -> list[str] | None:
    """Return the paths that hold the letters of `query` in order, the best first; None where it was stopped."""
    letters = [re.escape(char) for char in query.lower() if not char.isspace()]
    pattern = re.compile("[^\n]*?".join(letters))
    found: list[tuple[int, int, str]] = []
    for at in range(0, len(paths), _PIECE):
        if stop():
            return None
        found += [
            (_badness(query, path, match.end() - match.start()), len(path), path)
            for path in paths[at : at + _PIECE]
            if (match := pattern.search(path.lower())) is not None
        ]
        if len(found) > _KEEP:
            found = sorted(found)[: _KEEP // 2]
        time.sleep(0)  # others may run
    return [path for _, _, path in sorted(found)[:limit]]


def _badness(query: str, path: str, spread: int) -> int:
    """Return how far a match is from what is meant: the name itself, its start, letters side by side."""
    low, word = path.lower(), query.lower()
    name = low.rpartition("/")[2]
    if word in {name, low}:
        return 0
    if name.startswith(word):
        return 1
    if word in name:
        return 2
    if word in low:
        return 3
    return 4 + spread


class FileIndex:
    """The list of a project's files, read when it is first asked for and again when it may be old. For threads."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._paths: list[str] = []
        self._listed_at: float | None = None
        self._reading = threading.Lock()

    def search(self, query: str, *, stop: Callable[[], bool] = lambda: False, limit: int = 50) -> list[str] | None:
        """Return the best paths for `query`, or None where `stop` said so. It may take long: not for the loop."""
        with self._reading:
            if stop():
                return None
            if self._listed_at is None or self._clock() - self._listed_at > _FRESH:
                self._paths = listed(self._root)
                self._listed_at = self._clock()
        return best(query, self._paths, limit=limit, stop=stop)
