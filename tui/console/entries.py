"""`clew log`: every entry of a session's branch as one JSON object a line."""

from __future__ import annotations

from pathlib import Path

from tui.console.sessions import wanted_session
from tui.log import Store
from tui.log.jsonl import as_line, entry_object
from tui.streams import write_bytes

__all__ = ["show_entries"]


async def show_entries(home: Path, cwd: Path, wanted: str) -> int:
    """Print all entries, oldest first. What is damaged is left out, then raised as `Damaged`."""
    project, session_id = await wanted_session(home, cwd, wanted)
    async with await Store.open(home, project, read_only=True) as store:
        session = await store.session(session_id, write=False)
        async for page in session.entries():
            write_bytes(b"".join(as_line(entry_object(entry)) for entry in page))
    return 0
