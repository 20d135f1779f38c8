"""Writes Anthropic Messages requests: strict roles, results first, and cache marks on the longest stable prefix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from tui.messages import Json, Thinking, ToolSpec
from tui.models.base import ModelInfo, Request
from tui.models.history import AssistantTurn, Picture, Piece, Turn, UserTurn, WireCall, WireResult, turns

__all__ = ["ThinkingWord", "messages_body"]

ThinkingWord: TypeAlias = Literal["budget", "adaptive", "none"]

_BUDGETS: Mapping[str, int] = {"low": 4_096, "medium": 12_288, "high": 32_768}
_LEAST_BUDGET = 1_024
"""Tokens; the provider refuses fewer."""
_MARK: dict[str, Json] = {"type": "ephemeral"}


def messages_body(
    request: Request, info: ModelInfo, extra: Mapping[str, Json], thinking: ThinkingWord = "budget"
) -> dict[str, Json]:
    """Return the body of a streaming request. The same request always gives the same bytes.

    `thinking` is how the model is asked for it: with a number of tokens, or with a word (newer models).

    At most four cache marks: the system prompt, the last tool, the end of the history, and where the
    history ended one request ago (a look-up from the new mark alone reaches back only 20 blocks).
    """
    messages = [_turn(turn) for turn in turns(request, info)]
    users = [message for message in messages if message["role"] == "user"]
    for message in users[-2:]:
        message["content"][-1]["cache_control"] = _MARK
    if request.guidance.strip():
        users[-1]["content"].append({"type": "text", "text": request.guidance})
    body: dict[str, Json] = {
        "model": info.id,
        "max_tokens": request.max_output,
        "messages": messages,
        "stream": True,
    }
    if request.system.strip():
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _MARK}]
    if request.tools and info.tools:
        body["tools"] = _tools(request.tools, info)
    return {**body, **_thinking(request, info, thinking), **extra}


def _thinking(request: Request, info: ModelInfo, word: ThinkingWord) -> dict[str, Json]:
    budget = _budget(request, info)
    if not budget or word == "none":
        return {}
    if word == "adaptive":
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": request.effort}}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _budget(request: Request, info: ModelInfo) -> int:
    """Return the tokens for thinking: part of the answer's own limit, of which some must be left; 0 for none."""
    if not request.effort or not info.thinking:
        return 0
    budget = min(_BUDGETS[request.effort], request.max_output // 2)
    return budget if budget >= _LEAST_BUDGET else 0


def _tools(tools: Sequence[ToolSpec], info: ModelInfo) -> list[Json]:
    made: list[dict[str, Json]] = []
    for tool in tools:
        description = tool.short if tool.short and info.window < 16_000 else tool.description
        made.append({"name": tool.name, "description": description, "input_schema": tool.parameters})
    made[-1]["cache_control"] = _MARK
    return [*made]


def _turn(turn: Turn) -> dict[str, Json]:
    match turn:
        case AssistantTurn():
            return {"role": "assistant", "content": [_part(part) for part in turn.parts]}
        case UserTurn():
            blocks = [*map(_result, turn.results), *map(_piece, turn.pieces)]
            return {"role": "user", "content": blocks}


def _part(part: str | Thinking | WireCall) -> dict[str, Json]:
    match part:
        case str():
            return {"type": "text", "text": part}
        case Thinking(redacted=""):
            # Signed text goes back byte for byte, an empty one included.
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Thinking():
            return {"type": "redacted_thinking", "data": part.redacted}
        case WireCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}


def _result(result: WireResult) -> dict[str, Json]:
    block: dict[str, Json] = {
        "type": "tool_result",
        "tool_use_id": result.id,
        "content": [_piece(piece) for piece in result.pieces],
    }
    if result.is_error:
        block["is_error"] = True
    return block


def _piece(piece: Piece) -> dict[str, Json]:
    match piece:
        case str():
            return {"type": "text", "text": piece}
        case Picture():
            source = {"type": "base64", "media_type": piece.media_type, "data": piece.base64}
            return {"type": "image", "source": source}
