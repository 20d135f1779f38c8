"""What of an entry can be searched for, and how words are looked for in it: pure functions.

Thinking is never searched. A query is never a language of its own: every sign in it stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from tui.log.entries import Answer, Body, Checkpoint, Pinned, Prompt, Result, TaskSet, UnknownBody
from tui.messages import Attachment, Json, Refusal, Text, ToolCall

__all__ = ["KINDS_SAID", "SNIPPET", "Said", "arguments_text", "matches", "needles", "said", "snippet", "trigrams"]

Said: TypeAlias = Literal["prompt", "answer", "result", "summary", "private"]
"""`private` was shown to the person and never sent to a model (`!!command`)."""
KINDS_SAID: tuple[Said, ...] = ("prompt", "answer", "result", "summary")
SNIPPET = 300
"""Characters of a snippet at most."""

Needle: TypeAlias = tuple[str, ...]
"""Texts that must all occur, in any order and any case."""

_MOST_TRIGRAMS = 24


def said(body: Body | UnknownBody) -> tuple[Said, str] | None:
    """Return what kind of words an entry holds, and the words; None for entries without any."""
    match body:
        case Prompt(message=message, excluded=excluded):
            parts = [part.text for part in message.content if isinstance(part, Text | Attachment)]
            return ("private" if excluded else "prompt"), _joined(parts)
        case TaskSet(text=text):
            return "prompt", _joined([text])
        case Pinned(texts=texts):
            return "prompt", _joined(texts)
        case Answer(message=message):
            return "answer", _joined(_spoken(message.content))
        case Result(message=message):
            return "result", _joined([message.name, message.text])
        case Checkpoint(summary=summary):
            return "summary", _joined([summary])
        case _:
            return None


def _spoken(content: Sequence[object]) -> list[str]:
    found: list[str] = []
    for part in content:
        if isinstance(part, Text | Refusal):
            found.append(part.text)
        elif isinstance(part, ToolCall):
            found.append(f"{part.name}\n{arguments_text(part)}")
    return found


def arguments_text(call: ToolCall) -> str:
    """Return a call's arguments as lines `name: value`, texts as they are, so that code in them is found as written."""
    if call.raw:
        return call.raw
    return "\n".join(f"{name}: {_plain(value)}" for name, value in call.arguments.items())


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace")


def _joined(parts: Sequence[str]) -> str:
    # A NUL would end the text for SQLite's LIKE.
    return "\n".join(part for part in parts if part).replace("\0", "\ufffd")


def needles(query: str) -> tuple[Needle, ...]:
    """Return what to look for, the exact text first, then all of its words; nothing for a blank query."""
    exact = _folded(query.strip().replace("\0", "\ufffd"))
    parts = tuple(dict.fromkeys(exact.split()))
    if not exact:
        return ()
    return ((exact,),) if parts == (exact,) else ((exact,), parts)


def matches(text: str, needle: Needle) -> bool:
    """Whether all parts occur."""
    folded = _folded(text)
    return all(part in folded for part in needle)


def _folded(text: str) -> str:
    """Return a text in small letters, each for one: Python makes two of the Turkish I, and two kinds of sigma."""
    if text.isascii():
        return text.lower()
    return "\u0130".join(part.lower() for part in text.replace("\u03a3", "\u03c3").split("\u0130"))


def trigrams(needle: Needle) -> tuple[str, ...]:
    """Return the groups of three letters whose entries hold every match; none where all parts are shorter.

    Of a long query a few are enough: what they let through is read and judged by `matches`.
    """
    groups = (part[at : at + 3] for part in needle for at in range(len(part) - 2))
    found = dict.fromkeys(group for group in groups if all(_one_case(char) for char in group))
    step = -(-len(found) // _MOST_TRIGRAMS) or 1
    return tuple(found)[::step]


def _one_case(char: str) -> bool:
    """Whether every Unicode version folds a small letter alike; not so the German sharp s, or the Turkish i."""
    return char.isascii() or char.upper().lower() == char


def snippet(text: str, needle: Needle, most: int = SNIPPET) -> str:
    """Return at most `most` characters on one line around the first match."""
    found = [match for part in needle if (match := re.search(re.escape(part), text, re.IGNORECASE))]
    first = min((match.start() for match in found), default=0)
    begin = max(0, min(first - most // 3, len(text) - most + 2))
    piece = text[begin : begin + most - 2]
    line = " ".join(piece.split())
    return f"{'…' if begin else ''}{line}{'…' if begin + most - 2 < len(text) else ''}"
