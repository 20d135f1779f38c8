"""What the strictest known servers refuse, as lists of complaints about a request body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

Body: TypeAlias = dict[str, Any]


def check_chat(body: Body) -> list[str]:
    """Return what a strict OpenAI Chat Completions server would refuse."""
    messages = _list(body, "messages")
    return [
        *_common(body, messages),
        *_chat_roles(messages),
        *_chat_pairs(messages),
        *(problem for message in messages for problem in _chat_content(message)),
        *_unique_names([tool["function"]["name"] for tool in _list(body, "tools")]),
    ]


def check_messages(body: Body) -> list[str]:
    """Return what the Anthropic Messages server would refuse."""
    messages = _list(body, "messages")
    problems = [*_common(body, messages), *_alternate(messages), *_result_order(messages), *_anthropic_pairs(messages)]
    if not isinstance(body.get("max_tokens"), int):
        problems.append("max_tokens: field required")
    if str(body).count("'cache_control'") > 4:
        problems.append("A maximum of 4 blocks with cache_control may be provided")
    blocks = list(_blocks([*messages, {"role": "system", "content": body.get("system") or []}]))
    if any(block.get("type") == "text" and not str(block.get("text", "")).strip() for block in blocks):
        problems.append("messages: text content blocks must be non-empty")
    return problems + _unique_names([tool["name"] for tool in _list(body, "tools")])


def _common(body: Body, messages: list[Body]) -> list[str]:
    problems: list[str] = []
    if not body.get("model"):
        problems.append("model: field required")
    if not messages:
        problems.append("messages: at least one message is required")
    elif messages[-1].get("role") == "assistant":
        problems.append("the request must not end with an assistant message")
    if body.get("tools") == []:
        problems.append("tools: [] is too short")
    return problems


def check_responses(body: Body) -> list[str]:
    """Return what the OpenAI Responses server would refuse."""
    items = _list(body, "input")
    problems = [] if body.get("model") and items else ["model and input: fields required"]
    open_calls: list[str] = []
    for index, item in enumerate(items):
        if item["type"] == "function_call":
            open_calls.append(str(item["call_id"]))
        elif item["type"] == "function_call_output":
            if item["call_id"] not in open_calls or not item["output"]:
                problems.append(f"input.{index}: No tool call found for function call output")
            else:
                open_calls.remove(str(item["call_id"]))
        elif item["type"] == "message" and not all(part.get("text", "image") for part in _list(item, "content")):
            problems.append(f"input.{index}: empty text")
    return problems + [f"No tool output found for function call {one}" for one in open_calls]


def _list(body: Body, key: str) -> list[Body]:
    return cast("list[Body]", body.get(key) or [])


def _unique_names(names: list[str]) -> list[str]:
    return [] if len(names) == len(set(names)) else ["tools: Tool names must be unique."]


def _chat_roles(messages: list[Body]) -> list[str]:
    """Roles alternate: system only first, user and assistant in turn, tool right after a call."""
    problems: list[str] = []
    previous = ""
    for index, message in enumerate(messages):
        role = str(message.get("role"))
        if role not in ("system", "user", "assistant", "tool"):
            problems.append(f"messages.{index}: unknown role {role!r}")
        if role == "system" and index:
            problems.append(f"messages.{index}: a system message may only come first")
        if role == previous and role in ("user", "assistant"):
            problems.append(f"messages.{index}: conversation roles must alternate ({role} twice)")
        previous = role
    return problems


def _chat_pairs(messages: list[Body]) -> list[str]:
    problems: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            call = str(message.get("tool_call_id"))
            if call not in waiting:
                problems.append(f"messages.{index}: tool result {call!r} answers no call before it")
            else:
                waiting.remove(call)
            continue
        if waiting:
            problems.append(f"messages.{index}: tool_call_ids did not have response messages: {waiting}")
        waiting = []
        for call_body in _list(message, "tool_calls"):
            waiting.append(str(call_body["id"]))
            if not call_body["id"] or call_body["id"] in seen:
                problems.append(f"messages.{index}: tool call id {call_body['id']!r} is empty or used twice")
            seen.add(str(call_body["id"]))
    return problems + ([f"tool calls without a result: {waiting}"] if waiting else [])


def _chat_content(message: Body) -> Iterator[str]:
    content: Any = message.get("content")
    if isinstance(content, list):
        parts = cast("list[Body]", content)
        if not parts or any(part.get("type") == "text" and not part.get("text") for part in parts):
            yield f"{message['role']}: empty content part"
        if message.get("role") == "tool" and any(part.get("type") != "text" for part in parts):
            yield "tool: only text parts are allowed"
    elif not content and not (message.get("role") == "assistant" and message.get("tool_calls") and content is None):
        yield f"{message['role']}: message must contain either content or tool_calls"
    if message.get("tool_calls") == []:
        yield "tool_calls: [] is too short"


def _alternate(messages: list[Body]) -> list[str]:
    roles = [message.get("role") for message in messages]
    problems = [f"messages.{n}: roles must alternate" for n in range(1, len(roles)) if roles[n] == roles[n - 1]]
    if roles and roles[0] != "user":
        problems.append("messages: first message must use the user role")
    return problems + [f"messages: unknown role {role}" for role in set(roles) - {"user", "assistant"}]


def _blocks(messages: list[Body]) -> Iterator[Body]:
    for message in messages:
        content: Any = message.get("content")
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from cast("list[Body]", content)


def _result_order(messages: list[Body]) -> list[str]:
    problems: list[str] = []
    for index, message in enumerate(messages):
        kinds = [block.get("type") == "tool_result" for block in _blocks([message])]
        if kinds != sorted(kinds, reverse=True):
            problems.append(f"messages.{index}: tool_result blocks must come first")
    return problems


def _anthropic_pairs(messages: list[Body]) -> list[str]:
    problems: list[str] = []
    waiting: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        results = [str(b.get("tool_use_id")) for b in _blocks([message]) if b.get("type") == "tool_result"]
        if sorted(results) != sorted(waiting):
            problems.append(f"messages.{index}: tool_use ids {waiting} without tool_result, got {results}")
        waiting = [str(b.get("id")) for b in _blocks([message]) if b.get("type") == "tool_use"]
        problems += [f"messages.{index}: tool_use ids must be unique: {w}" for w in waiting if w in seen or not w]
        seen.update(waiting)
    return problems + ([f"tool_use without tool_result: {waiting}"] if waiting else [])
