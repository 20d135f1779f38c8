"""grep: lines that match a Python regular expression, in the project's files."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import anyio
import msgspec

from tui.messages import Json, ToolSpec
from tui.tools import scan
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.deception import visible
from tui.tools.globs import compile_glob
from tui.tools.launch import capture
from tui.tools.loosen import loosen
from tui.tools.paths import Place, locate, name_of, outside
from tui.tools.schema import arguments
from tui.tools.text import bound_start, count
from tui.tools.walk import Found, files_under

__all__ = ["GREP"]

LIMIT = 100
MOST = 1_000
LINE_WIDTH = 500
SECONDS = 60.0
"""How long the search may take; the setting `grep.timeout` changes it."""
_MAX_PATTERN = 2_000

SPEC = ToolSpec(
    name="grep",
    description=(
        "Search the project's files for a Python regular expression, line by line. Hidden files are searched; .git, "
        "what .gitignore names, and binary files are not. Results are sorted by path, at most "
        f"{LIMIT} unless limit says otherwise; long lines are cut at {LINE_WIDTH} characters."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "A Python regular expression (or text, with literal)."},
            "path": {"type": "string", "description": "A file or folder; the working directory if absent."},
            "glob": {"type": "string", "description": "Only files that match, as *.py or src/**/*.ts."},
            "ignore_case": {"type": "boolean"},
            "literal": {"type": "boolean", "description": "Take pattern as plain text."},
            "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around each match."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Most matching lines."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    short="Search files for a regular expression: pattern, path, glob, ignore_case, literal, context, limit.",
)


class _Args(msgspec.Struct, frozen=True):
    pattern: str
    path: str = "."
    glob: str | None = None
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    limit: int = LIMIT


_Line: TypeAlias = tuple[int, bool, str]
"""Number, whether it matches, text."""


class _Answer(msgspec.Struct, frozen=True):
    files: tuple[tuple[str, tuple[_Line, ...]], ...]
    matches: int
    more: bool
    binary: int


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    title = visible(f"{asked.pattern} in {place.name}", one_line=True)
    return Preview(title, Effect.READ, paths=(str(place.real),), outside=outside(place))


def _pattern(asked: _Args) -> str:
    if not asked.pattern or len(asked.pattern) > _MAX_PATTERN or "\n" in asked.pattern:
        raise ToolError(
            f"The pattern must be one line of 1 to {_MAX_PATTERN} characters: lines are searched one by one. "
            "Nothing was searched."
        )
    pattern = re.escape(asked.pattern) if asked.literal else asked.pattern
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError(
            f"Invalid pattern {visible(asked.pattern)}: {error}. Nothing was searched; it must be a Python regular "
            "expression. Set literal to search for it as plain text."
        ) from error
    return pattern


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    pattern = _pattern(asked)
    place = locate(ctx, asked.path)
    found = await files_under(ctx, place, loosen(pattern, ignore_case=asked.ignore_case))
    names = found.names
    if asked.glob is not None:
        glob = compile_glob(asked.glob)
        names = tuple(name for name in names if glob.matches(name.removeprefix(found.prefix)))
    answer = await _search(ctx, found.base, names, asked, pattern)
    return _outcome(ctx, place, found, asked, answer)


async def _search(ctx: ToolContext, base: Path, names: tuple[str, ...], asked: _Args, pattern: str) -> _Answer:
    request = {
        "base": str(base),
        "names": names,
        "pattern": pattern,
        "ignore_case": asked.ignore_case,
        "context": asked.context,
        "limit": asked.limit,
        "width": LINE_WIDTH,
    }
    seconds = float(ctx.settings.get("grep.timeout", SECONDS))
    command = [sys.executable, "-I", "-S", "-W", "ignore", str(Path(scan.__file__))]
    with anyio.move_on_after(seconds) as scope:
        done = await capture(command, mark=ctx.call_id, env=ctx.environ, given=json.dumps(request).encode())
        if done.returncode == 0:
            # Not msgspec's decoder: it refuses the lone surrogates that stand for bytes in odd file names.
            return msgspec.convert(json.loads(done.stdout), _Answer)
        last = done.stderr.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1]
        raise ToolError(f"The search failed: {last}. Nothing was changed; try a simpler pattern.")
    assert scope.cancelled_caught
    raise ToolError(
        f"The search took longer than {seconds:g} s and was stopped. Give a narrower path or glob, or a pattern "
        "without nested repeats."
    )


def _outcome(ctx: ToolContext, place: Place, found: Found, asked: _Args, answer: _Answer) -> Outcome:
    lines: list[str] = []
    for name, hits in answer.files:
        shown = name_of(found.base / name, ctx.cwd)
        last = 0
        for number, matches, text in hits:
            if asked.context and lines and number != last + 1:
                lines.append("--")
            lines.append(f"{shown}:{number}: {text}" if matches else f"{shown}-{number}- {text}")
            last = number
    if not lines:
        note = f" ({place.name} is binary)" if answer.binary and not found.prefix and len(found.names) == 1 else ""
        lines.append(f"(no matches{note})")
    bounded = bound_start(lines, "narrow the pattern, path or glob to see them", ctx.bounds)
    note = f"\n[first {count(asked.limit, 'matching line')}; there are more]" if answer.more else ""
    details: dict[str, Json] = {"type": "grep", "matches": answer.matches, "files": len(answer.files)}
    return Outcome(bounded.text + note, details={**details, "truncated": answer.more or bounded.cut})


GREP = Tool(SPEC, Effect.READ, _preview, _run)
