"""ls: what a folder holds."""

from __future__ import annotations

import heapq
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.files import Stop, in_thread
from tui.tools.paths import Place, file_type, locate, outside, shown
from tui.tools.schema import arguments
from tui.tools.text import bound_start

__all__ = ["LS"]

LIMIT = 500

SPEC = ToolSpec(
    name="ls",
    description=(
        "List a folder, hidden entries included, sorted by name: folders end in /, links show where they lead. "
        f"At most {LIMIT} entries unless limit says otherwise."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder; the working directory if absent."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 2_000},
        },
        "additionalProperties": False,
    },
    short="List a folder: path, limit.",
)


class _Args(msgspec.Struct, frozen=True):
    path: str = "."
    limit: int = LIMIT


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    place = locate(ctx, arguments(args, _Args).path)
    return Preview(place.name, Effect.READ, paths=(str(place.real),), outside=outside(place))


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    lines, total = await in_thread(lambda stop: _list(place, asked.limit, stop))
    bounded = bound_start(lines or ["(empty folder)"], "use find with a pattern", ctx.bounds)
    note = f"\n[first {len(lines):,} of {total:,} entries; use find with a pattern]" if total > len(lines) else ""
    details: dict[str, Json] = {"type": "ls", "path": str(place.real), "entries": total}
    return Outcome(bounded.text + note, details={**details, "truncated": total > len(lines) or bounded.cut})


def _list(place: Place, limit: int, stop: Stop) -> tuple[list[str], int]:
    """Return the first lines and the number of all entries."""
    try:
        found = _entries(place, stop)
    except NotADirectoryError as error:
        raise ToolError(f"{place.name} is no folder. Use read for a file.") from error
    except OSError as error:
        raise ToolError(f"{place.name} cannot be listed: {error.strerror}. Use ls on a folder above it.") from error
    first = heapq.nsmallest(limit, found, key=lambda entry: os.fsencode(entry.name))
    return [_line(entry) for entry in first], len(found)


def _entries(place: Place, stop: Stop) -> list[os.DirEntry[str]]:
    found: list[os.DirEntry[str]] = []
    with os.scandir(place.real) as entries:
        for entry in entries:
            stop.check()
            found.append(entry)
    return found


def _line(entry: os.DirEntry[str]) -> str:
    name = shown(entry.name)
    try:
        if entry.is_symlink():
            return f"{name} -> {shown(Path(entry.path).readlink())}"
        if entry.is_dir(follow_symlinks=False):
            return f"{name}/"
        if entry.is_file(follow_symlinks=False):
            return name
        return f"{name} ({file_type(entry.stat(follow_symlinks=False).st_mode)})"
    except OSError:
        # Gone while it was listed.
        return name


LS = Tool(SPEC, Effect.READ, _preview, _run)
