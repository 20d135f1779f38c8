"""`clew run status`: where the newest run of this directory stands; and which session `clew run PLAN` goes on with."""

from __future__ import annotations

import sys
from pathlib import Path

from tui.log import RunRow, Store
from tui.log.jsonl import as_line
from tui.log.paths import database_file, real_project
from tui.plain import plain_text
from tui.runs.report import status_json, status_text
from tui.runs.stored import RunUnreadable, read_run
from tui.streams import say, write_bytes

__all__ = ["show_status", "unfinished_session"]


async def _rows(home: Path, cwd: Path) -> tuple[list[RunRow], str]:
    """Return the runs of this directory, and who works on the newest one."""
    if not database_file(home, real_project(cwd)).exists():
        return [], ""
    async with await Store.open(home, cwd, read_only=True) as store:
        rows = await store.runs()
        return rows, await store.run_owner(rows[0].session) if rows else ""


async def show_status(home: Path, cwd: Path, *, as_json: bool) -> int:
    """Print where the newest run stands; return the exit status: 1 where there is none or it cannot be read."""
    rows, owner = await _rows(home, cwd)
    if not rows:
        say("clew: There is no run in this directory. `clew run PLAN.toml` begins one.")
        return 1
    try:
        run = read_run(rows[0])
    except RunUnreadable as error:
        say(f"clew: {error}")
        return 1
    if as_json:
        found = status_json(run.id, run.session, run.plan, run.state, armed=bool(owner))
        write_bytes(as_line({**found, "owner": owner, "source": run.source, "updated": rows[0].updated}))
    else:
        sys.stdout.write(plain_text(status_text(run.plan, run.state, armed=bool(owner), owner=owner)) + "\n")
    return 0


async def unfinished_session(home: Path, cwd: Path, source: str) -> str:
    """Return the session of the newest run of this plan's file that is not over; empty where there is none."""
    rows, _ = await _rows(home, cwd)
    row = next((row for row in rows if row.source == source), None)
    return row.session if row is not None and row.status not in ("complete", "stopped") else ""
