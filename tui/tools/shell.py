"""Reads a shell command as simple commands, or admits that it cannot.

Only what is certain counts: plain words and plain quotes, joined by `&&`, `||`, `;` and `|`. Anything a
shell would expand, redirect, substitute, group or run in the background makes the answer None, so that
no rule can match it (DeepSeek-Reasonix#6963).
"""

from __future__ import annotations

import re

__all__ = ["simple_commands"]

_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+)
    |(?P<operator>&&|\|\||;|\|)
    |(?P<word>(?:[A-Za-z0-9_\-./:=@%+,]|'[^'\n\0]*'|"[^"$`\\!\n\0]*")+)""",
    re.VERBOSE,
)
_QUOTE = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_RESERVED_WORDS = (
    "if then elif else fi do done case esac while until for in function time coproc select eval exec "
    "source . command builtin alias trap export set "
)
_RESERVED = frozenset(_RESERVED_WORDS.split())
"""Words that change what the words after them mean."""


def simple_commands(command: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the words of each simple command of a list or pipeline, or None where anything is uncertain.

    `git add . && git commit -m "a b"` gives `(("git", "add", "."), ("git", "commit", "-m", "a b"))`.
    """
    commands: list[list[str]] = [[]]
    at = 0
    while at < len(command):
        match = _TOKEN.match(command, at)
        if match is None:
            return None
        if match["operator"]:
            commands.append([])
        elif match["word"]:
            if not _ends_at_boundary(command, match.end()):
                return None
            commands[-1].append(_QUOTE.sub(lambda quote: quote[1] or quote[2] or "", match["word"]))
        at = match.end()
    return tuple(tuple(words) for words in commands) if all(map(_certain, commands)) else None


def _ends_at_boundary(command: str, end: int) -> bool:
    return end == len(command) or command[end] in " \t;&|"


def _certain(words: list[str]) -> bool:
    return bool(words) and words[0] not in _RESERVED and not _ASSIGNMENT.match(words[0])
