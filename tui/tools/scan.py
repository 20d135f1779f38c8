"""Looks for lines in files. Runs in a process of its own, as a script, with the standard library alone.

A pattern can keep Python's `re` busy for ages, and nothing stops it from inside; a process can be ended.
A request comes on stdin and the answer goes to stdout, both as ASCII JSON.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

PIECE = 1 << 20
"""A longer line is looked at in pieces of this many bytes."""
SNIFF_BYTES = 8_192


class Search:
    """One search over many files, up to its limit."""

    def __init__(self, request: dict[str, Any]) -> None:
        flags = re.IGNORECASE if request["ignore_case"] else 0
        self.pattern = re.compile(str(request["pattern"]), flags)
        self.base = str(request["base"])
        self.context = int(request["context"])
        self.limit = int(request["limit"])
        self.width = int(request["width"])
        self.matches = 0
        self.more = False
        self.binary = 0
        self.files: list[tuple[str, list[tuple[int, bool, str]]]] = []

    def run(self, names: list[str]) -> dict[str, Any]:
        """Return what was found in the files with these names, in their order."""
        for name in names:
            if self.more:
                break
            file = open_regular(f"{self.base}/{name}")
            if file is not None:
                with file:
                    self.look(name, file)
        return {"files": self.files, "matches": self.matches, "more": self.more, "binary": self.binary}

    def look(self, name: str, file: BinaryIO) -> None:
        """Search one file."""
        if b"\0" in file.read(SNIFF_BYTES):
            self.binary += 1
            return
        file.seek(0)
        try:
            found = list(self.lines(file))
        except OSError:
            return
        if found:
            self.files.append((name, found))

    def lines(self, file: BinaryIO) -> Iterator[tuple[int, bool, str]]:
        """Yield the lines to show: number, whether it matches, text."""
        before: deque[tuple[int, str]] = deque(maxlen=self.context)
        after = 0
        for number, line in numbered(file):
            match = self.pattern.search(line)
            if match is None:
                if after > 0:
                    after -= 1
                    yield number, False, self.shown(line, 0)
                else:
                    before.append((number, line))
                continue
            if self.matches == self.limit:
                self.more = True
                return
            self.matches += 1
            yield from ((at, False, self.shown(text, 0)) for at, text in before)
            before.clear()
            after = self.context
            yield number, True, self.shown(line, match.start())

    def shown(self, line: str, at: int) -> str:
        """Return at most `width` characters of a line, around its match."""
        start = max(0, min(at - self.width // 4, len(line) - self.width))
        part = line[start : start + self.width]
        text = part.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return ("…" if start else "") + text + ("…" if start + len(part) < len(line) else "")


def open_regular(path: str) -> BinaryIO | None:
    """Open a file that is regular and can be read; nothing else is waited for."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb")
    except OSError:
        return None


def numbered(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield line numbers and lines without their ends; undecodable bytes become lone surrogates."""
    number = 1
    while raw := file.readline(PIECE):
        ended = raw.endswith(b"\n")
        line = raw.removesuffix(b"\n").removesuffix(b"\r") if ended else raw
        yield number, line.decode("utf-8", "surrogateescape")
        number += ended


def main() -> None:
    """Answer one request."""
    request = cast("dict[str, Any]", json.load(sys.stdin))
    json.dump(Search(request).run(request["names"]), sys.stdout)


if __name__ == "__main__":
    main()
