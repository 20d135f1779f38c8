"""write: a whole file, new or known."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.deception import deceptive
from tui.tools.diff import diff
from tui.tools.files import Stop, in_thread, read_whole, replace_file, sha256
from tui.tools.paths import Place, locate, outside
from tui.tools.schema import arguments
from tui.tools.text import count

__all__ = ["WRITE", "check_fresh", "check_shown", "failed_preview", "note_shown", "warning_of"]

_NO_FILE = "no file"

SPEC = ToolSpec(
    name="write",
    description=(
        "Write a whole text file (UTF-8). Missing folders are made. An existing file must have been read in this "
        "session and be unchanged since. For small changes use edit."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the working directory or absolute."},
            "content": {"type": "string", "description": "The whole new content."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    short="Write a whole file: path, content. Read an existing file first.",
)


class _Args(msgspec.Struct, frozen=True):
    path: str
    content: str


class _Plan(msgspec.Struct, frozen=True):
    """What a write would replace. `old_hash` None: there is no file yet."""

    old: bytes
    old_hash: str | None
    new: bytes


def check_fresh(path: Path, name: str, seen: str | None, now: str, *, must_have_read: bool) -> None:
    """Raise `ToolError` where a file is not in the state the agent last saw; the fresh state is named."""
    if seen == now or (seen is None and not must_have_read):
        return
    facts = path.stat()
    changed = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.st_mtime))
    state = f"{count(facts.st_size, 'byte')}, changed {changed}, sha256 {now[:12]}"
    why = "already exists and was not read" if seen is None else "changed since it was last read"
    raise ToolError(f"{name} {why} ({state}). It was kept as it is; read it, then decide.")


def note_shown(ctx: ToolContext, place: Place, old_hash: str | None) -> None:
    """Remember the content (None: no file) whose change this call shows to the person who decides."""
    ctx.states.note(_shown_key(ctx, place), old_hash or _NO_FILE)


def check_shown(ctx: ToolContext, place: Place, old_hash: str | None) -> None:
    """Raise `ToolError` where the file is no longer what the diff was shown for: shown is what is run."""
    shown = ctx.states.seen(_shown_key(ctx, place))
    if shown is not None and shown != (old_hash or _NO_FILE):
        raise ToolError(f"{place.name} changed after its diff was shown. It was kept as it is; read it, then decide.")


def _shown_key(ctx: ToolContext, place: Place) -> str:
    # No real path: those are absolute.
    return f"shown by {ctx.call_id}: {place.real}"


def warning_of(text: str, name: str) -> str:
    """Return the warning of a preview for what is to be written and where."""
    return deceptive(name) or deceptive(text.replace("\r\n", "\n"))


def failed_preview(place: Place, error: ToolError) -> Preview:
    """Return the preview of a change that cannot work.

    Outside the project the reason is for the person alone: it could tell the model of files it may not see.
    """
    preview = Preview(place.name, Effect.EDIT, paths=(str(place.real),), outside=outside(place))
    if place.inside:
        return msgspec.structs.replace(preview, error=str(error))
    return msgspec.structs.replace(preview, warning=str(error))


def _plan(ctx: ToolContext, place: Place, content: str, stop: Stop) -> _Plan:
    new = content.encode("utf-8", "replace")
    if not os.path.lexists(place.real):  # never raises, whatever the name
        return _Plan(b"", None, new)
    old = read_whole(place.real, place.name, stop)
    now = sha256(old)
    if old != new:
        check_fresh(place.real, place.name, ctx.states.seen(str(place.real)), now, must_have_read=True)
    return _Plan(old, now, new)


async def _preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    paths = (str(place.real),)
    try:
        plan = await in_thread(lambda stop: _plan(ctx, place, asked.content, stop))
    except ToolError as error:
        return failed_preview(place, error)
    note_shown(ctx, place, plan.old_hash)
    shown = await in_thread(lambda _: diff(plan.old, plan.new, place.name))
    warning = warning_of(asked.content, place.name)
    return Preview(place.name, Effect.EDIT, paths=paths, outside=outside(place), diff=shown.text, warning=warning)


async def _run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
    asked = arguments(args, _Args)
    place = locate(ctx, asked.path)
    plan = await in_thread(lambda stop: _plan(ctx, place, asked.content, stop))
    check_shown(ctx, place, plan.old_hash)
    shown = await in_thread(lambda _: diff(plan.old, plan.new, place.name))
    new_hash = sha256(plan.new)
    if plan.old_hash != new_hash:
        await in_thread(lambda _: replace_file(place.real, place.name, plan.new, plan.old_hash), abandon=False)
    ctx.states.note(str(place.real), new_hash)
    details: dict[str, Json] = {"type": "write", "path": str(place.real), "sha256": new_hash, "diff": shown.text}
    details |= {"added": shown.added, "removed": shown.removed, "created": plan.old_hash is None}
    return Outcome(_said(place.name, plan), details=details)


def _said(name: str, plan: _Plan) -> str:
    if plan.old_hash is None:
        return f"Created {name} ({count(len(plan.new), 'byte')})."
    if plan.old == plan.new:
        return f"{name} already has exactly this content; nothing was changed."
    return f"Wrote {name} ({count(len(plan.new), 'byte')}, before {len(plan.old):,})."


WRITE = Tool(SPEC, Effect.EDIT, _preview, _run)
