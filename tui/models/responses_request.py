"""Writes OpenAI Responses requests. Nothing is stored at the provider: every request carries its whole history."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from tui.messages import Json, Thinking, ToolSpec
from tui.models.base import ModelInfo, Request
from tui.models.history import AssistantTurn, Picture, Piece, Turn, UserTurn, WireCall, turns

__all__ = ["responses_body"]


def responses_body(request: Request, info: ModelInfo, extra: Mapping[str, Json]) -> dict[str, Json]:
    """Return the body of a streaming request. The same request always gives the same bytes."""
    items: list[Json] = [item for turn in turns(request, info) for item in _items(turn)]
    if request.guidance.strip():
        items.append(_user([request.guidance]))
    body: dict[str, Json] = {
        "model": info.id,
        "input": items,
        "stream": True,
        "store": False,
        "max_output_tokens": request.max_output,
    }
    if request.system.strip():
        body["instructions"] = request.system
    if request.tools and info.tools:
        body["tools"] = [_tool(tool, info) for tool in request.tools]
    if info.thinking:
        # Without storage the reasoning travels, sealed, with the history.
        body["include"] = ["reasoning.encrypted_content"]
        if request.effort:
            body["reasoning"] = {"effort": request.effort}
    if request.session_id:
        body["prompt_cache_key"] = request.session_id[:64]
    return {**body, **extra}


def _items(turn: Turn) -> Iterator[dict[str, Json]]:
    match turn:
        case AssistantTurn():
            yield from (item for part in turn.parts if (item := _part(part)) is not None)
        case UserTurn():
            pictures: list[Piece] = []
            for result in turn.results:
                words = [piece for piece in result.pieces if isinstance(piece, str)]
                seen = [piece for piece in result.pieces if isinstance(piece, Picture)]
                pictures += [f"Image from {result.name}:", *seen] if seen else []
                output = "\n".join(words) or "(see the image in the next message)"
                yield {"type": "function_call_output", "call_id": result.id, "output": output}
            if pictures or turn.pieces:
                yield _user([*pictures, *turn.pieces])


def _part(part: str | Thinking | WireCall) -> dict[str, Json] | None:
    match part:
        case str():
            content: list[Json] = [{"type": "output_text", "text": part, "annotations": []}]
            return {"type": "message", "role": "assistant", "content": content}
        case WireCall():
            arguments = json.dumps(part.arguments, ensure_ascii=False, separators=(",", ":"))
            return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
        case Thinking():
            return _reasoning(part)


def _reasoning(part: Thinking) -> dict[str, Json] | None:
    try:
        sealed = json.loads(part.signature)
    except ValueError:
        return None
    if not isinstance(sealed, dict):
        return None
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {"type": "reasoning", "summary": summary, **cast("dict[str, Json]", sealed)}


def _user(pieces: Sequence[Piece]) -> dict[str, Json]:
    return {"type": "message", "role": "user", "content": [_piece(piece) for piece in pieces]}


def _piece(piece: Piece) -> dict[str, Json]:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    return {"type": "input_image", "image_url": f"data:{piece.media_type};base64,{piece.base64}"}


def _tool(tool: ToolSpec, info: ModelInfo) -> dict[str, Json]:
    description = tool.short if tool.short and info.window < 16_000 else tool.description
    return {
        "type": "function",
        "name": tool.name,
        "description": description,
        "parameters": tool.parameters,
        "strict": False,
    }
