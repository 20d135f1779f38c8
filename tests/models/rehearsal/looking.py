"""Plain, real implementations of ls, find and grep over the file system."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError

_Run = Callable[[ToolContext, Mapping[str, Json]], Awaitable[Outcome]]


def _tool(name: str, run: _Run, *keys: str) -> Tool:
    async def preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
        return Preview(title=name, effect=Effect.READ)

    properties: dict[str, Json] = {key: {"type": "string"} for key in keys}
    spec = ToolSpec(
        name=name, description=name, parameters={"type": "object", "properties": properties, "required": keys[:1]}
    )
    return Tool(spec=spec, effect=Effect.READ, preview=preview, run=run)


def files_below(root: Path) -> list[str]:
    """All files from the root, without hidden ones."""
    found = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file())
    return [name for name in found if not any(part.startswith((".", "__pycache__")) for part in name.split("/"))]


async def _ls(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    folder = ctx.cwd / str(args.get("path", "."))
    if not folder.is_dir():
        raise ToolError(f"{args.get('path')} is no folder.")
    names = sorted(item.name + ("/" if item.is_dir() else "") for item in folder.iterdir())
    return Outcome("\n".join(names) or "(the folder is empty)")


async def _find(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    start = str(args.get("path", "."))
    names = [name for name in files_below(ctx.cwd) if start == "." or name.startswith(start + "/")]
    pattern = str(args["pattern"])
    hits = [name for name in names if fnmatch.fnmatchcase(name if "/" in pattern else name.rsplit("/", 1)[-1], pattern)]
    return Outcome("\n".join(hits) or "No files found.")


async def _grep(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    start, rule = str(args.get("path", ".")), re.compile(str(args["pattern"]))
    rows: list[str] = []
    for name in files_below(ctx.cwd):
        if start in (".", name) or name.startswith(start + "/"):
            lines = (ctx.cwd / name).read_text().splitlines()
            rows += [f"{name}:{number}: {line}" for number, line in enumerate(lines, 1) if rule.search(line)]
    return Outcome("\n".join(rows) or "No matches found.")


LS = _tool("ls", _ls, "path")
FIND = _tool("find", _find, "pattern", "path")
GREP = _tool("grep", _grep, "pattern", "path")
