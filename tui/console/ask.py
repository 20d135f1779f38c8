"""Questions asked on the plain terminal before the app opens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from tui.plain import plain_line
from tui.trust import Decision, ProjectFiles, changes

__all__ = ["ask_purge", "ask_rebind", "ask_trust"]


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


def ask_rebind(old: Path, here: Path) -> bool:
    """Ask whether the sessions of a directory that was moved here are to belong to this one."""
    _show(f"This session belongs to {plain_line(str(old))}, which seems to be {plain_line(str(here))} now.")
    return _answer("Do all its sessions belong here from now on? [y]es, [N]o: ") in ("y", "yes")


def _show(text: str) -> None:
    sys.stderr.write(text + "\n")


def _answer(question: str) -> str:
    """Return the answer in lower case. What was typed before the question could be read does not count."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower()


def ask_purge(count: int) -> bool:
    """Ask whether sessions may be deleted for good."""
    return _answer(f"Delete {count} session{'s' if count > 1 else ''} for good? [y/N]: ") in ("y", "yes")
