"""`recall`: looking back in this session's own log, behind every checkpoint; and the notepad, `write_notes`."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from tui.log.entries import Entry
from tui.log.errors import EntryNotFound, LogError
from tui.log.found import Findings, Hit, Passage, Search
from tui.log.words import said
from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.schema import arguments

__all__ = ["NOTES_BYTES", "PAGE", "memory_tools"]

PAGE = 12_000
"""Characters of a page of entries."""
NOTES_BYTES = 8_192
"""Bytes of UTF-8 the notepad holds."""

_RECALL = ToolSpec(
    name="recall",
    description=(
        "Look up what was really said and done earlier in this session, also behind a checkpoint: prompts, answers, "
        "tool calls with their arguments, results, summaries. Give `query` (plain text; the exact text is looked for, "
        "then all of its words) for up to 50 hits with snippets, or `first` and `last` (entry numbers as hits show "
        "them, or entry ids) to read entries word for word, in pages. Reads only."
    ),
    short="Look up earlier entries of this session: a query, or a range first..last of entry numbers.",
    parameters={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Text to look for; every sign stands for itself."},
            "first": {"type": "string", "description": "The first entry to read: its number or id."},
            "last": {"type": "string", "description": "The last entry to read; without it only the first."},
            "skip": {"type": "integer", "minimum": 0, "description": "Characters of the first entry to leave out."},
            "branches": {"type": "boolean", "description": "Look on the other branches of this session too."},
        },
        "additionalProperties": False,
    },
)
_NOTES = ToolSpec(
    name="write_notes",
    description=(
        "Replace this session's notepad, whole. What stands in it comes back to you word for word after every "
        "checkpoint and when the session is continued later: decisions, paths, open ends. At most 8,192 bytes of UTF-8."
    ),
    short="Replace this session's notepad; it comes back after checkpoints and on resume.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The whole new content; empty clears it."}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


class _Asked(msgspec.Struct, frozen=True):
    query: str = ""
    first: str = ""
    last: str = ""
    skip: int = 0
    branches: bool = False


def memory_tools(search: Callable[[], Search], keep: Callable[[str], Awaitable[object]]) -> tuple[Tool, ...]:
    """Return the two tools, in a fixed order. `keep` makes the notepad durable."""

    async def nothing(_ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
        what = args.get("query") or args.get("first") or "the notepad"
        return Preview(str(what)[:80], Effect.READ)

    async def recall(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
        try:
            text = await _recalled(search(), arguments(args, _Asked), ctx.bounds.bytes)
        except LogError as error:
            raise ToolError(f"{error} Other ranges can still be read.") from error
        return Outcome(text=text, details={"type": "info"})

    async def notes(_ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
        text = str(args["text"])
        size = len(text.encode("utf-8", "replace"))
        if size > NOTES_BYTES:
            raise ToolError(
                f"The notes have {size} bytes of UTF-8, and {NOTES_BYTES} are the most. The notepad is as it was; "
                "write them shorter and call write_notes again."
            )
        await keep(text)
        return Outcome(text=f"The notepad holds {size} of {NOTES_BYTES} bytes.", details={"type": "info"})

    return Tool(_RECALL, Effect.READ, nothing, recall), Tool(_NOTES, Effect.READ, nothing, notes)


async def _recalled(search: Search, asked: _Asked, room: int) -> str:
    if asked.first:
        try:
            return _page(await search.passage(asked.first, asked.last), asked, min(PAGE, room))
        except EntryNotFound as error:
            raise ToolError(
                f"There is no entry {error.entry} here. Give a number or an id as hits and checkpoints show them."
            ) from error
    if not asked.query.strip():
        raise ToolError("Nothing was looked for: give `query`, or `first` and `last`.")
    scope = "session" if asked.branches else "path"
    return _hits(await search.find(asked.query, scope=scope, private=False), asked, room)


# --- hits -----------------------------------------------------------------------------------------


def _hits(found: Findings, asked: _Asked, room: int) -> str:
    where = "this session" if asked.branches else "this path"
    how = "the exact text" if found.exact else "all of its words (the exact text does not occur)"
    lines = [f"{_count(len(found.hits))} on {where} for {how}, newest first."]
    shown = _fitting([_hit(hit) for hit in found.hits], room)
    lines += shown
    if found.more or len(shown) < len(found.hits):
        lines.append("There are more: give a longer query, or read a range with first and last.")
    if not found.hits and not asked.branches:
        lines.append("Other branches were not looked at: branches=true does that.")
    lines += _gaps([(gap.low, gap.high) for gap in found.gaps])
    return "\n".join(lines)


def _fitting(rows: Sequence[str], room: int) -> list[str]:
    """Return as many first rows as `room` characters hold, at least one."""
    sizes = itertools.accumulate(len(row) + 1 for row in rows)
    return [row for number, (row, size) in enumerate(zip(rows, sizes, strict=True)) if size <= room or number == 0]


def _count(number: int) -> str:
    return "Nothing was found" if not number else "1 hit" if number == 1 else f"{number} hits"


def _hit(hit: Hit) -> str:
    name = f"{hit.depth}" if hit.on_path else f"{hit.entry}, on another branch"
    return f"[{name}] {hit.kind}, {_when(hit.time)}: {hit.snippet}"


def _when(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _gaps(gaps: Sequence[tuple[int, int]]) -> list[str]:
    if not gaps:
        return []
    merged: list[tuple[int, int]] = []
    for low, high in sorted(set(gaps)):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    named = ", ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in merged)
    return [f"GAP: entries {named} cannot be read (damaged). What stood there is unknown; do not guess it."]


# --- a range ---------------------------------------------------------------------------------------


def _page(passage: Passage, asked: _Asked, room: int) -> str:
    """Return one page: whole entries while they fit; the one that does not is cut, and it is said how to go on."""
    lines: list[str] = []
    left = room
    skip = asked.skip
    for entry in passage.entries:
        head, text = _read(entry)
        piece = text[skip : skip + left]
        lines.append(f"[{entry.depth}] {head}{' (continued)' if skip else ''}\n{piece}".rstrip())
        left -= len(piece) + len(head) + 10
        if skip + len(piece) < len(text):
            lines.append(_more(entry.depth, passage.last, skip + len(piece)))
            return "\n\n".join(lines + _gaps(passage.gaps))
        skip = 0
        if left <= 0 and entry.depth < passage.last:
            lines.append(_more(entry.depth + 1, passage.last))
            return "\n\n".join(lines + _gaps(passage.gaps))
    reached = max([*(entry.depth for entry in passage.entries), *(gap[1] for gap in passage.gaps), -1])
    if -1 < reached < passage.last:
        lines.append(_more(reached + 1, passage.last))
    return "\n\n".join(lines + _gaps(passage.gaps)) or f"There is no entry {asked.first} on this path."


def _more(first: int, last: int, skip: int = 0) -> str:
    rest = f', "skip": {skip}' if skip else ""
    return f'More: recall with {{"first": "{first}", "last": "{last}"{rest}}}'


def _read(entry: Entry) -> tuple[str, str]:
    words = said(entry.body)
    when = _when(entry.time)
    if words is None:
        return f"{entry.kind}, {when}", ""
    kind, text = words
    return (f"{kind}, {when}", text) if kind != "private" else (f"{kind}, {when}", "(shown to the person only)")
