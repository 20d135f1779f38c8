"""Tools about the session itself: `self_compact`, which the gate answers, `context_info`, and `item_ready`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError

__all__ = ["session_tools"]

_COMPACT = ToolSpec(
    name="self_compact",
    description=(
        "Hand this conversation over to yourself when the context is getting large. Call it alone, as the last thing "
        "of an answer. The conversation is then replaced by a summary; the original task and your note come back word "
        "for word, and you go on from them. The note says what is done with exact paths, how it was checked and with "
        "which result, the one next action, and whether the whole task is already complete. At most 24,000 characters."
    ),
    short="Hand over to yourself when the context is large: call alone, with a note to continue from.",
    parameters={
        "type": "object",
        "properties": {"note_to_self": {"type": "string", "description": "The note; it is kept word for word."}},
        "required": ["note_to_self"],
        "additionalProperties": False,
    },
)
_INFO = ToolSpec(
    name="context_info",
    description="Say how full the context window is: tokens, thresholds, distances, and the state of the handoff.",
    short="How full the context window is.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)


_READY = ToolSpec(
    name="item_ready",
    description=(
        "In a run: say that the item you were given is ready, with what you changed and how you checked it. Call it "
        "alone, then end your answer: the program runs the item's checks and decides. Outside a run it does nothing."
    ),
    short="In a run: the item is ready; say what you changed and how you checked it.",
    parameters={
        "type": "object",
        "properties": {"evidence": {"type": "string", "description": "What was changed, how it was checked."}},
        "required": ["evidence"],
        "additionalProperties": False,
    },
)


def session_tools(info: Callable[[], dict[str, Json]], item_ready: Callable[[str], Awaitable[str]]) -> tuple[Tool, ...]:
    """Return the tools, in a fixed order. `info` gives the figures of the moment, `item_ready` takes evidence."""

    async def preview_item(_ctx: ToolContext, _args: Mapping[str, Json]) -> Preview:
        return Preview("the item of the run", Effect.READ)

    async def ready(_ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
        return Outcome(text=await item_ready(str(args.get("evidence", ""))), details={"type": "info"})

    async def preview(_ctx: ToolContext, _args: Mapping[str, Json]) -> Preview:
        return Preview("the context", Effect.READ)

    async def show(_ctx: ToolContext, _args: Mapping[str, Json]) -> Outcome:
        text = msgspec.json.format(msgspec.json.encode(info()), indent=1).decode()
        return Outcome(text=text, details={"type": "info"})

    async def compact(_ctx: ToolContext, _args: Mapping[str, Json]) -> Outcome:
        raise ToolError("self_compact is answered before calls run; nothing was done here.")

    return (
        Tool(_COMPACT, Effect.READ, preview, compact),
        Tool(_INFO, Effect.READ, preview, show),
        Tool(_READY, Effect.READ, preview_item, ready),
    )
