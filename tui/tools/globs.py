"""Glob patterns over paths with `/`: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}` and `**` for any folders.

A pattern without `/` matches the last part of a path; one with `/` matches the whole. Time is linear in
the number of parts, and within a part no star is tried twice.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Glob", "compile_glob"]

_Part: TypeAlias = re.Pattern[str] | None
"""A compiled part; None stands for `**`."""
_MAX_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


def _alternatives(pattern: str) -> list[str]:
    """Return `pattern` with each `{a,b}` written out."""
    done: list[str] = []
    todo = [pattern]
    while todo and len(done) + len(todo) <= _MAX_ALTERNATIVES:
        text = todo.pop()
        found = _BRACES.search(text)
        if found is None:
            done.append(text)
        else:
            todo += [text[: found.start()] + word + text[found.end() :] for word in found[1].split(",")]
    return done + todo


def _parts(pattern: str) -> list[_Part]:
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in pattern.split("/") if part]


class Glob:
    """One pattern, ready to match."""

    def __init__(self, pattern: str) -> None:
        texts = _alternatives(pattern.removeprefix("./"))
        self._whole = [_parts(text) for text in texts if "/" in text]
        self._last = [re.compile(fnmatch.translate(text)) for text in texts if "/" not in text]

    def matches(self, path: str) -> bool:
        """Whether a path with `/` between its parts fits."""
        names = [name for name in path.split("/") if name]
        if names and any(last.match(names[-1]) for last in self._last):
            return True
        return any(_match(parts, names) for parts in self._whole)


def _match(parts: list[_Part], names: list[str]) -> bool:
    """Match with one resumable star (`**`): going back to the newest one is enough."""
    at = here = 0
    star = -1
    resume = 0
    while here < len(names):
        if at < len(parts) and parts[at] is None:
            star, resume, at = at, here, at + 1
        elif at < len(parts) and _fits(parts[at], names[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return all(part is None for part in parts[at:])


def _fits(part: _Part, name: str) -> bool:
    return part is not None and part.match(name) is not None


compile_glob: Callable[[str], Glob] = functools.lru_cache(maxsize=256)(Glob)
"""Return the compiled pattern; kept for the next time."""
