"""What a line says about a session: its age, its size, what it is in the middle of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.content import Content

from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.log.protocol import SessionInfo

__all__ = ["age", "heading_row", "place_words", "session_row", "size_words", "state_words"]


def age(milliseconds: int) -> str:
    """Return a span for a narrow column: `now`, `5m`, `3h`, `12d`, `2y`."""
    minutes = max(0, milliseconds // 60_000)
    for unit, length in (("y", 525_600), ("d", 1_440), ("h", 60), ("m", 1)):
        if minutes >= length:
            return f"{minutes // length}{unit}"
    return "now"


def size_words(size: int | None) -> str:
    """Return bytes in three digits; nothing where they are unknown."""
    if size is None:
        return ""
    for unit, length in (("G", 2**30), ("M", 2**20), ("k", 2**10)):
        if size >= length:
            return f"{size / length:.1f}{unit}" if size < 10 * length else f"{size // length}{unit}"
    return f"{size}b"


def state_words(info: SessionInfo) -> str:
    """Return what a session is in the middle of; a run comes before what its newest exchange was."""
    if info.held:
        return "run active" if info.run == "active" else "open elsewhere"
    if info.run:
        return f"run {'interrupted' if info.run == 'active' else info.run}"
    match info.state:
        case "interrupted":
            return "interrupted"
        case "handoff":
            return "handoff pending"
        case "":
            return "draft" if info.draft else ""


def session_row(info: SessionInfo, width: int, now: int) -> Content:
    """Return one session as a row of `width` cells: age and title first, figures and state at the right."""
    state = state_words(info)
    branches = f"{info.branches} branches" if info.branches > 1 and width >= 60 else ""
    size = size_words(info.size) if width >= 50 else ""
    right = "  ".join(word for word in (state, branches, size) if word)
    room = max(8, width - len(right) - 7)
    title = one_line(info.title or "(a draft)", room)
    shown = Content(title).truncate(room, pad=True)
    return Content.assemble(
        (f"{age(now - info.updated):>4} ", "$clew-dim"),
        shown,
        "  ",
        (right, "$clew-warning" if state else "$clew-dim"),
    )


def place_words(project: Path) -> str:
    """Return a directory as a person writes it; one that is not there says so."""
    home = Path.home()
    inside = project.is_relative_to(home) and home != Path("/")
    words = str(Path("~") / project.relative_to(home)) if inside else str(project)
    return words if project.is_dir() else f"{words} (not there now)"


def heading_row(what: str, place: str, width: int) -> Content:
    """Return what stands above the sessions of a directory, and a free row before it.

    Of a place that is too long the end is shown.
    """
    shown = one_line(place, 500)
    room = max(10, width - 1 - len(what))
    while Content(shown).cell_length > room:
        shown = f"…{shown[2:]}"
    return Content.assemble("\n", (f"{what}{shown}", "bold $clew-text"))
