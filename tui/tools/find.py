"""find: files of the project by a glob pattern."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext
from tui.tools.deception import visible
from tui.tools.globs import compile_glob
from tui.tools.paths import locate, name_of, outside
from tui.tools.schema import arguments
from tui.tools.text import bound_start
from tui.tools.walk import files_under

__all__ = ["FIND"]

LIMIT = 1_000

SPEC = ToolSpec(
    name="find",
    description=(
        "Find files by a glob pattern. A pattern without / matches file names at any depth; one with / matches the "
        "path below the folder, where ** stands for any folders. Hidden files are listed; .git and what .gitignore "
        f"names are not, and links are not followed. Sorted by path, at most {LIMIT}."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "As *.py, src/**/*.ts or {a,b}.txt."},
            "path": {"type": "string", "description": "The folder; the working directory if absent."},
            "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    short="Find files: pattern (glob), path, limit.",
)


class _Args(msgspec.Struct, frozen=True):
    pattern: str
    path: str = "."
    limit: int = LIMIT


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    title = visible(f"{asked.pattern} in {place.name}", one_line=True)
    return Preview(title, Effect.READ, paths=(str(place.real),), outside=outside(place))


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    found = await files_under(ctx, place)
    glob = compile_glob(asked.pattern)
    names = [name for name in found.names if glob.matches(name.removeprefix(found.prefix))]
    lines = [name_of(found.base / name, ctx.cwd) for name in names[: asked.limit]]
    bounded = bound_start(lines or ["(no files)"], "narrow the pattern or path to see them", ctx.bounds)
    more = len(names) - len(lines)
    note = f"\n[first {len(lines):,} of {len(names):,} files; narrow the pattern or path]" if more else ""
    details: dict[str, Json] = {"type": "find", "files": len(names), "truncated": bool(more) or bounded.cut}
    return Outcome(bounded.text + note, details=details)


FIND = Tool(SPEC, Effect.READ, _preview, _run)
