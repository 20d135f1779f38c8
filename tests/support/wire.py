"""What the loopback provider says: scripted replies and their bytes in both wire protocols."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

Protocol: TypeAlias = Literal["chat", "messages", "responses"]
Frame: TypeAlias = tuple[str, str]
"""Event name (may be empty) and data of one server-sent event."""
UsageMode: TypeAlias = Literal["normal", "absent", "null", "zero", "truncated", "cached", "repeated"]


class Call(msgspec.Struct, frozen=True):
    """A tool call to make. `arguments` is the raw text on the wire, valid JSON or not."""

    name: str
    arguments: str = "{}"
    id: str = ""
    """Empty: `call_N`."""


class Reply(msgspec.Struct, frozen=True):
    """One answer to one request. All fields have a default; `Reply(text="hi")` is a good answer.

    Content, weakest first: the high-level fields, `frames` (the events), `raw` (the exact body).
    """

    text: str = ""
    thinking: str = ""
    signature: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = ""
    """The word on the wire; empty means the usual one. `-` sends none at all."""
    piece: int = 5
    """Characters per delta."""
    usage: UsageMode = "normal"
    tokens: tuple[int, int, int, int] | None = None
    """Input, cache read, cache write, output; None counts characters."""
    error: dict[str, Any] | None = None
    """An in-band error after all deltas, instead of the end."""
    frames: tuple[Frame, ...] | None = None
    raw: str | None = None

    status: int = 200
    headers: dict[str, str] = {}
    body: str | None = None
    """A plain body (errors, HTML), sent with a content length."""

    chunk: int = 0
    """Bytes per write; 0 sends one event at a time."""
    newline: Literal["\n", "\r", "\r\n"] = "\n"
    bom: bool = False
    comments: int = 0
    """Comment lines before every event."""
    stop_at: int | None = None
    """Byte of the body at which `stop_how` happens; negative counts from the end; None: never."""
    stop_how: Literal["end", "fin", "rst", "silence"] = "fin"
    """`end` closes the body properly; `silence` waits until `release()` and then goes on."""
    hold: bool = False
    """Silence before the headers, until `release()`."""
    framing: Literal["chunked", "close"] = "chunked"
    need_include_usage: bool = False
    """Usage only where `stream_options.include_usage` asked for it (chat)."""


class Script(msgspec.Struct, frozen=True):
    """Replies in order, one per model call; `routes` are JSON answers for other paths, by path."""

    replies: tuple[Reply, ...] = ()
    repeat_last: bool = False
    strict: bool = True
    """Refuse with 400 what the strictest server refuses."""
    models: tuple[str, ...] = ("scripted",)
    routes: dict[str, Any] = {}


def frames_for(reply: Reply, protocol: Protocol, request: dict[str, Any]) -> list[Frame]:
    """Return the events of a reply to `request`."""
    if reply.frames is not None:
        return list(reply.frames)
    make = {"chat": _chat, "messages": _anthropic, "responses": _responses}[protocol]
    frames = [(name, json.dumps(data, ensure_ascii=False)) for name, data in make(reply, request)]
    if protocol == "chat" and reply.error is None and reply.stop != "-":
        frames.append(("", "[DONE]"))
    return frames


def encode(reply: Reply, frames: list[Frame]) -> list[bytes]:
    """Return the body in the pieces in which it is written."""
    if reply.raw is not None:
        pieces = [reply.raw.encode("utf-8", "surrogateescape")]
    else:
        pieces = [_encode_frame(reply, frame) for frame in frames]
    if reply.bom and pieces:
        pieces[0] = b"\xef\xbb\xbf" + pieces[0]
    if not reply.chunk:
        return pieces
    whole = b"".join(pieces)
    return [whole[at : at + reply.chunk] for at in range(0, len(whole), reply.chunk)]


def cut(reply: Reply, pieces: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the pieces before and after `stop_at`."""
    if reply.stop_at is None:
        return pieces, []
    size = sum(map(len, pieces))
    left = reply.stop_at if reply.stop_at >= 0 else size + reply.stop_at
    before: list[bytes] = []
    for index, piece in enumerate(pieces):
        if left < len(piece):
            return [*before, *filter(None, [piece[:left]])], [piece[left:], *pieces[index + 1 :]]
        before.append(piece)
        left -= len(piece)
    return before, []


def _encode_frame(reply: Reply, frame: Frame) -> bytes:
    name, data = frame
    lines = [": still here"] * reply.comments + ([f"event: {name}"] if name else []) + [f"data: {data}", "", ""]
    return reply.newline.join(lines).encode("utf-8", "surrogateescape")


def _pieces(text: str, size: int) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def _tokens(reply: Reply, request: dict[str, Any]) -> tuple[int, int, int, int]:
    if reply.tokens is not None:
        return reply.tokens
    prompt = len(json.dumps(request)) // 4
    answer = (len(reply.text) + len(reply.thinking) + sum(len(c.arguments) for c in reply.calls)) // 4 + 1
    match reply.usage:
        case "zero":
            return 0, 0, 0, 0
        case "truncated":
            return min(prompt, 256), 0, 0, answer
        case "cached":
            return 1, max(prompt - 11, 0), 10, answer
        case _:
            return prompt, 0, 0, answer


def _chat(reply: Reply, request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    usage = _chat_usage(reply, request)
    always = {"usage": usage} if reply.usage == "repeated" else {}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return "", {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice], **always}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply.thinking, reply.piece):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(reply.text, reply.piece):
        yield chunk({"content": piece})
    for index, call in enumerate(reply.calls):
        head = {"index": index, "id": call.id or f"call_{index}", "type": "function"}
        yield chunk({"tool_calls": [{**head, "function": {"name": call.name, "arguments": ""}}]})
        for piece in _pieces(call.arguments, reply.piece):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if reply.error is not None:
        yield "", {"error": reply.error}
        return
    if reply.stop == "-":
        return
    yield chunk({}, reply.stop or ("tool_calls" if reply.calls else "stop"))
    options: dict[str, Any] = request.get("stream_options") or {}
    asked = bool(options.get("include_usage"))
    if reply.usage != "absent" and (asked or not reply.need_include_usage):
        yield "", {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}


def _chat_usage(reply: Reply, request: dict[str, Any]) -> dict[str, Any] | None:
    if reply.usage == "null":
        return None
    fresh, read, write, output = _tokens(reply, request)
    prompt = fresh + read + write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "total_tokens": prompt + output,
        "prompt_tokens_details": {"cached_tokens": read},
    }


def _anthropic(reply: Reply, request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    fresh, read, write, output = _tokens(reply, request)
    usage = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": 1,
    }
    first: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    if reply.usage != "absent":
        first["usage"] = None if reply.usage == "null" else usage
    yield "message_start", {"type": "message_start", "message": first}
    yield "ping", {"type": "ping"}
    for index, (start, deltas) in enumerate(_anthropic_blocks(reply)):
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    if reply.error is not None:
        yield "error", {"type": "error", "error": reply.error}
        return
    if reply.stop == "-":
        return
    end: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": _stop(reply), "stop_sequence": None}}
    if reply.usage not in ("absent", "null"):
        end["usage"] = {**usage, "output_tokens": output} if reply.usage == "repeated" else {"output_tokens": output}
    yield "message_delta", end
    yield "message_stop", {"type": "message_stop"}


def _responses(reply: Reply, request: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    fresh, read, write, output = _tokens(reply, request)
    yield from _responses_items(reply)
    if reply.error is not None:
        yield "response.failed", {"type": "response.failed", "response": {"status": "failed", "error": reply.error}}
        return
    if reply.stop == "-":
        return
    prompt = fresh + read + write
    figures = {"input_tokens": prompt, "output_tokens": output, "input_tokens_details": {"cached_tokens": read}}
    response: dict[str, Any] = {"object": "response", "status": "completed"}
    response["usage"] = None if reply.usage in ("absent", "null") else figures
    kind = "response.completed"
    if reply.stop:
        kind = "response.incomplete"
        response |= {"status": "incomplete", "incomplete_details": {"reason": reply.stop}}
    yield kind, {"type": kind, "response": response}


def _responses_items(reply: Reply) -> Iterator[tuple[str, Any]]:
    items: list[tuple[dict[str, Any], str, str]] = []
    if reply.thinking:
        item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        item["encrypted_content"] = reply.signature or None
        items.append((item, "response.reasoning_summary_text.delta", reply.thinking))
    if reply.text:
        items.append(({"type": "message", "id": "msg_1", "content": []}, "response.output_text.delta", reply.text))
    for number, call in enumerate(reply.calls):
        item = {"type": "function_call", "call_id": call.id or f"call_{number}", "name": call.name, "arguments": ""}
        items.append((item, "response.function_call_arguments.delta", call.arguments))
    for index, (item, kind, text) in enumerate(items):
        place = {"output_index": index}
        added, done = "response.output_item.added", "response.output_item.done"
        yield added, {"type": added, **place, "item": item}
        for piece in _pieces(text, reply.piece):
            yield kind, {"type": kind, **place, "delta": piece}
        yield done, {"type": done, **place, "item": item}


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.calls else "end_turn")


def _anthropic_blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if reply.thinking:
        deltas = [{"type": "thinking_delta", "thinking": p} for p in _pieces(reply.thinking, reply.piece)]
        if reply.signature:
            deltas.append({"type": "signature_delta", "signature": reply.signature})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if reply.text:
        deltas = [{"type": "text_delta", "text": p} for p in _pieces(reply.text, reply.piece)]
        yield {"type": "text", "text": ""}, deltas
    for index, call in enumerate(reply.calls):
        empty: dict[str, Any] = {}
        start = {"type": "tool_use", "id": call.id or f"toolu_{index}", "name": call.name, "input": empty}
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in _pieces(call.arguments, reply.piece)]
        yield start, deltas
