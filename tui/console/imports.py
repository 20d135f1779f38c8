"""`clew import`: a session from a file of `clew export --format jsonl`, into this directory's sessions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from tui.log import ImportRefused, SessionNotFound, Store, find_session
from tui.log.importing import Imported
from tui.log.jsonl import as_line
from tui.log.lines import HeaderLine, read_lines
from tui.plain import plain_line
from tui.streams import CannotStartError, say, write_bytes

__all__ = ["import_session"]

_SHOWN = 20
"""Lines with faults that are named one by one."""


async def import_session(home: Path, cwd: Path, name: str, *, as_json: bool) -> int:
    """Import a file; the status is 1 where some of it could not be used. Raises `CannotStartError`, `ImportRefused`."""
    if not name:
        raise CannotStartError("`clew import` needs a FILE.")
    try:
        with _opened(name) as file:
            await _refuse_known(home, file)
            async with await Store.open(home, cwd) as store:
                done = await store.take_in(read_lines(file))
    except OSError as error:
        raise CannotStartError(f"{plain_line(name)} cannot be read: {error.strerror or error}.") from error
    if as_json:
        write_bytes(as_line(msgspec.to_builtins(done)))
    else:
        _tell(done)
    return 1 if done.faults else 0


def _opened(name: str) -> BinaryIO:
    return Path(name).open("rb")


async def _refuse_known(home: Path, file: BinaryIO) -> None:
    """Raise `ImportRefused` where the session is in any project already."""
    first = next(read_lines(file), None)
    file.seek(0)
    if first is None or not isinstance(first[1], HeaderLine):
        return
    try:
        found = await find_session(home, first[1].id)
    except SessionNotFound:
        return
    raise ImportRefused(
        f"Session {found.session} is here already, in {found.project}. An import never changes what is there; "
        "nothing was done."
    )


def _tell(done: Imported) -> None:
    for fault in done.faults[:_SHOWN]:
        say(f"line {fault.line}: {fault.fault}: {fault.text}")
    if len(done.faults) > _SHOWN:
        say(f"… and {len(done.faults) - _SHOWN} more.")
    blobs = f" and {done.blobs} blob(s)" if done.blobs else ""
    shared = f", {done.shared} of them were here already" if done.shared else ""
    sys.stdout.write(
        f"Imported {plain_line(done.title, 80) or 'an untitled session'}: {done.entries} entries{blobs}{shared}.\n"
    )
    sys.stdout.write(f"Go on with it: clew -r {done.session}\n")
