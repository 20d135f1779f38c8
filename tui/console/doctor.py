"""`clew doctor`: examines the log of this directory, or the one a session lies in, on a copy."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from tui.console.sessions import wanted_session
from tui.log.check import Finding, check
from tui.log.jsonl import as_line
from tui.log.paths import database_file, real_project
from tui.log.salvage import rebuild_copy
from tui.messages import clean
from tui.plain import plain_line
from tui.streams import say, write_bytes

__all__ = ["rebuild", "show_checks"]


async def show_checks(home: Path, cwd: Path, wanted: str, *, as_json: bool) -> int:
    """Print what is wrong, or that nothing is; the status is 1 where something is."""
    project = (await wanted_session(home, cwd, wanted))[0] if wanted else real_project(cwd)
    path = database_file(home, project)
    findings = await check(path) if path.exists() else []
    if as_json:
        found = [msgspec.to_builtins(finding) for finding in findings]
        write_bytes(as_line({"database": clean(str(path)), "exists": path.exists(), "findings": found}))
    elif not path.exists():
        say("There is no session in this directory yet, so there is nothing to check.")
    else:
        _print(path, findings)
    return 1 if findings else 0


async def rebuild(home: Path, cwd: Path, wanted: str, *, as_json: bool) -> int:
    """Write a clean copy beside the database and say how to use it; the database itself is not touched."""
    project = (await wanted_session(home, cwd, wanted))[0] if wanted else real_project(cwd)
    path = database_file(home, project)
    if not path.exists():
        say("There is no session in this directory yet, so there is nothing to rebuild.")
        return 1
    made = await rebuild_copy(path)
    if as_json:
        told = {"database": clean(str(path)), "rebuilt": clean(str(made.path)), "kept": made.kept, "lost": made.lost}
        write_bytes(as_line({**told}))
        return 0
    old, new = plain_line(str(path)), plain_line(str(made.path))
    lost = f"{made.lost} that could not be read have a notice in their place" if made.lost else "none is lost"
    say(f"A clean copy is in {new}: {made.kept} entries, {lost}. {old} was not changed.")
    say("To use it: close clew, move that file and its -wal and -shm away, and give the copy its name.")
    return 0


def _print(path: Path, findings: list[Finding]) -> None:
    for finding in findings:
        sys.stdout.write(f"{plain_line(finding.what)} ({plain_line(finding.where)})\n")
        sys.stdout.write(f"  kept: {plain_line(finding.kept)}\n  do: {plain_line(finding.todo)}\n")
    sys.stdout.write(f"{plain_line(str(path))}: {f'{len(findings)} found' if findings else 'nothing is wrong'}\n")
