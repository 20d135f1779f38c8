"""Writes OpenAI Chat Completions requests that the strictest compatible server accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from tui.messages import Json, ToolSpec
from tui.models.base import ModelInfo, Request
from tui.models.history import AssistantTurn, Picture, Piece, Turn, UserTurn, WireCall, turns

__all__ = ["ChatDialect", "chat_body", "dialect_for"]


class ChatDialect(msgspec.Struct, frozen=True):
    """What a server wants differently. Learned from its address, then from what it refuses."""

    include_usage: bool = True
    """Ask for usage figures in the stream."""
    completion_tokens: bool = False
    """`max_completion_tokens` instead of `max_tokens`."""
    effort: bool = True
    """Takes `reasoning_effort`."""
    replay_reasoning: bool = False
    """Turns with calls carry their reasoning back, an empty one where there is none (opencode#24190)."""


def dialect_for(info: ModelInfo) -> ChatDialect:
    """Return the first guess for a server."""
    host = urlsplit(info.base_url).hostname or ""
    thinks = host in ("api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn") or "deepseek" in info.id.lower()
    return ChatDialect(completion_tokens=host == "api.openai.com", replay_reasoning=thinks)


def chat_body(request: Request, info: ModelInfo, dialect: ChatDialect, extra: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body of a streaming request. The same request always gives the same bytes."""
    history = turns(request, info)
    messages: list[Json] = [{"role": "system", "content": request.system}] if request.system.strip() else []
    for turn in history:
        messages += _turn(turn, dialect)
    if request.guidance.strip():
        _guide(messages, request.guidance)
    body: dict[str, Json] = {"model": info.id, "messages": messages, "stream": True}
    body["max_completion_tokens" if dialect.completion_tokens else "max_tokens"] = request.max_output
    if request.effort and dialect.effort:
        body["reasoning_effort"] = request.effort
    if dialect.include_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools and info.tools:
        body["tools"] = [_tool(tool, info) for tool in request.tools]
    if request.session_id and dialect.completion_tokens:
        body["prompt_cache_key"] = request.session_id[:64]
    return {**body, **extra}


def _turn(turn: Turn, dialect: ChatDialect) -> Iterator[dict[str, Json]]:
    match turn:
        case AssistantTurn():
            yield _assistant(turn, dialect)
        case UserTurn():
            pictures: list[Piece] = []
            for result in turn.results:
                words = [piece for piece in result.pieces if isinstance(piece, str)]
                seen = [piece for piece in result.pieces if isinstance(piece, Picture)]
                pictures += [f"Image from {result.name}:", *seen] if seen else []
                text = "\n".join(words) or "(see the image in the next message)"
                yield {"role": "tool", "tool_call_id": result.id, "content": text}
            if pictures or turn.pieces:
                # A tool message may hold text alone, so its images follow as the user's.
                yield {"role": "user", "content": _content([*pictures, *turn.pieces])}


def _assistant(turn: AssistantTurn, dialect: ChatDialect) -> dict[str, Json]:
    text = "\n\n".join(part for part in turn.parts if isinstance(part, str))
    calls = [part for part in turn.parts if isinstance(part, WireCall)]
    message: dict[str, Json] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
        if dialect.replay_reasoning:
            message["reasoning_content"] = turn.reasoning
    return message


def _call(call: WireCall) -> dict[str, Json]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _content(pieces: Sequence[Piece]) -> Json:
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return pieces[0]
    if all(isinstance(piece, str) for piece in pieces):
        return "\n\n".join(str(piece) for piece in pieces)  # some servers take no lists
    return [_piece(piece) for piece in pieces]


def _piece(piece: Piece) -> dict[str, Json]:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    return {"type": "image_url", "image_url": {"url": f"data:{piece.media_type};base64,{piece.base64}"}}


def _guide(messages: list[Json], guidance: str) -> None:
    """Put the note behind everything else, inside the last user message where there is one: roles alternate."""
    last = messages[-1]
    if last["role"] != "user":
        messages.append({"role": "user", "content": guidance})
    elif isinstance(last["content"], str):
        last["content"] = f"{last['content']}\n\n{guidance}"
    else:
        last["content"] = [*last["content"], {"type": "text", "text": guidance}]


def _tool(tool: ToolSpec, info: ModelInfo) -> dict[str, Json]:
    description = tool.short if tool.short and info.window < 16_000 else tool.description
    return {
        "type": "function",
        "function": {"name": tool.name, "description": description, "parameters": tool.parameters},
    }
