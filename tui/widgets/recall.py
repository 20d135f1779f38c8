"""The prompts sent before in this project: a private file of one JSON string a line.

Up and Down walk through it; the draft that was being typed waits at the newest end.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

__all__ = ["KEEP", "PromptHistory", "forget", "history_file", "read_history", "remember"]

KEEP = 500
"""Prompts kept for each project."""
_TAIL = 1 << 20


class PromptHistory(msgspec.Struct, frozen=True):
    """Where a person is in the prompts sent before. `at` == len(items) is the draft itself."""

    items: tuple[str, ...] = ()
    at: int = 0
    draft: str = ""
    prefix: str = ""
    """With how an earlier prompt must begin: the draft that was there, if any begins so."""

    @classmethod
    def of(cls, items: tuple[str, ...]) -> PromptHistory:
        """Return a history that stands at the draft."""
        return cls(items=items, at=len(items))

    def older(self, shown: str) -> tuple[PromptHistory, str | None]:
        """Return one step back and the text to show; None where there is none. `shown` is the editor's text.

        Where earlier prompts begin with the draft, only those are stepped through.
        """
        draft, prefix = (shown, self._prefix(shown)) if self.at == len(self.items) else (self.draft, self.prefix)
        at = next((at for at in range(self.at - 1, -1, -1) if self.items[at].startswith(prefix)), None)
        if at is None:
            return self, None
        return msgspec.structs.replace(self, at=at, draft=draft, prefix=prefix), self.items[at]

    def _prefix(self, shown: str) -> str:
        return shown if any(item.startswith(shown) and item != shown for item in self.items) else ""

    def newer(self) -> tuple[PromptHistory, str | None]:
        """Return one step forward and the text to show; past the newest it is the draft again."""
        if self.at >= len(self.items):
            return self, None
        fits = (at for at in range(self.at + 1, len(self.items)) if self.items[at].startswith(self.prefix))
        moved = msgspec.structs.replace(self, at=next(fits, len(self.items)))
        return moved, self.draft if moved.at == len(self.items) else self.items[moved.at]

    def sent(self, text: str) -> PromptHistory:
        """Return the history after `text` was sent; the same text twice in a row is kept once."""
        items = self.items if self.items[-1:] == (text,) or not text.strip() else (*self.items, text)[-KEEP:]
        return PromptHistory.of(items)


def history_file(data: Path, project: Path) -> Path:
    """Return the file of a project directory under the user's data folder."""
    import hashlib  # loads OpenSSL: not before the first paint

    return data / "history" / f"{hashlib.sha256(os.fsencode(project)).hexdigest()}.jsonl"


def follow(data: Path, old: Path, new: Path) -> None:
    """Let the prompts of a directory that was moved be those of the new one, unless that has some. Raises `OSError`."""
    before, now = history_file(data, old), history_file(data, new)
    if before.exists() and not now.exists():
        before.rename(now)


def forget(path: Path, gone: Callable[[str], bool]) -> int:
    """Take the prompts out for which `gone` says so; return how many. Raises `OSError`."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return 0
    texts = [text for text in map(_decode, lines) if text]
    kept = [text for text in texts if not gone(text)]
    if len(kept) < len(texts):
        other = path.with_suffix(".new")
        handle = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(b"".join(msgspec.json.encode(text) + b"\n" for text in kept))
        other.replace(path)
    return len(texts) - len(kept)


def read_history(path: Path) -> PromptHistory:
    """Return what the file holds; lines that cannot be read (a torn write) are passed over."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            lines = file.read().splitlines()
    except OSError:
        return PromptHistory()
    items = [text for text in map(_decode, lines) if text]
    return PromptHistory.of(tuple(items[-KEEP:]))


def remember(path: Path, text: str) -> None:
    """Append a prompt, durable enough for a convenience. Raises `OSError` where the folder cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "ab") as file:
        # A torn last line must not swallow this one: start on a fresh line.
        file.write(b"\n" + msgspec.json.encode(text) + b"\n")


def _decode(line: bytes) -> str | None:
    try:
        return msgspec.json.decode(line, type=str)
    except msgspec.DecodeError:
        return None
