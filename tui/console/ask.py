"""Questions asked on the plain terminal before the app opens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from tui.streams import CannotStartError
from tui.trust import Decision, ProjectFiles, changes

__all__ = ["ask_purge", "ask_trust", "choose_session"]

_OFFERED = 20
"""Sessions shown to choose from; `clew sessions` has them all."""


def ask_trust(project: ProjectFiles, before: Decision | None) -> Literal["yes", "no", "never"]:
    """Show what a project brings along, or what of it changed, and ask whether it may be used."""
    new = before is None
    _show(f"This project {'brings settings of its own' if new else 'has changed its settings'}, in .clew:\n")
    _show(changes(before, project) + "\n")
    _show("They can choose the model, the server's address and what tools may do unasked.")
    answer = _answer("Use them? [y]es, [N]o for now, ne[v]er like this: ")
    match answer:
        case "y" | "yes":
            return "yes"
        case "v" | "never":
            return "never"
        case _:
            return "no"


def _show(text: str) -> None:
    sys.stderr.write(text + "\n")


def _answer(question: str) -> str:
    """Return the answer in lower case. What was typed before the question could be read does not count."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower()


async def choose_session(home: Path, cwd: Path) -> str:
    """Show the newest sessions of this directory; return the id of the one chosen. Raises `CannotStartError`."""
    from tui.console.sessions import list_sessions, session_row

    sessions = await list_sessions(home, cwd, _OFFERED)
    if not sessions:
        raise CannotStartError("There is no session in this directory to go on with.")
    for number, info in enumerate(sessions, 1):
        _show(f"{number:>3}  {session_row(info)}")
    answer = _answer(f"Which one? [1-{len(sessions)}, Enter for 1]: ") or "1"
    number = int(answer) if answer.isascii() and answer.isdigit() and len(answer) < 4 else 0
    if not 1 <= number <= len(sessions):
        raise CannotStartError("No session was chosen.")
    return sessions[number - 1].id


def ask_purge(count: int) -> bool:
    """Ask whether sessions may be deleted for good."""
    return _answer(f"Delete {count} session{'s' if count > 1 else ''} for good? [y/N]: ") in ("y", "yes")
