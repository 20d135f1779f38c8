"""The standard tools, in a fixed order, and the wall around them: whatever fails inside becomes a `ToolError`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec

from tui.messages import Json, clean, clean_json
from tui.tools.base import Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.bash import BASH
from tui.tools.edit import EDIT
from tui.tools.find import FIND
from tui.tools.grep import GREP
from tui.tools.ls import LS
from tui.tools.read import READ
from tui.tools.write import WRITE

__all__ = ["guarded", "standard_tools"]

_T = TypeVar("_T", Outcome, Preview)
_Work = Callable[[ToolContext, Mapping[str, Json]], Awaitable[_T]]


def standard_tools() -> tuple[Tool, ...]:
    """Return the standard tools. The order never changes, so that a provider's cache holds."""
    return tuple(guarded(tool) for tool in (READ, WRITE, EDIT, BASH, GREP, FIND, LS))


def guarded(tool: Tool) -> Tool:
    """Return the tool with a wall: no exception but `ToolError` leaves it, no text in it is empty or unencodable.

    A raw error out of a tool left a call without a result elsewhere, and the session dead (claude-code#2796);
    so did an empty result (dirge#757).
    """

    async def preview(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
        return await _walled(tool.spec.name, tool.preview, ctx, args)

    async def run(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
        outcome = await _walled(tool.spec.name, tool.run, ctx, args)
        text = clean(outcome.text) or "(no output)"
        return msgspec.structs.replace(outcome, text=text, details=clean_json(outcome.details))

    return msgspec.structs.replace(tool, preview=preview, run=run)


async def _walled(name: str, work: _Work[_T], ctx: ToolContext, args: Mapping[str, Json]) -> _T:
    try:
        return await work(ctx, args)
    except ToolError as error:
        raise ToolError(clean(str(error))) from error
    except Exception as error:
        message = f"{name} failed: {type(error).__name__}: {clean(str(error))}. What it had done so far was kept."
        raise ToolError(message) from error
