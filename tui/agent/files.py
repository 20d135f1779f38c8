"""What the agent last saw of each file, and where whole outputs go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tui.messages import new_id
from tui.tools.output import left_in

__all__ = ["SeenFiles", "Spill"]


class SeenFiles:
    """sha256 by real path: from the log's results when a session opens, then from each read and write."""

    def __init__(self, states: Mapping[str, str]) -> None:
        self._states = dict(states)

    def seen(self, path: str) -> str | None:
        """Return the sha256 of the content last read or written, or None."""
        return self._states.get(path)

    def states(self) -> dict[str, str]:
        """Return the sha256 of every file, by real path."""
        return dict(self._states)

    def note(self, path: str, sha256: str) -> None:
        """Remember what was just read or written."""
        self._states[path] = sha256

    def reset(self, states: Mapping[str, str]) -> None:
        """Know only this: what was seen on another branch was not seen on this one."""
        self._states = dict(states)

    def learn(self, states: Mapping[str, str]) -> None:
        """Take older states from the log; what is known already is newer and stays."""
        self._states = {**states, **self._states}


class Spill:
    """Makes private files for outputs too long for the model, in one folder per session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, call_id: str, suffix: str = ".txt") -> Path:
        """Return the path of a new, empty file (0600). Raises `OSError`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{call_id or new_id()}{suffix}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return path

    def left(self, call_id: str) -> str:
        """Return what a call had printed when the program ended in its middle, bounded; empty where nothing is kept."""
        try:
            return left_in(self._folder / f"{call_id}.txt")
        except OSError:
            return ""
