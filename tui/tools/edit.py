"""edit: exact replacements in a file; only the replaced bytes change."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.diff import diff
from tui.tools.files import Stop, in_thread, read_whole, replace_file, sha256
from tui.tools.paths import Place, locate, outside
from tui.tools.schema import arguments
from tui.tools.splice import Edit, splice
from tui.tools.text import count
from tui.tools.write import check_fresh, check_shown, failed_preview, note_shown, warning_of

__all__ = ["EDIT"]

SPEC = ToolSpec(
    name="edit",
    description=(
        "Replace exact text in a file. Each old_text must occur exactly once in the file as it is now (white space "
        "counts), unless replace_all is set; all edits are matched against the original and must not overlap. "
        "Only the replaced bytes change; line ends, byte order mark and encoding are kept."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the working directory or absolute."},
            "edits": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "old_text": {"type": "string", "description": "The exact text to replace."},
                        "new_text": {"type": "string", "description": "What comes in its place."},
                        "replace_all": {"type": "boolean", "description": "Replace every occurrence."},
                    },
                    "required": ["old_text", "new_text"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["path", "edits"],
        "additionalProperties": False,
    },
    short="Replace exact, unique text: path, edits [{old_text, new_text, replace_all?}].",
)


class _Args(msgspec.Struct, frozen=True):
    path: str
    edits: tuple[Edit, ...]


def _plan(ctx: ToolContext, place: Place, edits: tuple[Edit, ...], stop: Stop) -> tuple[bytes, bytes]:
    """Return the content before and after."""
    old = read_whole(place.real, place.name, stop)
    seen = ctx.states.seen(str(place.real))
    check_fresh(place.real, place.name, seen, sha256(old), must_have_read=False)
    return old, splice(old, edits, place.name)


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    paths = (str(place.real),)
    try:
        old, new = await in_thread(lambda stop: _plan(ctx, place, asked.edits, stop))
    except ToolError as error:
        return failed_preview(place, error)
    note_shown(ctx, place, sha256(old))
    shown = await in_thread(lambda _: diff(old, new, place.name))
    warning = warning_of("\n".join(edit.new_text for edit in asked.edits), place.name)
    return Preview(place.name, Effect.EDIT, paths=paths, outside=outside(place), diff=shown.text, warning=warning)


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    old, new = await in_thread(lambda stop: _plan(ctx, place, asked.edits, stop))
    check_shown(ctx, place, sha256(old))
    shown = await in_thread(lambda _: diff(old, new, place.name))
    await in_thread(lambda _: replace_file(place.real, place.name, new, sha256(old)), abandon=False)
    ctx.states.note(str(place.real), sha256(new))
    details: dict[str, Json] = {"type": "edit", "path": str(place.real), "sha256": sha256(new), "diff": shown.text}
    details |= {"added": shown.added, "removed": shown.removed, "edits": len(asked.edits)}
    made = count(len(asked.edits), "edit")
    return Outcome(f"Made {made} in {place.name} (+{shown.added} -{shown.removed} lines).", details=details)


EDIT = Tool(SPEC, Effect.EDIT, _preview, _run)
