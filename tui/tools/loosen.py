r"""Python patterns made ready for ripgrep: looser, never stricter.

ripgrep only picks the files that may match; the lines are always found by Python's `re`, so both ways
give the same answer. A pattern (or a part) whose meaning differs between the two is loosened: `\b`, `^`
and `$` are dropped, a class also takes any byte above ASCII. What cannot be loosened gives None: then
every file is a candidate.
"""

from __future__ import annotations

import re

__all__ = ["loosen"]

_HIGH = r"(?-u:[\x80-\xff])+"
_REPEAT = re.compile(r"\{(\d{1,3})?(,)?(\d{1,3})?\}")
_META = frozenset("\\.+*?()|[]{}^$#&-~")
_SPACE = r"\s\x1c-\x1f"
_SHORTHAND = {"d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W", "s": _SPACE, "S": r"\S"}


class _CannotError(Exception):
    """It has a part that ripgrep might take more strictly."""


def loosen(pattern: str, *, ignore_case: bool) -> str | None:
    """Return a ripgrep pattern that matches in every file where `pattern` does, or None."""
    if ignore_case and not pattern.isascii():
        return None
    try:
        text = "".join(_pieces(pattern))
    except _CannotError:
        return None
    # Python folds i also with dotless and dotted I; Rust does not.
    return f"(?i:{text})|[\\x{{130}}\\x{{131}}]" if ignore_case else text


def _pieces(pattern: str) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        piece, at = _piece(pattern, at)
        out.append(piece)
    return out


def _piece(pattern: str, at: int) -> tuple[str, int]:
    match pattern[at]:
        case "\\":
            return _escape(pattern, at)
        case "[":
            return _class(pattern, at)
        case "(":
            return _group(pattern, at)
        case "*" | "+" | "?":
            return _lazy(pattern, pattern[at], at + 1)
        case "{":
            return _repeat(pattern, at)
        case "." | "^" | "$" as character:
            return (f"(?:.|{_HIGH})" if character == "." else "(?:)"), at + 1
        case ")" | "|" as character:
            return character, at + 1
        case "\n" | "\r" | "\0":
            raise _CannotError
        case character:
            return _literal(character), at + 1


def _literal(character: str) -> str:
    return f"\\{character}" if character in _META else character


def _escape(pattern: str, at: int) -> tuple[str, int]:
    following = pattern[at + 1 : at + 2]
    if following in _SHORTHAND:
        return f"(?:[{_SHORTHAND[following]}]|{_HIGH})", at + 2
    if following in ("b", "B", "A", "Z"):
        return "(?:)", at + 2
    if following == "t":
        return r"\t", at + 2
    if not following.isascii() or following.isalnum() or following in "\r\n\0":
        raise _CannotError
    return _literal(following), at + 2


def _group(pattern: str, at: int) -> tuple[str, int]:
    if not pattern.startswith("(?", at):
        return "(?:", at + 1
    if pattern.startswith("(?:", at):
        return "(?:", at + 3
    raise _CannotError


def _lazy(pattern: str, text: str, after: int) -> tuple[str, int]:
    if pattern[after : after + 1] == "+":
        raise _CannotError
    if pattern[after : after + 1] == "?":
        return text + "?", after + 1
    return text, after


def _repeat(pattern: str, at: int) -> tuple[str, int]:
    found = _REPEAT.match(pattern, at)
    if found is None or (found[1] is None and found[2] is None):
        return r"\{", at + 1
    least, comma, most = found.groups()
    text = f"{{{least or 0}{comma or ''}{most or ''}}}"
    return _lazy(pattern, text, found.end())


def _class(pattern: str, at: int) -> tuple[str, int]:
    at += 1
    negated = pattern.startswith("^", at)
    at += negated
    out: list[str] = []
    while True:
        character = pattern[at : at + 1]
        if character == "]" and out:
            return f"(?:[{'^' if negated else ''}{''.join(out)}]|{_HIGH})", at + 1
        # An empty class, a first `]`, nested or doubled signs mean other things in Rust.
        if character in ("", "]", "[", "&", "~", "|", "\n", "\r", "\0"):
            raise _CannotError
        piece, at = _member(pattern, at)
        out.append(piece)


def _member(pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at]
    if character == "-":
        return ("-" if pattern[at + 1 : at + 2] != "]" else r"\-"), at + 1
    if character != "\\":
        return _literal(character), at + 1
    following = pattern[at + 1 : at + 2]
    if following in _SHORTHAND:
        return _SHORTHAND[following], at + 2
    if following == "t":
        return r"\t", at + 2
    if not following or not following.isascii() or following.isalnum() or following in "\r\n\0":
        raise _CannotError
    return _literal(following), at + 2
